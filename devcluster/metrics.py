"""metrics.k8s.io without a metrics-server: its nodes as custom resources, whose usage a test writes."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from devcluster.cluster import DevCluster

__all__ = ["report_memory", "serve_node_metrics"]

_GROUP = "metrics.k8s.io"
_VERSION = "v1beta1"
_PATH = f"/apis/{_GROUP}/{_VERSION}/nodes"
_QUANTITIES = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
}
_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": f"nodes.{_GROUP}",
        # Groups of k8s.io are refused without it (kubernetes/enhancements KEP-1111).
        "annotations": {
            "api-approved.kubernetes.io": "unapproved, stands in for the API that metrics-server serves"
        },
    },
    "spec": {
        "group": _GROUP,
        "scope": "Cluster",
        "names": {"plural": "nodes", "singular": "nodemetrics", "kind": "NodeMetrics"},
        "versions": [
            {
                "name": _VERSION,
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "timestamp": {"type": "string", "format": "date-time"},
                            "window": {"type": "string"},
                            "usage": _QUANTITIES,
                        },
                    }
                },
            }
        ],
    },
}


def serve_node_metrics(cluster: DevCluster) -> None:
    """Make the API server serve /apis/metrics.k8s.io/v1beta1/nodes, with no node measured yet."""
    cluster.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _DEFINITION)
    cluster.kubectl("wait", "--for=condition=Established", f"crd/nodes.{_GROUP}", "--timeout=20s")
    # At first it may say that it isn't ready: kubectl tries again then.
    cluster.kubectl("get", "--raw", _PATH)


def report_memory(cluster: DevCluster, usage: Mapping[str, str]) -> None:
    """Let the nodes be measured now, each for the first time, with so much memory in use: quantities by their names."""
    timestamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def report(node: str) -> None:
        measured = {
            "apiVersion": f"{_GROUP}/{_VERSION}",
            "kind": "NodeMetrics",
            "metadata": {"name": node},
            "timestamp": timestamp,
            "window": "15s",
            "usage": {"cpu": "100m", "memory": usage[node]},
        }
        cluster.request("POST", _PATH, measured)

    # kubectl has itself wait between requests: minutes, for thousands of nodes.
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(report, usage):
            pass  # so that the first fault is raised
