"""What `certs show` says of the CA in each phase."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certs.authority import create_authority
from certs.custody import Custody, Phase
from certs.rotation import RENEWAL, begin, next_step
from tests.kube.fakeapi import Exchange, FakeApi
from webhook.inspect.authorities import Authorities, AuthorityNotFound, look

NOW = datetime.now(UTC).replace(microsecond=0)
OLD = Custody(authority=create_authority("custom-scheduler", NOW))
PUBLISHED = begin(OLD, "custom-scheduler", NOW)
NEW = PUBLISHED.successor
assert NEW is not None
OLD_SERVED, NEW_SERVED = OLD.authority.fingerprint, NEW.fingerprint


def switched() -> Custody:
    after = next_step(PUBLISHED, name="custom-scheduler", now=NOW, is_settled=lambda _: True, served=None)
    assert after is not None
    return after


CUSTODIES: dict[Phase, Custody] = {"stable": OLD, "published": PUBLISHED, "switched": switched()}


def seen(
    custody: Custody | None,
    *,
    bundle: bytes = b"",
    leases: dict[str, str] | None = None,
    told_at: datetime = NOW,
) -> Authorities:
    """Look at a cluster with this Secret, this caBundle in one entry, and a Lease for each replica: CA."""

    def script(exchange: Exchange) -> None:
        if exchange.path.endswith("/secrets/custom-scheduler-ca") and custody is not None:
            data = {key: base64.b64encode(value).decode() for key, value in custody.data.items()}
            exchange.reply(200, {"metadata": {"resourceVersion": "1"}, "data": data})
        elif exchange.path.endswith("/leases"):
            exchange.reply(
                200, {"metadata": {}, "items": [lease(*each, told_at) for each in (leases or {}).items()]}
            )
        elif exchange.path.endswith("/validatingwebhookconfigurations/custom-scheduler"):
            entry = {
                "name": "deny.pods.custom-scheduler.io",
                "clientConfig": {"caBundle": base64.b64encode(bundle).decode()},
            }
            exchange.reply(200, {"metadata": {"resourceVersion": "1"}, "webhooks": [entry]})
        else:
            exchange.refuse(404)

    with FakeApi(script) as api:
        return look(api.client(), "ours")


def lease(replica: str, fingerprint: str, told_at: datetime) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"custom-scheduler-replica-{replica}",
            "annotations": {"custom-scheduler.io/ca": fingerprint},
        },
        "spec": {"renewTime": f"{told_at:%Y-%m-%dT%H:%M:%S}.000000Z", "leaseDurationSeconds": 60},
    }


@pytest.mark.parametrize(
    ("phase", "roles"),
    [
        ("stable", {OLD_SERVED: "signs"}),
        ("published", {OLD_SERVED: "signs", NEW_SERVED: "follows"}),
        ("switched", {NEW_SERVED: "signs", OLD_SERVED: "goes"}),
    ],
)
def test_each_phase_is_named_with_what_each_ca_does_in_it(phase: Phase, roles: dict[str, str]) -> None:
    told = seen(CUSTODIES[phase])

    assert told.phase == phase
    assert {each.fingerprint: each.role for each in told.authorities} == roles
    signer = CUSTODIES[phase].authority.certificate
    assert told.renews_at == signer.not_valid_after_utc - RENEWAL


@pytest.mark.parametrize("phase", ["stable", "published", "switched"])
def test_an_entry_carries_the_cas_only_if_it_has_each_of_them(phase: Phase) -> None:
    custody = CUSTODIES[phase]
    whole = seen(custody, bundle=custody.authority.bundle)
    lacking = seen(custody, bundle=b"")

    assert [each.carries for each in whole.entries] == [True]
    assert [each.carries for each in lacking.entries] == [False]


def test_an_entry_that_has_the_old_ca_alone_is_told_while_the_new_one_is_published() -> None:
    assert [each.carries for each in seen(PUBLISHED, bundle=OLD.authority.bundle).entries] == [False]


def test_the_replica_that_a_rotation_waits_for_is_told() -> None:
    told = seen(CUSTODIES["switched"], leases={"one": NEW_SERVED, "two": OLD_SERVED})

    assert {each.name: each.fingerprint for each in told.replicas} == {"one": NEW_SERVED, "two": OLD_SERVED}


@pytest.mark.parametrize(("before", "ended"), [(0, False), (61, True)])
def test_a_lease_that_has_ended_is_told_as_counted_no_more(before: int, ended: bool) -> None:
    told = seen(OLD, leases={"one": OLD_SERVED}, told_at=datetime.now(UTC) - timedelta(seconds=before))

    assert [each.ended for each in told.replicas] == [ended]


def test_without_a_secret_the_next_step_is_told() -> None:
    with pytest.raises(
        AuthorityNotFound, match="not found; nothing serves with --cert-mode self-signed there"
    ):
        seen(None)
