"""What nodes can have."""

from __future__ import annotations

from tests.conformance.features import Features, Sketch
from tests.conformance.furniture import OLD_ZONE, REGION, ZONE, ZONES
from tests.conformance.model import Json

__all__ = ["IMAGES", "KEYS", "NODE_FEATURES", "node"]

NODE_FEATURES = Features()

# Of taints.
KEYS = ("dedicated", "maintenance")

_MIB = 1024 * 1024
# By name, in MiB: below, between and above what ImageLocality counts.
IMAGES = {
    "registry.example.com/small:latest": 20,
    "registry.example.com/app:v1": 300,
    "registry.example.com/app:latest": 310,
    "registry.example.com/huge:v2": 2500,
    "registry.example.com:5000/tool:latest": 700,
    "registry.example.com/app@sha256:" + "a" * 64: 410,
}


def node(sketch: Sketch, name: str) -> None:
    """Fill in an ordinary node, before any feature."""
    allocatable = {
        "cpu": sketch.one(("2", "3", "3900m", "8")),
        "memory": sketch.one(("4Gi", "8Gi", "6123456Ki", "12G")),
        "pods": "20",
        "ephemeral-storage": "10Gi",
    }
    labels = {
        "kubernetes.io/hostname": name,
        ZONE: sketch.one(ZONES),
        "disk": sketch.one(("ssd", "hdd")),
        "generation": sketch.one(("3", "10", "07", "old")),
    }
    sketch.manifest.update(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": []},
            "status": {"allocatable": allocatable, "capacity": allocatable},
        }
    )


def _taint(sketch: Sketch, effect: str) -> None:
    for key in sketch.some(KEYS):
        taint: Json = {"key": key, "value": sketch.one(("", "a", "b")), "effect": effect}
        sketch.spec["taints"].append(taint)


def _offer(sketch: Sketch, resource: str, amount: str) -> None:
    sketch.manifest["status"]["allocatable"][resource] = amount


@NODE_FEATURES.drawn(5)
def no_schedule_taint(sketch: Sketch) -> None:
    _taint(sketch, "NoSchedule")


@NODE_FEATURES
def no_execute_taint(sketch: Sketch) -> None:
    _taint(sketch, "NoExecute")


@NODE_FEATURES.drawn(5)
def prefer_no_schedule_taint(sketch: Sketch) -> None:
    _taint(sketch, "PreferNoSchedule")


@NODE_FEATURES
def cordoned(sketch: Sketch) -> None:
    sketch.spec["unschedulable"] = True


@NODE_FEATURES
def few_pods(sketch: Sketch) -> None:
    _offer(sketch, "pods", sketch.one(("0", "1", "2", "3")))


@NODE_FEATURES
def tiny(sketch: Sketch) -> None:
    _offer(sketch, "cpu", "350m")
    _offer(sketch, "memory", "400Mi")


@NODE_FEATURES
def no_cpu(sketch: Sketch) -> None:
    _offer(sketch, "cpu", "0")


@NODE_FEATURES
def extended_resources(sketch: Sketch) -> None:
    _offer(sketch, "example.com/gpu", sketch.one(("0", "2", "4")))
    _offer(sketch, "example.com/ignored", "1")


@NODE_FEATURES
def huge_pages_on_node(sketch: Sketch) -> None:
    _offer(sketch, "hugepages-2Mi", sketch.one(("64Mi", "1Gi")))


@NODE_FEATURES.drawn(15)
def images_on_node(sketch: Sketch) -> None:
    # Of equal size everywhere: else the node that kube-scheduler heard of first decides.
    names = sketch.some(list(IMAGES), most=4)
    sketch.manifest["status"]["images"] = [
        {"names": [name], "sizeBytes": IMAGES[name] * _MIB + 4321} for name in names
    ]


@NODE_FEATURES
def no_zone(sketch: Sketch) -> None:
    sketch.labels.pop(ZONE, None)


@NODE_FEATURES
def no_hostname(sketch: Sketch) -> None:
    del sketch.labels["kubernetes.io/hostname"]


@NODE_FEATURES
def old_zone_label(sketch: Sketch) -> None:
    sketch.labels[OLD_ZONE] = sketch.labels.pop(ZONE, "zone-b")


@NODE_FEATURES
def region_label(sketch: Sketch) -> None:
    sketch.labels[REGION] = sketch.one(("north", "south"))


@NODE_FEATURES.drawn(5)
def declared_features(sketch: Sketch) -> None:
    sketch.manifest["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]


@NODE_FEATURES
def rack_label(sketch: Sketch) -> None:
    sketch.labels["rack"] = sketch.one(("", "r1", "r2"))
