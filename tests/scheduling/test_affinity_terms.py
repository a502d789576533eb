from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webhook.scheduling.affinity_terms import AffinityTerm, AffinityTerms
from webhook.scheduling.labels import EVERYTHING
from webhook.scheduling.namespaces import Namespaces
from webhook.scheduling.objects import Namespace
from webhook.scheduling.pod_groups import PodSelector
from webhook.scheduling.testing import make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEB = EVERYTHING.requiring({"app": "web"})


def manifest(**more: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, **more}


def term(**more: Any) -> AffinityTerm:
    pod = make_pod(namespace="own", spec={"affinity": {"podAffinity": {REQUIRED: [manifest(**more)]}}})
    return AffinityTerms.of(pod).required[0]


def namespaces(**teams: str) -> Namespaces:
    made = Namespaces()
    for name, team in teams.items():
        made.set(msgspec.convert({"metadata": {"name": name, "labels": {"team": team}}}, Namespace))
    return made


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"own"}),
        ({"namespaces": ["x"]}, {"x"}),
        ({"namespaceSelector": {}}, None),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, {"one"}),
        ({"namespaces": ["x"], "namespaceSelector": {"matchLabels": {"team": "a"}}}, {"x", "one"}),
        ({"namespaces": ["x"], "namespaceSelector": {}}, None),
        ({"namespaceSelector": {"matchLabels": {"team": "c"}}}, set()),
    ],
)
def test_a_term_means_its_own_namespace_or_those_it_names_and_selects(
    more: dict[str, Any], expected: set[str] | None
) -> None:
    assert term(**more).among(namespaces(one="a", two="b")) == PodSelector(
        None if expected is None else frozenset(expected), WEB
    )


@pytest.mark.parametrize(
    ("more", "namespace", "labels", "expected"),
    [
        ({}, "own", {"app": "web"}, True),
        ({}, "own", {"app": "db"}, False),
        ({}, "one", {"app": "web"}, False),
        ({"namespaces": ["one"]}, "one", {"app": "web"}, True),
        ({"namespaceSelector": {}}, "unknown", {"app": "web"}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, "one", {"app": "web"}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, "two", {"app": "web"}, False),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, "one", {"app": "db"}, False),
        ({"labelSelector": None}, "own", {"app": "web"}, False),
        ({"labelSelector": {}}, "own", {}, True),
    ],
)
def test_a_placed_pods_term_matches_by_namespace_and_labels(
    more: dict[str, Any], namespace: str, labels: dict[str, str], expected: bool
) -> None:
    known = namespaces(one="a", two="b")

    assert (
        term(**more).matches(make_pod(namespace=namespace, labels=labels), known.labels(namespace))
        is expected
    )


def test_preferences_against_others_weigh_negatively() -> None:
    weighted = [{"weight": 7, "podAffinityTerm": manifest()}]
    pod = make_pod(
        namespace="own",
        spec={"affinity": {"podAffinity": {PREFERRED: weighted}, "podAntiAffinity": {PREFERRED: weighted}}},
    )

    assert AffinityTerms.of(pod).preferred == ((7, term()), (-7, term()))


@pytest.mark.parametrize("affinity", [None, {}, {"nodeAffinity": {}}, {"podAffinity": {}}])
def test_a_pod_may_have_no_terms(affinity: dict[str, Any] | None) -> None:
    assert AffinityTerms.of(make_pod(spec={"affinity": affinity})) == AffinityTerms()
