from __future__ import annotations

import logging

import pytest

from webhook.scheduling.containment import PluginError
from webhook.scheduling.side_faults import SideFaults
from webhook.scheduling.status import Status


class Asked:
    """A plugin's method that is asked, and what is told of it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.fails = True
        self.heard: list[str] = []
        self._faults = SideFaults(lambda: self.now)
        self._faults.listener = self._hear

    def _hear(self, plugin: str, point: str, status: Status) -> None:
        self.heard.append(f"{plugin} at {point}: {status.code.name}")

    def ask(self, plugin: str = "Acme") -> int:
        try:
            return self._faults.ask(
                plugin, "sort_key", lambda _plugin, answer: int(str(answer)), self._method
            )
        except PluginError:
            return -1

    def _method(self) -> int:
        if self.fails:
            raise RuntimeError("boom")
        return 7


def test_an_answer_is_passed_on_and_nothing_told_of_it() -> None:
    asked = Asked()
    asked.fails = False

    assert (asked.ask(), asked.heard) == (7, [])


def test_a_fault_is_logged_with_its_traceback_once_a_minute_for_each_plugin(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = Asked()
    caplog.set_level(logging.ERROR)

    for plugin in ("Acme", "Acme", "Other"):
        asked.ask(plugin)
    asked.now += 60
    asked.ask("Acme")

    said = "plugin {} failed in sort_key: RuntimeError: boom"
    assert caplog.messages == [said.format(plugin) for plugin in ("Acme", "Other", "Acme")]
    assert all(record.exc_info for record in caplog.records)


def test_each_fault_is_heard_of_and_that_it_is_over() -> None:
    asked = Asked()

    asked.ask()
    asked.ask()
    asked.fails = False
    asked.ask()
    asked.ask()

    assert asked.heard == ["Acme at sort_key: ERROR"] * 2 + ["Acme at sort_key: SUCCESS"]
