"""What only pods that are placed already, or only those to be scheduled, can have."""

from __future__ import annotations

from tests.conformance.features import Features, Sketch
from tests.conformance.model import Json

__all__ = ["INCOMING_FEATURES", "PLACED_FEATURES"]

PLACED_FEATURES = Features()
INCOMING_FEATURES = Features()


def _status(sketch: Sketch) -> Json:
    status: Json = sketch.manifest.setdefault("status", {})
    return status


def _granted(sketch: Sketch, *, allocated: str, actual: str) -> None:
    """Let the kubelet report other requests of cpu than those in the spec."""
    status = {
        "name": "main",
        "image": "main",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "allocatedResources": {"cpu": allocated},
        "resources": {"requests": {"cpu": actual}},
    }
    _status(sketch)["containerStatuses"] = [status]


def _resize(sketch: Sketch, reason: str) -> None:
    condition = {"type": "PodResizePending", "status": "True", "reason": reason}
    _status(sketch).setdefault("conditions", []).append(condition)


@PLACED_FEATURES
def resized(sketch: Sketch) -> None:
    _granted(sketch, allocated=sketch.one(("100m", "900m")), actual=sketch.one(("100m", "1")))


@PLACED_FEATURES
def resize_deferred(sketch: Sketch) -> None:
    _granted(sketch, allocated="50m", actual="80m")
    _resize(sketch, "Deferred")


@PLACED_FEATURES
def resize_infeasible(sketch: Sketch) -> None:
    _granted(sketch, allocated="20m", actual="30m")
    _resize(sketch, "Infeasible")


@PLACED_FEATURES
def ended(sketch: Sketch) -> None:
    _status(sketch)["phase"] = sketch.one(("Succeeded", "Failed"))


@PLACED_FEATURES
def terminating(sketch: Sketch) -> None:
    sketch.manifest["metadata"]["deletionTimestamp"] = "now"


@PLACED_FEATURES
def of_another_scheduler(sketch: Sketch) -> None:
    sketch.spec["schedulerName"] = "another"


@PLACED_FEATURES
def on_a_node_that_is_gone(sketch: Sketch) -> None:
    sketch.spec["nodeName"] = "gone"


@INCOMING_FEATURES
def gated(sketch: Sketch) -> None:
    sketch.spec["schedulingGates"] = [{"name": "example.com/later"}]


@INCOMING_FEATURES
def packing_profile(sketch: Sketch) -> None:
    sketch.spec["schedulerName"] = "packing"


@INCOMING_FEATURES
def shaped_profile(sketch: Sketch) -> None:
    sketch.spec["schedulerName"] = "shaped"


@INCOMING_FEATURES
def listed_profile(sketch: Sketch) -> None:
    sketch.spec["schedulerName"] = "listed"
