from __future__ import annotations

from typing import Any

import pytest

from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from webhook.scheduling.selectors import match_required, match_selector, match_term
from webhook.scheduling.testing import make_cache, make_node, make_pod

NODES = Nodes(
    make_cache(
        make_node("one", labels={"zone": "a", "cores": "8"}),
        make_node("two", labels={"zone": "b", "cores": "+16"}),
        make_node("bare", labels={"cores": "many"}),
    ).table
)


def matching(term: NodeSelectorTerm) -> list[str]:
    return list(NODES.narrow(match_term(term, NODES)).names)


def expression(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_expressions=(NodeSelectorRequirement(key=key, operator=operator, values=values),)
    )


def field(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_fields=(NodeSelectorRequirement(key=key, operator=operator, values=values),)
    )


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (expression("zone", "In", "a", "c"), ["one"]),
        (expression("zone", "NotIn", "a"), ["two", "bare"]),
        (expression("zone", "Exists"), ["one", "two"]),
        (expression("zone", "DoesNotExist"), ["bare"]),
        (expression("cores", "Gt", "8"), ["two"]),
        (expression("cores", "Lt", "9"), ["one"]),
        (expression("cores", "Gt", "eight"), []),
        (expression("cores", "Gt", "1", "2"), []),
        (expression("cores", "Lt", str(2**63)), []),
        (expression("zone", "Near", "a"), []),
        (expression("nowhere", "In", "a"), []),
        (expression("nowhere", "NotIn", "a"), ["one", "two", "bare"]),
        (field("metadata.name", "In", "two"), ["two"]),
        (field("metadata.name", "NotIn", "two"), ["one", "bare"]),
        (field("metadata.name", "In", "one", "two"), []),
        (field("metadata.name", "Exists"), []),
        (field("metadata.uid", "In", "two"), []),
        (NodeSelectorTerm(), []),
    ],
)
def test_a_requirement_matches_as_in_kubernetes(term: NodeSelectorTerm, expected: list[str]) -> None:
    assert matching(term) == expected


def test_all_requirements_of_a_term_must_hold() -> None:
    term = NodeSelectorTerm(
        match_expressions=(
            NodeSelectorRequirement(key="zone", operator="Exists"),
            NodeSelectorRequirement(key="cores", operator="Gt", values=("8",)),
        ),
        match_fields=(NodeSelectorRequirement(key="metadata.name", operator="NotIn", values=("one",)),),
    )

    assert matching(term) == ["two"]


def test_one_term_of_a_selector_must_hold() -> None:
    selector = NodeSelector(
        node_selector_terms=(
            NodeSelectorTerm(),
            expression("zone", "In", "a"),
            field("metadata.name", "In", "bare"),
        )
    )

    assert match_selector(selector, NODES).tolist() == [True, False, True]


@pytest.mark.parametrize("terms", [None, (), (NodeSelectorTerm(),)])
def test_a_selector_without_a_term_that_says_something_matches_nothing(
    terms: tuple[NodeSelectorTerm, ...] | None,
) -> None:
    assert not match_selector(NodeSelector(node_selector_terms=terms), NODES).any()


def required(node_selector: dict[str, str], zone: str | None = None) -> list[bool] | None:
    spec: dict[str, Any] = {"nodeSelector": node_selector}
    if zone is not None:
        term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        }
    mask = match_required(make_pod(spec=spec), NODES)
    return None if mask is None else mask.tolist()


def test_all_labels_of_a_node_selector_must_be_equal() -> None:
    assert required({"zone": "a", "cores": "8"}) == [True, False, False]
    assert required({"zone": "a", "cores": "9"}) == [False, False, False]


def test_node_selector_and_affinity_must_both_hold_and_a_pod_may_require_nothing() -> None:
    assert required({"cores": "+16"}, "b") == [False, True, False]
    assert required({"cores": "+16"}, "a") == [False, False, False]
    assert required({}) is None


def test_a_view_of_some_nodes_answers_for_those() -> None:
    some = NODES.only({"bare", "one"})

    assert match_term(expression("zone", "Exists"), some).tolist() == [True, False]
    assert match_term(field("metadata.name", "In", "bare"), some).tolist() == [False, True]
