"""The gate's inside: `python -m tests.chaos.world OPTIONS`, in a sandbox.

A control plane, the process kubelet and two replicas of the webhook, all shared by the scenarios. It takes requests on
standard input and answers on standard output, a JSON object a line each.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec

from devcluster.certmanager.running import CertManager
from devcluster.cluster import DevCluster
from devcluster.kubelet.image import checkout_image
from devcluster.kubelet.kubelet import Kubelet
from devcluster.sandbox import enter_sandbox
from tests.chaos.counters import Counters, read_counters
from tests.chaos.installed import Installed
from tests.chaos.load import Load
from tests.chaos.protocol import Options, Ready, Request, Result
from tests.chaos.questions import NAMESPACE, Questions
from tests.chaos.scenarios import SCENARIOS, World
from tests.waiting import eventually

__all__ = ["main"]

_RATE = 100.0
_CONNECTIONS = 64
# Calls before the first thing is done, and after the last one is over.
_QUIET_CALLS = 100

_API_SERVER_FLAGS = (
    "--enable-aggregator-routing=true",  # Services are resolved to endpoints by the API server itself
    "--bind-address=0.0.0.0",  # pods too; there is nobody else in the sandbox
)


def main() -> None:
    """Set the stage, say so, and play what is asked for until there are no more requests."""
    options = msgspec.json.decode(sys.argv[1], type=Options)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(
        sys.stderr.fileno(), sys.stdout.fileno()
    )  # what else is printed must not come between the answers
    folder = enter_sandbox()
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    logs = Path(options.logs)
    logging.basicConfig(filename=logs / "kubelet.log", level=logging.INFO, format="%(asctime)s %(message)s")
    # Endpoints change within milliseconds here, and within seconds elsewhere.
    delay = f"--endpointslice-updates-batch-period={options.endpoints_delay_seconds:g}s"
    with ExitStack() as running:
        cluster = running.enter_context(
            DevCluster(apiserver_flags=_API_SERVER_FLAGS, controller_manager_flags=[delay])
        )
        if options.cert_manager:
            running.enter_context(CertManager(cluster))
        cluster.add_nodes(["node-1", "node-2"])
        kubelet = Kubelet(cluster, checkout_image(options.variables), folder=folder / "pods", logs=logs)
        kubelet.start()
        stage = Stage(Installed(cluster, cert_manager=options.cert_manager), kubelet)
        stage.set()
        _answer(answers, Ready())
        for line in sys.stdin.buffer:
            _answer(answers, stage.play(msgspec.json.decode(line, type=Request)))


def _answer(answers: IO[bytes], answer: Ready | Result) -> None:
    answers.write(msgspec.json.encode(answer) + b"\n")


class Stage:
    """The installation, with a namespace to call for, and the play of one scenario after another."""

    def __init__(self, installed: Installed, kubelet: Kubelet) -> None:
        self._cluster = installed.cluster
        self._kubelet = kubelet
        self._installed = installed
        self._questions = Questions(installed.cluster.client(connections=_CONNECTIONS))

    def set(self) -> None:
        """Install, and return when the API server's calls are answered."""
        self._installed.apply()
        self._cluster.add_namespace(NAMESPACE)
        # The API server hears of the configurations, and of their caBundle, by a watch.
        eventually(
            lambda: not any(self._questions(number).fault for number in range(12)), "all answers right"
        )

    def play(self, request: Request) -> Result:
        """Play a scenario under load, and return what became of the calls."""
        before, begun = self._counters(), time.monotonic()
        proof, fault = {}, ""
        load = Load(self._questions, rate=_RATE)
        with load:
            world = World(
                installed=self._installed, kubelet=self._kubelet, load=load, seconds=request.calls / _RATE
            )
            try:
                load.wait_for(_QUIET_CALLS)
                proof = SCENARIOS[request.scenario](world)
                load.wait_for(max(request.calls, load.tally.calls + _QUIET_CALLS))
            except Exception:  # noqa: BLE001 (told to who asked, traceback and all)
                fault = traceback.format_exc()
        counted = self._counters() - before
        tally = load.tally
        return Result(
            scenario=request.scenario,
            fault=fault,
            calls=tally.calls,
            failed=tally.failed,
            faults=tally.faults,
            fail_open=counted.fail_open,
            failed_closed=counted.failed_closed,
            seconds=time.monotonic() - begun,
            p50_ms=tally.quantile(0.5) * 1000,
            p99_ms=tally.quantile(0.99) * 1000,
            longest_ms=tally.quantile(1) * 1000,
            latest_ms=tally.latest * 1000,
            answers=dict(tally.texts.most_common(4)),
            proof=proof,
        )

    def _counters(self) -> Counters:
        return read_counters(self._cluster.request("GET", "/metrics"))


if __name__ == "__main__":
    main()
