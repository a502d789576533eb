from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webhook.scheduling.cache import Cache
from webhook.scheduling.objects import Node, Pod, Service
from webhook.scheduling.outcome import FitError
from webhook.scheduling.plugins.pod_topology_spread import PodTopologySpread
from webhook.scheduling.testing import (
    make_cache,
    make_framework,
    make_handle,
    make_node,
    make_pod,
    run_filter,
    run_score,
)

SKEWED = ["node(s) didn't match pod topology spread constraints"]
UNLABELLED = ["node(s) didn't match pod topology spread constraints (missing required label)"]
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
WEB = {"matchLabels": {"app": "web"}}


def constraint(key: str = ZONE, action: str = "DoNotSchedule", skew: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": action,
        "labelSelector": WEB,
        **more,
    }


def soft(key: str = ZONE, **more: Any) -> dict[str, Any]:
    return constraint(key, "ScheduleAnyway", **more)


def web(name: str = "new", node: str = "", **more: Any) -> Pod:
    return make_pod(name, node=node, labels={"app": "web"}, **more)


def spreading(*constraints: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    labels = {"app": "web"} if labels is None else labels
    return make_pod("new", labels=labels, spec={"topologySpreadConstraints": constraints, **spec})


def node(name: str, zone: str | None = None, **more: Any) -> Node:
    return make_node(name, labels={HOST: name} if zone is None else {HOST: name, ZONE: zone}, **more)


def cluster(*nodes: Node, pods: dict[str, int]) -> Cache:
    """So many web pods on each node."""
    placed = [web(f"{name}-{index}", name) for name, number in pods.items() for index in range(number)]
    return make_cache(*nodes, pods=placed)


def plugin(cache: Cache, **args: Any) -> PodTopologySpread:
    return PodTopologySpread(args, make_handle(cache))


def rejected(pod: Pod, cache: Cache) -> set[str]:
    return set(run_filter(plugin(cache), pod, cache))


def scores(pod: Pod, cache: Cache, only: list[str] | None = None, **args: Any) -> dict[str, float]:
    return run_score(plugin(cache, **args), pod, cache, only=only)


def test_a_domain_may_have_so_many_more_than_the_lowest() -> None:
    cache = cluster(node("a", "1"), node("a2", "1"), node("b", "2"), node("c", "3"), pods={"a": 2, "b": 1})

    assert rejected(spreading(constraint()), cache) == {"a", "a2", "b"}
    assert rejected(spreading(constraint(skew=2)), cache) == {"a", "a2"}
    assert rejected(spreading(constraint(skew=3)), cache) == set()
    # Each host is a domain of its own: only a has more than one above the lowest.
    assert rejected(spreading(constraint(HOST)), cache) == {"a", "b"}


def test_a_pod_that_its_own_selector_does_not_match_adds_nothing() -> None:
    cache = cluster(node("a", "1"), node("b", "2"), node("c", "3"), pods={"a": 2, "b": 1})

    assert rejected(spreading(constraint(), labels={"app": "db"}), cache) == {"a"}


def test_a_node_without_the_label_is_out_for_good() -> None:
    cache = cluster(node("a", "1"), node("bare"), pods={})

    assert run_filter(plugin(cache), spreading(constraint()), cache) == {"bare": UNLABELLED}


def test_a_node_tells_of_the_first_constraint_that_it_fails() -> None:
    cache = cluster(node("a", "1"), node("b", "2"), make_node("no-host", labels={ZONE: "1"}), pods={"a": 2})
    zone, host = constraint(ZONE), constraint(HOST)

    assert run_filter(plugin(cache), spreading(zone, host), cache)["no-host"] == SKEWED
    assert run_filter(plugin(cache), spreading(host, zone), cache)["no-host"] == UNLABELLED


def test_a_node_that_lacks_one_label_counts_for_no_constraint() -> None:
    # Zone 3 is empty, but its node has no host name, so that the lowest of the zones is 1.
    cache = cluster(
        node("a", "1"), node("b", "2"), make_node("c", labels={ZONE: "3"}), pods={"a": 1, "b": 1, "c": 0}
    )

    assert rejected(spreading(constraint(ZONE), constraint(HOST, skew=5)), cache) == {"c"}
    assert rejected(spreading(constraint(ZONE)), cache) == {"a", "b"}


def test_with_fewer_domains_than_wanted_the_lowest_is_zero() -> None:
    cache = cluster(node("a", "1"), node("b", "2"), pods={"a": 1, "b": 1})

    assert rejected(spreading(constraint(minDomains=2)), cache) == set()
    assert rejected(spreading(constraint(minDomains=3)), cache) == {"a", "b"}


def test_terminating_pods_and_other_namespaces_do_not_count() -> None:
    ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    cache = make_cache(
        node("a", "1"),
        node("b", "2"),
        pods=[web("1", "a"), web("2", "a", metadata=ending), web("3", "a", namespace="other")],
    )

    assert rejected(spreading(constraint(skew=2)), cache) == set()
    assert rejected(spreading(constraint(skew=1)), cache) == {"a"}


def test_nodes_that_the_pod_can_not_go_to_count_only_if_their_affinity_is_ignored() -> None:
    cache = cluster(
        node("a", "1"),
        node("b", "2"),
        make_node("c", labels={ZONE: "3", HOST: "c", "arch": "arm"}),
        pods={"a": 1, "b": 1},
    )
    affine = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "arch", "operator": "DoesNotExist"}]}]
            }
        }
    }

    # Whether c itself is out is another plugin's business.
    assert rejected(spreading(constraint(), affinity=affine), cache) == set()
    assert rejected(spreading(constraint(nodeAffinityPolicy="Honor"), affinity=affine), cache) == set()
    assert rejected(spreading(constraint(nodeAffinityPolicy="Ignore"), affinity=affine), cache) == {"a", "b"}
    assert rejected(spreading(constraint(), nodeSelector={"arch": "arm"}), cache) == set()


