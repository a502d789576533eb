from __future__ import annotations

import random
from typing import Any

import pytest

from webhook.scheduling.affinity_terms import AffinityTerms
from webhook.scheduling.cache import Cache
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.placed_terms import PlacedTerms, Role
from webhook.scheduling.testing import make_cache, make_node, make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def to(app: str, **more: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}, **more}


def repelling(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: list(terms)}}}


def found(cache: Cache, role: Role, pod: Pod) -> dict[str, int]:
    """How many pods on each node have terms in the role that match."""
    nodes, totals = Nodes(cache.table), dict.fromkeys(Nodes(cache.table).names, 0)
    labels = cache.namespaces.labels(pod.metadata.namespace)
    for placed in nodes.placed_terms.matching(role, pod, labels):
        for name, number in zip(nodes.names, nodes.pods_with(placed).tolist(), strict=True):
            totals[name] += number
    return totals


def test_terms_are_found_by_the_pod_that_they_match_and_by_their_role() -> None:
    spec = {
        "affinity": {
            "podAffinity": {REQUIRED: [to("near")]},
            "podAntiAffinity": {
                REQUIRED: [to("far")],
                PREFERRED: [{"weight": 3, "podAffinityTerm": to("rather-far")}],
            },
        }
    }
    cache = make_cache(make_node("n"), pods=[make_pod("p", node="n", spec=spec)])

    matched = {
        (role, app): found(cache, role, make_pod(labels={"app": app}))["n"]
        for role in Role
        for app in ("near", "far", "rather-far")
    }

    assert {pair for pair, number in matched.items() if number} == {
        (Role.ATTRACT, "near"),
        (Role.REPEL, "far"),
        (Role.PREFER, "rather-far"),
    }


def test_pods_with_equal_terms_share_them_until_the_last_is_gone() -> None:
    cache = make_cache(make_node("a"), make_node("b"))
    pods = [make_pod(f"{i}", node="ab"[i % 2], spec=repelling(to("web"))) for i in range(3)]
    incoming, counted = make_pod(labels={"app": "web"}), []

    for pod in pods:
        cache.set_pod(pod)
        counted.append(found(cache, Role.REPEL, incoming))
    for pod in pods:
        cache.remove_pod(pod)
        counted.append(found(cache, Role.REPEL, incoming))

    assert [(each["a"], each["b"]) for each in counted] == [(1, 0), (1, 1), (2, 1), (1, 1), (1, 0), (0, 0)]


def test_the_namespace_of_a_term_is_that_of_its_pod() -> None:
    cache = make_cache(
        make_node("n"), pods=[make_pod("p", node="n", namespace="theirs", spec=repelling(to("web")))]
    )

    ours = found(cache, Role.REPEL, make_pod(labels={"app": "web"}))
    theirs = found(cache, Role.REPEL, make_pod(namespace="theirs", labels={"app": "web"}))

    assert (ours, theirs) == ({"n": 0}, {"n": 1})


@pytest.mark.parametrize("seed", range(8))
def test_after_anything_that_may_happen_the_counts_are_those_of_a_fresh_look(seed: int) -> None:
    rng = random.Random(seed)
    cache = Cache()
    # Fewer than the terms that are asked for, so that some are always on their way out.
    cache.table.placed_terms = PlacedTerms(cache.table.row_of, limit=2)
    specs = [
        repelling(to("web"), to("db", namespaces=["default", "other"])),
        repelling(to("web", namespaceSelector={})),
        {},
    ]

    def random_pod(name: str, node: str) -> Pod:
        namespace = "other" if int(name) % 3 == 0 else "default"
        return make_pod(name, namespace=namespace, node=node, spec=rng.choice(specs))

    for _ in range(300):
        node, name = rng.choice("abcdef"), str(rng.randrange(20))
        match rng.randrange(6):
            case 0:
                cache.set_node(make_node(node))
            case 1:
                cache.remove_node(node)
            case 2:
                cache.remove_pod(random_pod(name, node))
            case _:
                cache.set_pod(random_pod(name, node))
        incoming = make_pod(
            namespace=rng.choice(["default", "other", "third"]), labels={"app": rng.choice(["web", "db"])}
        )

        counted = found(cache, Role.REPEL, incoming)

        assert counted == {
            info.name: sum(
                term.matches(incoming, {})
                for pod in info.pods
                for term in AffinityTerms.of(pod).required_anti
            )
            for info in Nodes(cache.table)
        }
