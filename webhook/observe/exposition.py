"""The text of /metrics, whichever of several workers answers for all of them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["exposition", "forget_worker", "shared_between_workers"]

# Read by prometheus_client when it is first imported: from then on metrics live in files that workers share.
_SHARED = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def shared_between_workers(workers: int) -> Iterator[None]:
    """Keep metrics in a temporary folder while several workers count; enter before a metric is imported.

    One worker keeps them in memory, which is cheaper and shows process metrics as well.
    """
    if workers == 1:
        yield
        return
    folder = tempfile.mkdtemp(prefix="custom-scheduler-metrics-")
    os.environ[_SHARED] = folder
    owner = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format, summed over the workers where there are several."""
    from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

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