def test_nodes_with_taints_count_unless_they_are_to_be_honored() -> None:
    cache = cluster(
        node("a", "1"), node("b", "2"), node("c", "3", taints=["k:NoSchedule"]), pods={"a": 1, "b": 1}
    )
    honoring = constraint(nodeTaintsPolicy="Honor")
    tolerations = [{"key": "k", "operator": "Exists"}]

    assert rejected(spreading(constraint()), cache) == {"a", "b"}
    assert rejected(spreading(constraint(nodeTaintsPolicy="Ignore")), cache) == {"a", "b"}
    assert rejected(spreading(honoring), cache) == set()
    assert rejected(spreading(honoring, tolerations=tolerations), cache) == {"a", "b"}


def test_only_pods_with_the_same_values_of_some_labels_can_be_counted() -> None:
    cache = make_cache(
        node("a", "1"),
        node("b", "2"),
        pods=[make_pod(f"{i}", node="a", labels={"app": "web", "hash": "old"}) for i in range(3)],
    )
    revision = constraint(matchLabelKeys=["hash"])

    assert rejected(spreading(revision, labels={"app": "web", "hash": "old"}), cache) == {"a"}
    assert rejected(spreading(revision, labels={"app": "web", "hash": "new"}), cache) == set()
    assert rejected(spreading(revision, labels={"app": "web"}), cache) == {"a"}


@pytest.mark.parametrize("selector", [None, {}])
def test_a_selector_that_is_absent_or_empty_counts_no_pods(selector: dict[str, Any] | None) -> None:
    cache = cluster(node("a", "1"), node("b", "2"), pods={"a": 5})

    assert rejected(spreading(constraint(labelSelector=selector)), cache) == set()


def test_the_first_pod_of_all_may_go_anywhere_with_the_labels() -> None:
    cache = cluster(node("a", "1"), node("b", "2"), pods={})

    assert rejected(spreading(constraint(), constraint(HOST)), cache) == set()
    assert rejected(spreading(constraint("rack")), cache) == {"a", "b"}


def test_a_pod_that_fits_nowhere_is_told_so_as_kube_scheduler_tells_it() -> None:
    cache = cluster(node("a", "1"), node("b"), node("c", "2", unschedulable=True), pods={"a": 1})

    decision = make_framework(cache).schedule(spreading(constraint()))

    assert isinstance(decision, FitError)
    assert decision.message == (
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) didn't match pod topology spread constraints (missing required label), "
        "1 node(s) were unschedulable."
    )
    assert decision.rejected_by == {"PodTopologySpread", "NodeUnschedulable"}


def test_domains_with_fewer_matching_pods_score_more() -> None:
    cache = cluster(node("a", "1"), node("b", "1"), node("c", "2"), pods={"a": 2, "b": 1, "c": 1})

    # Two zones: 3 ln 4 = 4.2 and ln 4 = 1.4, so 4 and 1; 100 (4 + 1 - s) / 4.
    assert scores(spreading(soft()), cache) == {"a": 25, "b": 25, "c": 100}
    # Three hosts: 2 ln 5 = 3.2 and ln 5 = 1.6, so 3 and 2; 100 (3 + 2 - s) / 3.
    assert scores(spreading(soft(HOST)), cache) == {"a": 66, "b": 100, "c": 100}
    # Together 7.4, 5.8 and 3.0.
    assert scores(spreading(soft(), soft(HOST)), cache) == {"a": 42, "b": 57, "c": 100}


