"""/metrics as Prometheus keeps it, from programs that really run."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import trustme
import urllib3
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from devcluster.binaries import find_assets
from devcluster.build import say_on_stderr
from devcluster.cluster import DevCluster
from devcluster.ports import free_port
from devcluster.tether import tethered
from tests.promql.engine import Series
from tests.waiting import eventually

__all__ = ["Scrape", "api_server_metrics", "families", "kept", "kube_scheduler", "target"]

STEPS = 10


class Scrape(msgspec.Struct, frozen=True):
    """The text of one program's /metrics, and the labels that Prometheus gives to what it scrapes there."""

    text: str
    target: Mapping[str, str]


def target(pod: str, container: str) -> dict[str, str]:
    """Return the labels that our PodMonitor gives."""
    return {
        "job": "custom-scheduler",
        "namespace": "custom-scheduler",
        "pod": pod,
        "container": container,
        "endpoint": "ops",
        "instance": f"{pod}:8080",
    }


def api_server_metrics(cluster: DevCluster) -> Scrape:
    """Scrape kube-apiserver."""
    text = cluster.kubectl("get", "--raw", "/metrics").stdout
    return Scrape(text, {"job": "apiserver", "instance": "api-server:6443"})


def families(text: str) -> dict[str, Metric]:
    """Return what is in the text of /metrics, by name."""
    return {family.name: family for family in text_string_to_metric_families(text)}


def kept(before: Sequence[Scrape], after: Sequence[Scrape]) -> list[Series]:
    """Return the series of both rounds of scrapes: half of the steps are from the one, half from the other."""
    first, second = _samples(before), _samples(after)
    half = STEPS // 2
    return [
        Series(dict(labels), [first.get(labels)] * half + [second.get(labels)] * half)
        for labels in {**first, **second}
    ]


def _samples(scrapes: Sequence[Scrape]) -> dict[tuple[tuple[str, str], ...], float]:
    return {
        tuple(
            {"__name__": _name(sample.name, scrape.text), **sample.labels, **scrape.target}.items()
        ): sample.value
        for scrape in scrapes
        for family in text_string_to_metric_families(scrape.text)
        for sample in family.samples
    }


def _name(name: str, text: str) -> str:
    """Return the name as it stands in the text: the parser has every counter end in _total."""
    return name if f"\n{name}{{" in text or f"\n{name} " in text else name.removesuffix("_total")


@contextmanager
def kube_scheduler(cluster: DevCluster, folder: Path) -> Iterator[Callable[[], str]]:
    """Run a kube-scheduler for the cluster, and yield what reads its /metrics."""
    port, ca = free_port(), trustme.CA()
    pair = folder / "kube-scheduler.pem"
    ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(pair))
    context = ssl.create_default_context()
    ca.configure_trust(context)
    command: list[str | Path] = [
        find_assets(["kube-scheduler"], say_on_stderr) / "kube-scheduler",
        f"--kubeconfig={cluster.kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pair}",
        f"--tls-private-key-file={pair}",
        "--authentication-skip-lookup=true",
        "--authorization-always-allow-paths=/metrics",
    ]
    with (
        (folder / "kube-scheduler.log").open("wb") as log,
        subprocess.Popen(tethered(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
        urllib3.HTTPSConnectionPool("127.0.0.1", port, ssl_context=context, timeout=5) as pool,
    ):
        try:
            eventually(lambda: _read(pool), "kube-scheduler's metrics")
            yield lambda: _read(pool)
        finally:
            process.terminate()


def _read(pool: urllib3.HTTPSConnectionPool) -> str:
    try:
        answer = pool.request("GET", "/metrics", retries=False)
    except urllib3.exceptions.HTTPError:
        return ""  # it is still starting
    return answer.data.decode() if answer.status == 200 else ""
