"""Manifests in one line each, and what the cluster made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devcluster.cluster import DevCluster

__all__ = ["account", "deployment", "get", "pod", "pod_events", "scheduled_condition"]


def pod(namespace: str, name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> str:
    """Return a pod as JSON; `spec` overrides fields, `cpu` is its request."""
    requests = {"cpu": spec.pop("cpu", "10m")}
    container = {"name": "main", "image": "nginx", "resources": {"requests": requests}}
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}
    )


def deployment(namespace: str, name: str, *, template_labels: dict[str, str]) -> str:
    """Return a Deployment of one replica as JSON."""
    labels = {"app": name}
    container = {"name": "main", "image": "nginx"}
    template = {"metadata": {"labels": {**labels, **template_labels}}, "spec": {"containers": [container]}}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        }
    )


def account(cluster: DevCluster, namespace: str, rules: list[dict[str, list[str]]]) -> Path:
    """Make a ServiceAccount that may do what these rules say in the whole cluster; return its kubeconfig."""
    name = f"account-{namespace}"
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    metadata = {"name": name}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    cluster.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": metadata})
    cluster.request("POST", f"{rbac}/clusterroles", {"metadata": metadata, "rules": rules})
    binding = {"metadata": metadata, "roleRef": role, "subjects": [subject]}
    cluster.request("POST", f"{rbac}/clusterrolebindings", binding)
    return cluster.service_account_kubeconfig(namespace, name)


def get(cluster: DevCluster, kind: str, namespace: str, name: str) -> dict[str, Any]:
    """Return one object as the API server has it."""
    found: dict[str, Any] = json.loads(
        cluster.kubectl("get", kind, name, "-n", namespace, "-o", "json").stdout
    )
    return found


def scheduled_condition(pod: dict[str, Any]) -> dict[str, Any] | None:
    """Return the PodScheduled condition of a pod, if it has one."""
    conditions = pod["status"].get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == "PodScheduled"), None)


def pod_events(cluster: DevCluster, namespace: str, name: str) -> list[dict[str, Any]]:
    """Return the events that regard a pod."""
    selector = f"involvedObject.name={name}"
    answer = cluster.kubectl("get", "events", "-n", namespace, "--field-selector", selector, "-o", "json")
    found: list[dict[str, Any]] = json.loads(answer.stdout)["items"]
    return found