def test_a_higher_max_skew_makes_differences_matter_less() -> None:
    cache = cluster(node("a", "1"), node("c", "2"), pods={"a": 3, "c": 1})

    # 4.2 + 9 and 1.4 + 9: 13 and 10.
    assert scores(spreading(soft(skew=10)), cache) == {"a": 76, "c": 100}


def test_only_the_domains_of_feasible_nodes_count_but_all_their_pods_do() -> None:
    cache = cluster(
        node("a", "1"), node("b", "1"), node("c", "2"), node("d", "3"), pods={"b": 3, "c": 1, "d": 9}
    )

    # b's pods are in a's zone though b is out: 4.2 and 1.4 with two zones left.
    assert scores(spreading(soft()), cache, only=["a", "c"]) == {"a": 25, "c": 100}
    assert scores(spreading(soft(HOST)), cache, only=["a", "c"]) == {"a": 100, "c": 0}


def test_a_node_that_lacks_a_label_scores_nothing_and_is_no_domain() -> None:
    cache = cluster(node("a", "1"), node("c", "2"), node("bare"), pods={"a": 3, "c": 1, "bare": 1})

    assert scores(spreading(soft()), cache) == {"a": 25, "c": 100, "bare": 0}
    assert scores(spreading(soft(), soft(HOST)), cache)["bare"] == 0
    assert scores(spreading(soft("rack")), cache) == {"a": 0, "c": 0, "bare": 0}


def test_without_matching_pods_all_nodes_score_alike() -> None:
    cache = cluster(node("a", "1"), node("c", "2"), pods={})

    assert scores(spreading(soft()), cache) == {"a": 100, "c": 100}


def test_policies_hold_for_scores_too() -> None:
    cache = cluster(
        node("a", "1"), node("b", "1", taints=["k:NoSchedule"]), node("c", "2"), pods={"a": 1, "b": 2, "c": 2}
    )

    # 3 pods in zone 1 against 2: 4.2 and 2.8; without b's 1 against 2.
    assert scores(spreading(soft()), cache, only=["a", "c"]) == {"a": 75, "c": 100}
    assert scores(spreading(soft(nodeTaintsPolicy="Honor")), cache, only=["a", "c"]) == {"a": 100, "c": 33}


def test_a_host_counts_its_own_pods_whatever_is_said_of_the_node() -> None:
    tainted = node("b", "1", taints=["k:NoSchedule"])
    twin = make_node("twin", labels={HOST: "a"})
    cache = cluster(node("a", "1"), tainted, twin, pods={"a": 1, "b": 3})

    # 1, 3 and 0 times ln 5, though b is not to be counted and the twin says that it is a: 2, 5 and 0.
    assert scores(spreading(soft(HOST, nodeTaintsPolicy="Honor")), cache) == {"a": 60, "b": 0, "twin": 100}


def test_pods_of_one_service_spread_over_hosts_and_zones_without_being_asked_to() -> None:
    cache = cluster(node("a", "1"), node("b", "1"), node("c"), pods={"a": 2})
    service = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}
    before = scores(web(), cache)

    cache.workloads.set_service(msgspec.convert(service, Service))

    # Hosts: 3 of them, 2 ln 5 + 2 = 5.2, 2, 2. Zones: one, and one of the nodes without, which add nothing themselves:
    # 2 ln 4 + 4 = 6.8, 6.8, 0. So 12, 9 and 2; 100 (12 + 2 - s) / 12.
    assert before == {"a": 0, "b": 0, "c": 0}
    assert scores(web(), cache) == {"a": 16, "b": 41, "c": 100}
    assert scores(web(), cache, defaultingType="List") == {"a": 0, "b": 0, "c": 0}


def test_with_the_system_defaults_nodes_without_a_zone_are_in_the_zone_with_an_empty_name() -> None:
    cache = cluster(node("a", ""), node("b", "1"), node("c"), pods={"c": 4})
    service = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}
    cache.workloads.set_service(msgspec.convert(service, Service))

    # a: 2 + 4 ln 4 + 4 = 11.5; b: 2 + 4 = 6; c: 4 ln 5 + 2 = 8.4. So 12, 6 and 8.
    assert scores(web(), cache) == {"a": 50, "b": 100, "c": 83}


def test_default_constraints_of_ones_own_can_exclude_nodes() -> None:
    cache = cluster(node("a", "1"), node("b", "2"), node("c"), pods={"a": 1})
    service = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}
    own = plugin(
        cache,
        defaultingType="List",
        defaultConstraints=[{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}],
    )
    before = run_filter(own, web(), cache)

    cache.workloads.set_service(msgspec.convert(service, Service))

    assert before == {}
    assert run_filter(own, web(), cache) == {"a": SKEWED, "c": UNLABELLED}
    # A pod with constraints of its own has no others.
    assert run_filter(own, spreading(soft()), cache) == {}
