"""The thread that looks after a worker's certificates, from its start to its stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence

import pytest

from tests.server.cluster import MemoryConfiguration
from tests.server.signing import Cluster
from webhook.errors import Unreachable

PATIENCE_SECONDS = 10


class Written(MemoryConfiguration):
    """Tells a waiting test of each write."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.written = threading.Event()

    def patch(self, operations: Sequence[Mapping[str, str]]) -> bool:
        is_written = super().patch(operations)
        self.written.set()
        return is_written


def test_a_wiped_bundle_is_restored_when_the_watch_tells_of_it() -> None:
    cluster = Cluster()
    cluster.validating = configuration = Written("deny.pods.custom-scheduler.io")
    certificates = cluster.worker(cluster.authority)
    certificates.start()
    try:
        assert configuration.written.wait(PATIENCE_SECONDS)
        configuration.written.clear()
        configuration.wipe()

        cluster.watch.tell()

        assert configuration.written.wait(PATIENCE_SECONDS)
        assert configuration.bundles() == [cluster.authority.bundle]
    finally:
        certificates.stop()


def test_a_stop_ends_the_watch_and_the_thread() -> None:
    cluster = Cluster()
    before = threading.active_count()
    cluster.certificates.start()
    assert cluster.watch.entered.wait(PATIENCE_SECONDS)

    cluster.certificates.stop()

    assert cluster.watch.left.is_set()
    assert threading.active_count() == before


def test_a_stop_does_not_wait_for_an_api_server_that_keeps_silent(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    asked, closed = threading.Event(), threading.Event()

    def keep_silent() -> None:
        asked.set()
        assert closed.wait(PATIENCE_SECONDS)
        raise Unreachable("this process is stopping")

    cluster.validating.before_patch = keep_silent
    cluster.on_close = closed.set
    certificates = cluster.worker(cluster.authority)
    certificates.start()
    assert asked.wait(PATIENCE_SECONDS)

    with caplog.at_level(logging.ERROR):
        certificates.stop()

    assert closed.is_set()
    assert caplog.records == []


def test_a_fault_in_the_program_ends_neither_thread_nor_serving(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.validating = configuration = Written("deny.pods.custom-scheduler.io")
    met = threading.Event()

    def break_once() -> None:
        configuration.before_patch = lambda: None
        met.set()
        raise RuntimeError("a fault in the program")

    configuration.before_patch = break_once
    certificates = cluster.worker(cluster.authority)
    certificates.start()
    try:
        assert met.wait(PATIENCE_SECONDS)

        cluster.watch.tell()

        assert configuration.written.wait(PATIENCE_SECONDS)
    finally:
        certificates.stop()
    assert "looking after the certificates failed" in caplog.text
