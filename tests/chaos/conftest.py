"""One gate for all scenarios of a module; `make chaos` asks for the full number of calls, and prints a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec
import pytest

from tests.chaos.gate import Gate
from tests.chaos.protocol import Options, Result
from tests.chaos.report import table

FULL_CALLS = int(os.environ.get("CHAOS_CALLS", "0"))
_CALLS = FULL_CALLS or 600
_ENDPOINTS_DELAY_SECONDS = 2.0
# Seconds in place of days and minutes. The settling of a CA is left as it is where the time is taken for it.
_VARIABLES = {
    "CUSTOM_SCHEDULER_SERVE_LEAF_HOURS": str(12 / 3600),
    **({} if FULL_CALLS else {"CUSTOM_SCHEDULER_SERVE_CA_SETTLE_SECONDS": "3"}),
}

Play = Callable[[str], Result]

_results = pytest.StashKey[list[Result]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_results] = []


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    with Gate(options(tmp_path_factory)) as gate:
        yield gate


def options(tmp_path_factory: pytest.TempPathFactory, *, cert_manager: bool = False) -> Options:
    return Options(
        logs=str(tmp_path_factory.mktemp("chaos")),
        variables=_VARIABLES,
        endpoints_delay_seconds=_ENDPOINTS_DELAY_SECONDS,
        cert_manager=cert_manager,
    )


@pytest.fixture
def play(gate: Gate, pytestconfig: pytest.Config) -> Play:
    def play(scenario: str) -> Result:
        result = gate.play(scenario, _CALLS)
        pytestconfig.stash[_results].append(result)
        if FULL_CALLS:  # a run takes a quarter of an hour: show how far it is
            reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")
            assert reporter is not None
            reporter.write_line(f" {table([result]).splitlines()[-1]}")
        return result

    return play


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash[_results]
    if FULL_CALLS and results:
        terminalreporter.section("chaos")
        terminalreporter.write_line(table(results))
        for result in results:
            terminalreporter.write_line(msgspec.json.encode(result).decode())
