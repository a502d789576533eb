"""Whether a denial works, shown by one: a pod that is always denied, sent through the API server as a dry run."""

from __future__ import annotations

import secrets
from typing import Literal

import msgspec

from webhook.errors import ApiError
from webhook.kube.transport import KubeClient
from webhook.policy import wording
from webhook.policy.names import PROBE_ANNOTATION, PROBE_NAMESPACE

__all__ = ["Proof", "prove"]

WEBHOOK = "deny.pods.custom-scheduler.io"

# The API server calls its webhooks for up to 30 s.
_SECONDS = 40.0


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: `proven` only if it was our denial of this very probe; else `text` and `fix` say why not."""

    outcome: Literal["proven", "admitted", "not called", "denied by others", "refused"]
    text: str
    fix: str = ""

    @property
    def proven(self) -> bool:
        """Whether the denial came back."""
        return self.outcome == "proven"


def prove(client: KubeClient, *, nonce: str | None = None) -> Proof:
    """Send a probe, and tell what came back; raises Unreachable.

    `nonce` is drawn if it isn't given: an answer that repeats it can't be an old one, or another's.
    """
    nonce = nonce or secrets.token_hex(8)
    path = f"/api/v1/namespaces/{PROBE_NAMESPACE}/pods"
    try:
        client.request(
            "POST",
            path,
            query=[("dryRun", "All")],
            body=msgspec.json.encode(_pod(nonce)),
            timeout=_SECONDS,
        )
    except ApiError as error:
        return _judge(error, nonce)
    return Proof(
        outcome="admitted",
        text="the API server admitted a pod that is always denied: it does not call us, or the call failed open",
        fix="see what the other checks say, and the kube-apiserver's log (failed calling webhook)",
    )


def _judge(error: ApiError, nonce: str) -> Proof:
    said = str(error)
    denied_by_us = f'admission webhook "{WEBHOOK}" denied the request' in said
    if denied_by_us and wording.PROBE_ANSWER.format(nonce=f'"{nonce}"') in said:
        return Proof(outcome="proven", text=f"{WEBHOOK} denied probe {nonce} through the API server")
    if denied_by_us:
        return Proof(
            outcome="denied by others",
            text=f"{WEBHOOK} denied the probe, but does not know it: {said}",
            fix="what answers is another version of custom-scheduler, or another program: see what runs behind the webhook",
        )
    if "failed calling webhook" in said:
        return Proof(
            outcome="not called",
            text=f"the API server can't call the webhook: {said}",
            fix="see what the other checks say; the way back from failurePolicy Fail is in docs/operations.md",
        )
    if "denied the request" in said or "forbidden: violates" in said:
        return Proof(
            outcome="denied by others",
            text=f"somebody else denied the probe before we were heard: {said}",
            fix=f"exempt the namespace {PROBE_NAMESPACE} there: nothing is ever created in it",
        )
    if error.status == 404:
        return Proof(
            outcome="refused",
            text=f"namespace {PROBE_NAMESPACE} is not there",
            fix="apply manifests/probe",
        )
    return Proof(
        outcome="refused",
        text=f"the API server refused the probe: {said}",
        fix=f"the proof needs the right to create pods in {PROBE_NAMESPACE}",
    )


def _pod(nonce: str) -> dict[str, object]:
    # As restricted as pod security can ask for: nobody else is to have a reason to deny it.
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"probe-{nonce}",
            "namespace": PROBE_NAMESPACE,
            "annotations": {PROBE_ANNOTATION: nonce},
        },
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "probe",
                    "image": "custom-scheduler-probe",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "resources": {
                        "requests": {"cpu": "1m", "memory": "1Mi"},
                        "limits": {"cpu": "1m", "memory": "1Mi"},
                    },
                }
            ],
        },
    }
