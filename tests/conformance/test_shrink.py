from __future__ import annotations

from tests.conformance.generator import scenario
from tests.conformance.model import Json, Scenario
from tests.conformance.shrink import shrink


def labelled(obj: Json) -> bool:
    return "app" in obj["metadata"].get("labels", {})


def test_all_goes_but_what_the_disagreement_needs() -> None:
    def differs(candidate: Scenario) -> bool:
        return bool(candidate.nodes) and any(labelled(pod) for pod in candidate.placed)

    small = shrink(scenario(3), differs, budget=1000)

    assert [node["metadata"].keys() for node in small.nodes] == [{"name"}]
    assert [pod["metadata"]["labels"].keys() for pod in small.placed] == [{"app"}]
    assert [pod["spec"].keys() for pod in small.placed] == [{"nodeName"}]
    assert all(pod["spec"] == {} for pod in small.incoming)


def test_it_asks_no_more_often_than_it_may() -> None:
    asked: list[Scenario] = []

    def differs(candidate: Scenario) -> bool:
        asked.append(candidate)
        return False

    whole = scenario(3)

    assert shrink(whole, differs, budget=5) == whole
    assert len(asked) == 5
