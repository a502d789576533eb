"""Waiting until an API server keeps to the admission policies that it was given."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from devcluster.cluster import DevCluster
from tests.cases.builders import pod
from tests.cases.case import Json
from tests.cases.real import Api
from tests.waiting import eventually

__all__ = ["await_policies"]


def await_policies(cluster: DevCluster, api: Api, mark: str) -> None:
    """Wait until the API server keeps to every policy and binding as it is now.

    It learns of each kind in order. So a policy and a binding that are made last, and seen at work, show that
    those before them are known.
    """
    cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(_sentinels(mark)))

    def at_work() -> bool:
        answer = api.request(
            "POST",
            "/api/v1/namespaces/cases-free/pods?dryRun=All",
            {**pod(), "metadata": {"name": "sentinel", "namespace": "cases-free"}},
        )
        warned = any(warning.endswith(mark) for warning in answer.warnings)
        return warned and mark in answer.body["metadata"].get("annotations", {})

    eventually(at_work, f"admission policies at work up to {mark}")


def _sentinels(mark: str) -> Iterator[Json]:
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    common = {
        "matchConstraints": {"resourceRules": [pods]},
        "matchConditions": [
            {"name": "is-the-sentinel", "expression": 'object.metadata.?name.orValue("") == "sentinel"'}
        ],
    }
    patch = (
        '(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {"a": "b"}}])'
        f' + [JSONPatch{{op: "add", path: "/metadata/annotations/{mark}", value: "seen"}}]'
    )
    for kind, policy, binding in (
        (
            "ValidatingAdmissionPolicy",
            {"validations": [{"expression": "false", "message": mark}]},
            {"validationActions": ["Warn"]},
        ),
        (
            "MutatingAdmissionPolicy",
            {
                "reinvocationPolicy": "Never",
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
            },
            {},
        ),
    ):
        header = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": f"sentinel-{mark}"}}
        yield {**header, "kind": kind, "spec": {**common, **policy}}
        yield {**header, "kind": f"{kind}Binding", "spec": {"policyName": f"sentinel-{mark}", **binding}}
