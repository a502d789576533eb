"""An API server in miniature: calls what the shipped configurations register, and does what the answers say."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import yaml

from tests.admission.reviews import apply, body
from tests.cases.case import Case, Json, Outcome, namespace_labels

MANIFESTS = Path(__file__).parents[2] / "manifests/base"

# One call: a path and the bytes of a review, to the decoded AdmissionReview of the answer.
Call = Callable[[str, bytes], Json]


def admit(case: Case, call: Call) -> Outcome:
    """What comes of the case's request when `call` answers its reviews."""
    obj, old = case.named(case.object), case.named(case.old) if case.old else None
    if case.terminating:
        for each in (obj, old):
            each["metadata"] = {**each["metadata"], "deletionTimestamp": "2026-01-02T03:04:05Z"}  # type: ignore[index]  # both are there
    warnings: list[str] = []
    for configuration in ("mutating", "validating") if case.mutators else ("validating",):
        for path in _called(configuration, case, obj):
            response = call(path, _review(case, obj, old))["response"]
            warnings += response.get("warnings", [])
            if not response["allowed"]:
                return Outcome(denied=response["status"]["message"], warnings=tuple(warnings), object=None)
            if patch := response.get("patch"):
                obj = apply(obj, json.loads(base64.b64decode(patch)))
    return Outcome(denied=None, warnings=tuple(warnings), object=obj)


def _review(case: Case, obj: Json, old: Json | None) -> bytes:
    user = {"username": case.user.name, "groups": [*case.user.groups, "system:authenticated"]}
    return body(obj, oldObject=old, operation=case.operation, namespace=case.namespace, userInfo=user)


def _called(configuration: str, case: Case, obj: Json) -> Iterator[str]:
    resource = f"{case.kind.lower()}s"
    labels = obj["metadata"].get("labels") or {}
    for entry in _webhooks(configuration):
        if (
            any(
                resource in rule["resources"] and case.operation in rule["operations"]
                for rule in entry["rules"]
            )
            and _selects(entry.get("namespaceSelector"), namespace_labels(case.namespace))
            and _selects(entry.get("objectSelector"), labels)
        ):
            yield entry["clientConfig"]["service"]["path"]


@cache
def _webhooks(configuration: str) -> list[Json]:
    webhooks: list[Json] = yaml.safe_load((MANIFESTS / f"webhook-{configuration}.yaml").read_text())[
        "webhooks"
    ]
    return webhooks


def _selects(selector: Json | None, labels: dict[str, str]) -> bool:
    for expression in (selector or {}).get("matchExpressions", []):
        is_in = labels.get(expression["key"]) in expression["values"]
        if is_in != {"In": True, "NotIn": False}[expression["operator"]]:
            return False
    return True
