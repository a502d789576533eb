from __future__ import annotations

from tests.scheduling.storage import using
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
    claims, first, second = ClaimsInUse(), using("a", "b"), using("b", "b")
    claims.take(first)
    claims.take(second)

    claims.give_back(first)
    after_one = [claims.is_used("default", name) for name in "ab"]
    claims.give_back(second)

    assert after_one == [False, True]
    assert not claims.is_used("default", "b")
    claims.take(first)
    assert not claims.is_used("other", "a")
