"""What stands in the cluster all the time: namespaces, workloads, claims and volumes, the same for each scenario.

kube-scheduler starts after it is there, and so knows all of it. The scenarios' vocabulary is here too.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.model import Json

__all__ = [
    "APPS",
    "CLAIMS",
    "CONTROLLERS",
    "NAMESPACES",
    "OVERHEAD",
    "TIERS",
    "ZONE",
    "ZONES",
    "furniture",
    "path_of",
]

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
ZONES = ("zone-a", "zone-b", "zone-c")
APPS = ("web", "db", "cache")
TIERS = ("front", "back")
NAMESPACES = {
    "alpha": {"team": "red", "env": "prod"},
    "beta": {"team": "blue", "env": "prod"},
    "gamma": {"team": "red"},
}
OVERHEAD = "with-overhead"

# By kind, the apiVersion of controllers that pods are replicas for, and of one that no plugin looks at.
CONTROLLERS = {
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
}

_VOLUMES: dict[str, Json] = {
    "anywhere": {},
    "of-csi-driver": {"source": {"csi": {"driver": "csi.example.com", "volumeHandle": "v"}}},
    "on-ssd": {"affinity": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
    "off-zone-b": {"affinity": [{"key": ZONE, "operator": "NotIn", "values": ["zone-b"]}]},
    "in-zone-a": {"labels": {ZONE: "zone-a"}},
    "in-two-zones": {"labels": {ZONE: "zone-b__zone-c"}},
    "in-old-zone": {"labels": {OLD_ZONE: "zone-b"}},
    "in-region": {"labels": {REGION: "north", ZONE: "zone-c"}},
}

# By name: the volume, and what else there is to it.
CLAIMS: dict[str, Json] = {
    **{f"claim-{name}": {"volume": name} for name in _VOLUMES},
    "claim-for-one": {"volume": "anywhere", "modes": ["ReadWriteOncePod"]},
    "claim-unbound": {},
    "claim-half-bound": {"volume": "anywhere", "half": True},
    "claim-volume-gone": {"volume": "gone"},
    "claim-lost": {"volume": "gone", "phase": "Lost"},
    "claim-leaving": {"volume": "anywhere", "leaving": True},
}


def furniture() -> Iterator[Json]:
    """Yield the manifests, in an order in which they can be made."""
    for name, labels in NAMESPACES.items():
        yield _object("v1", "Namespace", name, labels=labels)
    yield {
        **_object("node.k8s.io/v1", "RuntimeClass", OVERHEAD),
        "handler": "any",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
    }
    yield {
        **_object("storage.k8s.io/v1", "StorageClass", "immediate"),
        "provisioner": "example.com/none",
        "volumeBindingMode": "Immediate",
    }
    for name, volume in _VOLUMES.items():
        yield _volume(name, volume)
    for namespace in NAMESPACES:
        for name, claim in CLAIMS.items():
            yield _claim(namespace, name, claim)
        yield from _workloads(namespace)


def path_of(obj: Json) -> str:
    """Return the path of an object's collection in the API."""
    version = obj["apiVersion"]
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    namespace = obj["metadata"].get("namespace")
    plural = obj["kind"].lower() + ("es" if obj["kind"].endswith("s") else "s")
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def _object(
    version: str, kind: str, name: str, *, namespace: str = "", labels: dict[str, str] | None = None
) -> Json:
    metadata: Json = {"name": name, "labels": labels or {}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _volume(name: str, volume: Json) -> Json:
    spec: Json = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "immediate",
        **volume.get("source", {"nfs": {"server": "nfs.example.com", "path": "/"}}),
    }
    if "affinity" in volume:
        required = {"nodeSelectorTerms": [{"matchExpressions": volume["affinity"]}]}
        spec["nodeAffinity"] = {"required": required}
    return {**_object("v1", "PersistentVolume", name, labels=volume.get("labels")), "spec": spec}


def _claim(namespace: str, name: str, claim: Json) -> Json:
    made = _object("v1", "PersistentVolumeClaim", name, namespace=namespace)
    made["spec"] = {
        "accessModes": claim.get("modes", ["ReadWriteMany"]),
        "storageClassName": "immediate",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    if "volume" in claim:
        made["spec"]["volumeName"] = claim["volume"]
        made["status"] = {"phase": claim.get("phase", "Bound")}
        if not claim.get("half"):
            made["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    if claim.get("leaving"):
        made["metadata"]["finalizers"] = ["example.com/held"]
        made["metadata"]["deletionTimestamp"] = "now"
    return made


def _workloads(namespace: str) -> Iterator[Json]:
    """Two Services that overlap, one for nothing, and a controller of each kind for each app but the last."""
    for name, selector in (("web", {"app": "web"}), ("front", {"tier": "front"}), ("external", {})):
        service = _object("v1", "Service", name, namespace=namespace)
        yield {**service, "spec": {"selector": selector, "ports": [{"port": 80}]}}
    for app in APPS[:-1]:
        labels = {"app": app}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "main"}]},
        }
        selectors: dict[str, Json] = {
            "ReplicationController": labels,
            "ReplicaSet": {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]},
            "StatefulSet": {"matchLabels": labels},
        }
        for kind, selector in selectors.items():
            controller = _object(CONTROLLERS[kind], kind, app, namespace=namespace)
            spec: Json = {"replicas": 0, "selector": selector, "template": template}
            if kind == "StatefulSet":
                spec["serviceName"] = "web"
            yield {**controller, "spec": spec}
