"""The table through `serve --offline`, over TLS; its policy file changes under it from one policy to the next."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
import trustme
import urllib3

from devcluster.ports import free_port
from tests.cases.case import Case, Json, Outcome, assert_expected
from tests.cases.miniature import admit
from tests.cases.policies import OWN_NAMESPACE, POLICIES, written
from tests.cases.table import CASES
from tests.waiting import eventually

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
    """What `serve` makes of each case, by name."""
    folder = tmp_path_factory.mktemp("served")
    ca = trustme.CA()
    pair = folder / "pair.pem"
    ca.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(pair))
    context = ssl.create_default_context()
    ca.configure_trust(context)
    policy = folder / "policy.yaml"
    policy.write_text(written(CASES[0].policy))
    port, ops_port = free_port(), free_port()
    command = [
        *(sys.executable, "-m", "webhook", "serve", "--offline", "--policy", str(policy)),
        *("--host", "127.0.0.1", "--port", str(port), "--ops-host", "127.0.0.1", "--ops-port", str(ops_port)),
        *(
            "--tls-cert",
            str(pair),
            "--tls-key",
            str(pair),
            "--namespace",
            OWN_NAMESPACE,
            "--drain-seconds",
            "0",
        ),
    ]
    with ExitStack() as stack:
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        stack.callback(process.wait, 30)
        stack.callback(process.terminate)
        pool = stack.enter_context(
            urllib3.HTTPSConnectionPool("localhost", port, ssl_context=context, timeout=10)
        )

        def call(path: str, body: bytes) -> Json:
            answer = pool.request("POST", path, body=body, headers=JSON)
            assert answer.status == 200
            decoded: Json = json.loads(answer.data)
            return decoded

        found: dict[str, Outcome] = {}
        for name, cases in groupby(CASES, lambda case: case.policy):
            replace(policy, written(name))
            eventually(partial(is_in_force, ops_port, name), f"policy {name} in force")
            found |= {case.name: admit(case, call) for case in cases}
        yield found


def replace(file: Path, text: str) -> None:
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


def is_in_force(ops_port: int, name: str) -> bool:
    try:
        metrics = urllib3.request("GET", f"http://127.0.0.1:{ops_port}/metrics", retries=False, timeout=5)
    except urllib3.exceptions.HTTPError:
        return False  # it is still starting
    lines = metrics.data.decode().splitlines()
    generation = next(
        (line for line in lines if line.startswith("custom_scheduler_policy_generation ")), "0 0"
    )
    return float(generation.split()[1]) == POLICIES[name].generation


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_through_serve(case: Case, outcomes: dict[str, Outcome]) -> None:
    assert_expected(case, outcomes[case.name])
