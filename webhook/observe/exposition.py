"""The text of /metrics, whichever of several workers answers for all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from webhook.observe.run_folder import remove_leftovers, run_folder

__all__ = ["exposition", "forget_worker", "shared_between_workers"]

# Read by prometheus_client when it is first imported: from then on metrics live in files that workers share.
_SHARED = "PROMETHEUS_MULTIPROC_DIR"
_PREFIX = "custom-scheduler-metrics-"


@contextmanager
def shared_between_workers(workers: int) -> Iterator[None]:
    """Keep metrics in a temporary folder while several workers count; enter before a metric is imported.

    One worker keeps them in memory, which is cheaper and shows process metrics as well. What programs that were
    killed have left is removed first: in a pod, the temporary folder outlives its container.
    """
    remove_leftovers(_PREFIX)
    if workers == 1:
        yield
        return
    with run_folder(_PREFIX) as folder:
        os.environ[_SHARED] = str(folder)
        yield


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format, summed over the workers where there are several."""
    from prometheus_client import REGISTRY, CollectorRegistry, disable_created_metrics, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    # A second series beside each counter and histogram, which kube-scheduler doesn't have and no dashboard asks for.
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it untyped
    if _SHARED not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library leaves it untyped
    return generate_latest(registry)


def forget_worker(pid: int) -> None:
    """Drop the live gauges of a worker that has ended; its counters stay, since they happened."""
    if _SHARED in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid)  # type: ignore[no-untyped-call]  # the library leaves it untyped
