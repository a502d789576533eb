"""What the proof makes of answers that a healthy API server doesn't give; the others are tested on a real one."""

from __future__ import annotations

import pytest

from tests.kube.fakeapi import Exchange, FakeApi
from webhook.inspect.prove import Proof, prove

NONCE = "0123456789abcdef"
OURS = 'admission webhook "deny.pods.custom-scheduler.io" denied the request: '
ANSWER = 'custom-scheduler answers probe "{}". Nothing is wrong'


def answered(status: int, message: str = "") -> tuple[Proof, Exchange]:
    def script(exchange: Exchange) -> None:
        if status == 201:
            exchange.reply(201, {})
        else:
            exchange.refuse(status, message)

    with FakeApi(script) as api:
        proof = prove(api.client(), nonce=NONCE)
    (seen,) = api.exchanges
    return proof, seen


@pytest.mark.parametrize(
    ("status", "message", "outcome"),
    [
        (403, OURS + ANSWER.format(NONCE), "proven"),
        (403, OURS + ANSWER.format("another"), "denied by others"),
        (403, OURS + "Pod must have custom label", "denied by others"),
        (
            403,
            f'admission webhook "x.example.com" denied the request: {ANSWER.format(NONCE)}',
            "denied by others",
        ),
        (403, 'pods "probe" is forbidden: violates PodSecurity "restricted:latest"', "denied by others"),
        (
            500,
            'Internal error occurred: failed calling webhook "deny.pods.custom-scheduler.io"',
            "not called",
        ),
        (404, 'namespaces "custom-scheduler-probe" not found', "refused"),
        (403, 'pods is forbidden: User "dev" cannot create resource "pods"', "refused"),
        (201, "", "admitted"),
    ],
)
def test_only_our_denial_of_this_probe_is_a_proof(status: int, message: str, outcome: str) -> None:
    proof, _ = answered(status, message)

    assert proof.outcome == outcome
    assert proof.proven is (outcome == "proven")
    assert bool(proof.fix) is not proof.proven


def test_the_probe_is_a_dry_run_with_the_nonce_in_the_reserved_namespace() -> None:
    _, seen = answered(201)

    assert (seen.method, seen.path) == ("POST", "/api/v1/namespaces/custom-scheduler-probe/pods")
    assert seen.query == {"dryRun": "All"}
    assert seen.json["metadata"]["annotations"] == {"custom-scheduler.io/probe": NONCE}


def test_each_probe_has_a_nonce_of_its_own() -> None:
    with FakeApi(lambda exchange: exchange.reply(201, {})) as api:
        client = api.client()
        prove(client)
        prove(client)

    nonces = {each.json["metadata"]["annotations"]["custom-scheduler.io/probe"] for each in api.exchanges}
    assert len(nonces) == 2
