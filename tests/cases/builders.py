"""The objects and users of cases, as they are sent to an API server."""

from __future__ import annotations

from typing import Any

from tests.cases.case import Json, User

OPT_IN = "custom-scheduler.io/opt-in"
PLACED_BY = "custom-scheduler.io/placed-by"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

NODE = User("system:node:node-1", ("system:nodes",))
DAEMON_SET_CONTROLLER = User("system:serviceaccount:kube-system:daemon-set-controller")
CONTROLLER_MANAGER = User("system:kube-controller-manager")

LABELLED = {"custom": "web"}
OPTED_IN = {"custom": "web", OPT_IN: "true"}


def pod(labels: Json | None = None, *, annotations: Json | None = None, **spec: Any) -> Json:
    metadata: Json = {"labels": labels or {}, "annotations": annotations or {}}
    defaults = {"containers": [{"name": "main", "image": "nginx"}], "schedulerName": "default-scheduler"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**defaults, **spec}}


def owned(obj: Json, kind: str, name: str) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "1", "controller": True}
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}}


def workload(kind: str, labels: Json | None = None) -> Json:
    template: Json = {
        "metadata": {"labels": {"app": "web", **(labels or {})}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    }
    selector = {"matchLabels": {"app": "web"}}
    job: Json = {"template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}}
    group, spec = {
        "Deployment": ("apps/v1", {"replicas": 0, "selector": selector, "template": template}),
        "ReplicaSet": ("apps/v1", {"replicas": 0, "selector": selector, "template": template}),
        "StatefulSet": (
            "apps/v1",
            {"replicas": 0, "selector": selector, "serviceName": "web", "template": template},
        ),
        "DaemonSet": ("apps/v1", {"selector": selector, "template": template}),
        "Job": ("batch/v1", {"suspend": True, **job}),
        "CronJob": ("batch/v1", {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": job}}),
        "ReplicationController": ("v1", {"replicas": 0, "selector": {"app": "web"}, "template": template}),
    }[kind]
    return {"apiVersion": group, "kind": kind, "metadata": {}, "spec": spec}


def required(*terms: Json, **others: Any) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}, **others}}


def term(*expressions: Json, **others: Any) -> Json:
    return {"matchExpressions": list(expressions), **others}


def requirement(key: str, operator: str = "Exists", *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


CUSTOM = requirement("custom")
ZONE_A, ZONE_B = requirement("zone", "In", "a"), requirement("zone", "In", "b")
ON_NODE_1 = {"matchFields": [requirement("metadata.name", "In", "node-1")]}
