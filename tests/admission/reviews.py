"""AdmissionReviews as an API server writes them, and what comes of its answers."""

from __future__ import annotations

import base64
import json
from typing import Any

import jsonpatch

from webhook.admission.review import Review, decode_review, encode_response
from webhook.admission.verdict import Verdict

Json = dict[str, Any]

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
OPTED_IN = {"custom": "web", "custom-scheduler.io/opt-in": "true"}
NODE = {"username": "system:node:n1", "groups": ["system:nodes", "system:authenticated"]}
DAEMON_SET_CONTROLLER = {
    "username": "system:serviceaccount:kube-system:daemon-set-controller",
    "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
}
REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web-5d4",
    "uid": "1",
    "controller": True,
}

_GROUPS = {
    "Pod": "",
    "ReplicationController": "",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
    "CronJob": "batch",
}


def pod(labels: Any = None, *, spec: Json | None = None, **metadata: Any) -> Json:
    """A pod named web-1, as the API server has defaulted it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-1", "labels": labels, **metadata},
        "spec": {
            "containers": [{"name": "c", "image": "nginx"}],
            "schedulerName": "default-scheduler",
            **(spec or {}),
        },
        "status": {},
    }


def workload(kind: str, template_labels: Any = None, **metadata: Any) -> Json:
    """A workload named web whose pod template has `template_labels`."""
    spec: Json = {"template": {"metadata": {"labels": template_labels}, "spec": {"containers": []}}}
    if kind == "CronJob":
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    return {"kind": kind, "metadata": {"name": "web", **metadata}, "spec": spec}


def body(obj: Json | None, **request: Any) -> bytes:
    """A review of `obj`: alice creates it in team-a, unless `request` says otherwise."""
    kind = (obj or request.get("oldObject") or {}).get("kind", "Pod")
    name = ((obj or {}).get("metadata") or {}).get("name")
    group = _GROUPS.get(kind, "example.com")
    return json.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": UID,
                "kind": {"group": group, "version": "v1", "kind": kind},
                "resource": {"group": group, "version": "v1", "resource": f"{kind.lower()}s"},
                "namespace": "team-a",
                "operation": "CREATE",
                "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
                "object": obj,
                "oldObject": None,
                "dryRun": False,
                "options": None,
                **({"name": name} if name else {}),
                **request,
            },
        }
    ).encode()


def review(obj: Json | None, **request: Any) -> Review:
    """The same review, as the server has it."""
    return decode_review(body(obj, **request))


def update(old: Json, new: Json, **request: Any) -> Review:
    """A review of the change from `old` to `new`."""
    return review(new, operation="UPDATE", oldObject=old, **request)


def answer(asked: Review, verdict: Verdict) -> Json:
    """The response as the API server reads it."""
    answered = json.loads(encode_response(asked, verdict))
    assert (answered["apiVersion"], answered["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Json = answered["response"]
    assert response["uid"] == asked.uid
    return response


def patched(obj: Json, asked: Review, verdict: Verdict) -> Json:
    """`obj` after the answer's patch, applied by an independent implementation of RFC 6902."""
    return apply(obj, operations(asked, verdict))


def operations(asked: Review, verdict: Verdict) -> list[Json]:
    """The operations of the answer's patch."""
    response = answer(asked, verdict)
    assert ("patch" in response) == ("patchType" in response)
    if "patch" not in response:
        return []
    assert response["patchType"] == "JSONPatch"
    decoded: list[Json] = json.loads(base64.b64decode(response["patch"], validate=True))
    assert decoded
    return decoded


def apply(obj: Json, patch: list[Json]) -> Json:
    """`obj` with a JSON patch applied."""
    result: Json = jsonpatch.apply_patch(obj, patch)
    return result
