from __future__ import annotations

import pytest

from webhook.scheduling.objects import Pod
from webhook.scheduling.plugins.taint_toleration import TaintToleration
from webhook.scheduling.testing import make_cache, make_node, make_pod, run_filter, run_score


def tolerating(*tolerations: dict[str, str]) -> Pod:
    return make_pod(spec={"tolerations": list(tolerations)})


@pytest.mark.parametrize(
    ("taint", "toleration", "tolerated"),
    [
        ("k=v:NoSchedule", None, False),
        ("k=v:NoExecute", None, False),
        ("k=v:PreferNoSchedule", None, True),
        ("k=v:NoSchedule", {"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ("k=v:NoSchedule", {"key": "k", "operator": "Equal", "value": "v"}, True),
        ("k=v:NoSchedule", {"key": "k", "value": "w"}, False),
        ("k=v:NoSchedule", {"key": "k", "operator": "Exists"}, True),
        ("k=v:NoSchedule", {"key": "other", "operator": "Exists"}, False),
        ("k=v:NoSchedule", {"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ("k=v:NoExecute", {"operator": "Exists"}, True),
        ("k=5:NoSchedule", {"key": "k", "operator": "Gt", "value": "4"}, False),
    ],
)
def test_a_taint_excludes_unless_it_is_tolerated(
    taint: str, toleration: dict[str, str] | None, tolerated: bool
) -> None:
    pod = tolerating(toleration) if toleration else make_pod()

    rejected = run_filter(TaintToleration(), pod, make_cache(make_node("n", taints=[taint])))

    assert rejected == ({} if tolerated else {"n": ["node(s) had untolerated taint(s)"]})


def test_every_excluding_taint_must_be_tolerated() -> None:
    cache = make_cache(make_node("n", taints=["a:NoSchedule", "b:NoExecute"]), make_node("free"))

    assert set(run_filter(TaintToleration(), tolerating({"key": "a", "operator": "Exists"}), cache)) == {"n"}


def test_the_score_falls_with_each_taint_that_is_only_disliked() -> None:
    cache = make_cache(
        make_node("none"),
        make_node("one", taints=["a:PreferNoSchedule"]),
        make_node("two", taints=["a:PreferNoSchedule", "b:PreferNoSchedule"]),
        make_node("three", taints=["a:PreferNoSchedule", "b:PreferNoSchedule", "c:PreferNoSchedule"]),
    )

    assert run_score(TaintToleration(), make_pod(), cache) == {"none": 100, "one": 67, "two": 34, "three": 0}


def test_all_nodes_score_the_most_where_nothing_is_disliked() -> None:
    cache = make_cache(make_node("a"), make_node("b", taints=["x:NoSchedule"]))

    assert run_score(TaintToleration(), make_pod(), cache) == {"a": 100, "b": 100}


def test_only_tolerations_of_that_effect_or_of_any_count_for_the_score() -> None:
    cache = make_cache(make_node("a", taints=["a:PreferNoSchedule", "b:PreferNoSchedule"]), make_node("free"))
    pod = tolerating(
        {"key": "a", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "b", "operator": "Exists", "effect": "PreferNoSchedule"},
    )

    assert run_score(TaintToleration(), pod, cache) == {"a": 0, "free": 100}
