from __future__ import annotations

import pytest

from tests.conformance.notes import Notes, OracleError

LOG = """\
I0101 00:00:00.1 7 schedule_one.go:117] "Attempting to schedule pod" pod="alpha/p"
I0101 00:00:00.2 7 schedule_one.go:984] "Plugin scored node for pod" pod="alpha/p" plugin="Fit" node="n1" score=94
I0101 00:00:00.2 7 schedule_one.go:984] "Plugin scored node for pod" pod="alpha/p" plugin="Fit" node="n2" score=7
I0101 00:00:00.3 7 schedule_one.go:1052] "Calculated node's final score for pod" pod="alpha/p" node="n1" score=10094
I0101 00:00:00.4 7 schedule_one.go:117] "Attempting to schedule pod" pod="alpha/q"
I0101 00:00:00.5 7 schedule_one.go:1190] "Unable to schedule pod; no nodes are registered to the cluster; waiting" pod="alpha/q"
"""
NODES = """\
I0101 00:00:00.1 7 node_tree.go:65] "Added node to NodeTree" node="n1" zone=":\\x00:zone-c"
I0101 00:00:00.1 7 node_tree.go:65] "Added node to NodeTree" node="n2" zone=""
I0101 00:00:00.2 7 node_tree.go:79] "Removed node from NodeTree" node="n1" zone=":\\x00:zone-c"
"""
DELETED = """\
E0101 00:00:01.1 7 schedule_one.go:1198] "Error scheduling pod; retrying" err="only noted" logger="UnhandledError" pod="alpha/p"
I0101 00:00:01.2 7 schedule_one.go:1205] "Pod doesn't exist in informer cache" pod="alpha/p" err="pod \\"p\\" not found"
"""


def read(log: str) -> Notes:
    notes = Notes()
    for line in log.splitlines():
        notes.read(line)
    return notes


def test_the_log_tells_scores_and_totals() -> None:
    notes = read(LOG)
    notes.feasible("alpha/p", ["n1", "n2"])
    notes.choice("alpha/p", "n2")

    noted = notes.until_bound(["alpha/p", "alpha/never-tried"])

    assert noted.keys() == {"alpha/p"}
    assert noted["alpha/p"].scores == {"Fit": {"n1": 94, "n2": 7}}
    assert noted["alpha/p"].totals == {"n1": 10094}
    assert noted["alpha/p"].choice == "n2"


def test_attempts_are_in_the_order_of_the_log_whatever_the_extender_heard_first() -> None:
    notes = Notes()
    notes.feasible("alpha/q", [])
    for line in LOG.splitlines():
        notes.read(line)

    assert list(notes.until_bound(["alpha/q", "alpha/p"])) == ["alpha/p", "alpha/q"]


def test_each_pod_is_expected_to_be_tried_once() -> None:
    read(LOG).expect_once(["alpha/p"], besides="alpha/q")


@pytest.mark.parametrize(
    ("log", "expected", "told"),
    [
        pytest.param(LOG + LOG, ["alpha/p", "alpha/q"], "alpha/p, alpha/q;", id="twice"),
        pytest.param(LOG, ["alpha/p"], "alpha/q;", id="a pod of an earlier scenario"),
    ],
)
def test_a_pod_that_is_tried_out_of_turn_is_an_error(log: str, expected: list[str], told: str) -> None:
    with pytest.raises(OracleError, match=f"tried still: {told}"):
        read(log).expect_once(expected, besides="alpha/probe-")


def test_a_binding_is_over_when_its_pod_is_found_deleted() -> None:
    read(LOG + DELETED).until_given_up(["alpha/p"])


def test_a_binding_that_has_only_failed_is_not_over() -> None:
    notes = read(LOG + DELETED.splitlines()[0])
    notes.log_ended()

    with pytest.raises(OracleError, match="before giving up all pods"):
        notes.until_given_up(["alpha/p"])


def test_a_pod_in_a_cluster_without_nodes_is_seen_to_be_tried_by_the_log_alone() -> None:
    read(LOG).until_tried("alpha/q")


def test_the_log_tells_which_nodes_are_known() -> None:
    notes = read(NODES)

    notes.until_nodes(["n2"])
    notes.log_ended()
    with pytest.raises(OracleError, match="know the nodes"):
        notes.until_nodes(["n1", "n2"])


def test_a_log_that_ends_too_early_is_an_error_that_shows_its_end() -> None:
    notes = read(LOG)
    notes.log_ended()

    with pytest.raises(OracleError, match="no nodes are registered"):
        notes.until_tried("alpha/r")
