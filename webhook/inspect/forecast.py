"""What would come of creating an object: the webhook's decisions in the order in which an API server asks for them.

The API server asks for a pod's patch, applies it, and then asks for the verdict on what came of it. A workload is
looked at by the pods that it will make as well, since those are what is denied in the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from webhook.admission.mutate import OptedInBy, mutate
from webhook.admission.objects import POD, WORKLOADS, Kind
from webhook.admission.patch import Add
from webhook.admission.placement import opt_in
from webhook.admission.review import MalformedReview, Review, decode_review
from webhook.admission.validate import as_warning, validate
from webhook.admission.verdict import Verdict
from webhook.admission.verify import verify
from webhook.policy.model import Policy
from webhook.policy.names import DECLINED, OPTED_IN

__all__ = ["Enforcement", "Surroundings", "forecast"]

Enforcement = Literal["deny", "warn"]

_DAEMON_SET: Kind = ("apps", "DaemonSet")


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """The namespace of an object, as the webhooks' selectors see it; without a name no policy exempts it."""

    name: str = ""
    enforce: Enforcement | None = "deny"
    opted_in: bool = False


def forecast(kind: Kind, obj: dict[str, Any], policy: Policy, namespace: Surroundings) -> Verdict:
    """Return what comes of creating `obj`, a pod or a workload, and the pods of that workload, in `namespace`.

    A fault of a workload's pods is told at its template and has the rule's own action, whatever `spec.workloads`
    makes of it at apply. Raises MalformedReview for an object that an API server wouldn't decode.
    """
    if kind == POD:
        return _pod(obj, policy, namespace)
    review = _review(kind, obj, namespace)
    labels = _judged(review, replace(policy, workloads="Deny"), namespace)
    template = _at(obj, WORKLOADS[kind])
    # What a controller manages is told at its owner. A DaemonSet chooses the node, so its pods aren't steered.
    if review.subject.controller or kind == _DAEMON_SET or not isinstance(template, dict):
        return labels
    placed = _pod(_made_from(template, kind, obj), replace(policy, required_labels=()), namespace)
    faults = tuple(replace(fault, field=f"{WORKLOADS[kind]}.{fault.field}") for fault in placed.faults)
    return replace(labels, faults=labels.faults + faults)


def _pod(obj: dict[str, Any], policy: Policy, namespace: Surroundings) -> Verdict:
    review = _review(POD, obj, namespace)
    label = opt_in(review)
    opted_in_by: OptedInBy | None = None
    if label == OPTED_IN:
        opted_in_by = "pod"
    elif namespace.opted_in and label != DECLINED:
        opted_in_by = "namespace"
    if opted_in_by is not None:
        steered = mutate(review, policy, opted_in_by=opted_in_by)
        if not steered.allowed:
            return steered
        review = _review(POD, _patched(obj, steered.patch), namespace)
    verdict = _judged(review, policy, namespace)
    # Which pods the entries verify.pods and verify.namespaces select.
    if opted_in_by == "namespace" or (opted_in_by == "pod" and namespace.enforce is None):
        return replace(verdict, faults=verdict.faults + verify(review, policy).faults)
    return verdict


def _judged(review: Review, policy: Policy, namespace: Surroundings) -> Verdict:
    """Return the verdict of the path that the namespace's enforcement label chooses."""
    if namespace.enforce is None:
        return Verdict(policy=policy.name)
    verdict = validate(review, policy)
    return as_warning(verdict) if namespace.enforce == "warn" else verdict


def _review(kind: Kind, obj: dict[str, Any], namespace: Surroundings) -> Review:
    """Return the review of a request that creates `obj`, through the same bytes that an API server would send."""
    group, name = kind
    request = {
        "uid": "forecast",
        "kind": {"group": group, "version": "v1", "kind": name},
        "operation": "CREATE",
        "namespace": namespace.name,
        "object": obj,
    }
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    try:
        body = msgspec.json.encode(envelope)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise MalformedReview(f"$.request.object: can't be written as JSON: {error}") from None
    return decode_review(body)


def _made_from(template: dict[str, Any], kind: Kind, workload: dict[str, Any]) -> dict[str, Any]:
    name = _at(workload, "metadata.name")
    owner = {"kind": kind[1], "name": name if isinstance(name, str) else "", "controller": True}
    metadata = template.get("metadata") or {}
    return {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": template.get("spec")}


def _at(obj: dict[str, Any], path: str) -> Any:
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _patched(obj: dict[str, Any], patch: Iterable[Add]) -> dict[str, Any]:
    """Return a copy of `obj` with the operations carried out: RFC 6902, of which steering uses `add`."""
    result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    for operation in patch:
        *parents, last = (
            token.replace("~1", "/").replace("~0", "~") for token in operation.path.split("/")[1:]
        )
        at: Any = result
        for token in parents:
            at = at[int(token)] if isinstance(at, list) else at[token]
        value = msgspec.json.decode(msgspec.json.encode(operation.value))
        if last == "-":
            at.append(value)
        else:
            at[last] = value
    return result
