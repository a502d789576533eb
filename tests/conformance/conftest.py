"""One run against kube-scheduler for all tests here: CONFORMANCE_SEEDS seeds (200), from CONFORMANCE_START (0) on."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import msgspec
import pytest
from _pytest.terminal import TerminalReporter

from devcluster.errors import RequestError
from tests.conformance.compare import disagreements
from tests.conformance.model import Record, Scenario
from tests.conformance.oracle import Oracle
from tests.conformance.run import Run, run
from tests.conformance.shrink import alone, as_case, shrink

KEPT = Path(__file__).parent / "kept"

_START = int(os.environ.get("CONFORMANCE_START", "0"))
_SEEDS = range(_START, _START + int(os.environ.get("CONFORMANCE_SEEDS", "200")))
_SECONDS = 120 + 5 * len(_SEEDS)
# The seeds on which planted faults have to show; others may by chance miss one.
_PROOF = range(200)
# How many disagreements are shrunk: each takes half a minute.
_SHRUNK = 3
_WIDTH = 110

_RUN = pytest.StashKey[Run]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and "conformance" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.e2e)
            # The first of them waits for all seeds.
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def conformance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run, with the first disagreements shrunk and kept."""
    capture = request.config.pluginmanager.get_plugin("capturemanager")

    def progress(so_far: Run) -> None:
        if capture is not None and so_far.seeds % 100 == 0:
            with capture.global_and_fixture_disabled():
                print(f" {so_far.seeds} seeds, {len(so_far.disagreements)} disagreements", flush=True)

    with Oracle(tmp_path_factory.mktemp("oracle")) as oracle:
        result = run(_SEEDS, oracle.record, keep=len(_PROOF), progress=progress)
        for record, (index, differences) in result.disagreements[:_SHRUNK]:
            if not _keep(oracle, record, index, differences):
                folder = tmp_path_factory.mktemp("not-repeated")
                (folder / "record.json").write_bytes(msgspec.json.encode(record))
                result.remarks.append(f"{record.scenario.name} alone is no disagreement; see {folder}")
        result.asked_again = oracle.asked_again
    request.config.stash[_RUN] = result
    return result


@pytest.fixture
def recorded(conformance: Run) -> list[Record]:
    """kube-scheduler's answers to a fixed range of seeds."""
    if _SEEDS[: len(_PROOF)] != _PROOF:
        pytest.skip(f"needs seeds {_PROOF.start} to {_PROOF.stop - 1}")
    return conformance.recorded


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    result = config.stash.get(_RUN, None)
    if result is not None:
        terminalreporter.section("conformance: in which share of seeds")
        for title, counts in (
            ("a node or pod has this", result.features),
            ("this plugin ranks nodes", result.ranking),
            ("a pod stays pending for this reason", result.reasons),
        ):
            shares = "; ".join(
                f"{name} {result.share(seeds):.1%}" for name, seeds in reversed(counts.most_common())
            )
            terminalreporter.write_line(textwrap.fill(f"{title}: {shares}", _WIDTH, subsequent_indent="  "))
        terminalreporter.write_line(f"a pod is unschedulable: {result.share(result.unschedulable):.1%}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print the result for machines as the last line of all."""
    result = config.stash.get(_RUN, None)
    if result is not None:
        found = {
            "seeds": result.seeds,
            "cases": result.cases,
            "disagreements": len(result.disagreements),
            "asked_again": result.asked_again,
        }
        print(json.dumps({"conformance": found}))


def _keep(oracle: Oracle, record: Record, index: int, differences: list[str]) -> bool:
    """Write the smallest case with a disagreement to a file, from which it is replayed from now on.

    Returns whether there is one: what came before the pod may matter, or what happened besides.
    """

    def differs(candidate: Scenario) -> bool:
        try:
            return bool(list(disagreements(oracle.record(candidate))))
        except RequestError:
            return False  # what is left is no valid object

    whole = alone(record, index)
    if not differs(whole):
        return False
    case = as_case(oracle.record(shrink(whole, differs)), "; ".join(differences))
    name = case.attempt.pod["metadata"]["name"]
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(case), indent=1) + b"\n")
    return True
