from __future__ import annotations

from tests.scheduling.storage import using, with_ephemeral
from webhook.scheduling.claims import ClaimRef, ClaimsInUse, claims_of
from webhook.scheduling.testing import make_pod


def test_claims_are_named_by_volumes_and_those_of_ephemeral_ones_after_the_pod() -> None:
    volumes = [
        {"name": "config", "configMap": {"name": "c"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "mine"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
    ]

    assert claims_of(make_pod("web", spec={"volumes": volumes})) == [
        ClaimRef("data", "mine", is_ephemeral=False),
        ClaimRef("scratch", "web-scratch", is_ephemeral=True),
    ]


def test_a_claim_is_in_use_until_its_last_pod_gives_it_back() -> None:
    claims, first, second = ClaimsInUse({"node": 0}.get), using("a", "b"), using("b", "b")
    claims.take(first, "node")
    claims.take(second, "node")

    claims.give_back(first, "node")
    after_one = [claims.is_used("default", name) for name in "ab"]
    claims.give_back(second, "node")

    assert after_one == [False, True]
    assert not claims.is_used("default", "b")
    claims.take(first, "node")
    assert not claims.is_used("other", "a")


def test_a_claim_that_pods_on_an_unknown_node_use_is_free_until_the_node_is_known() -> None:
    rows: dict[str, int] = {}
    claims = ClaimsInUse(rows.get)
    claims.take(using("a"), "node")

    before = claims.is_used("default", "a")
    rows["node"] = 0

    assert (before, claims.is_used("default", "a")) == (False, True)


def test_the_claim_of_an_ephemeral_volume_is_not_counted() -> None:
    claims = ClaimsInUse({"node": 0}.get)

    claims.take(with_ephemeral("scratch"), "node")

    assert not claims.is_used("default", "pod-scratch")
