"""The status of a pod, as its kubelet reports it. Pure."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import msgspec

from devcluster.kubelet.objects import Object
from devcluster.sandbox import HOST_ADDRESS

__all__ = ["ContainerState", "PodState", "moment", "running", "status_of", "terminated", "waiting"]

ContainerState = dict[str, Any]
"""One of waiting, running and terminated, with what belongs to it."""


class PodState(msgspec.Struct, frozen=True, kw_only=True):
    """What the kubelet knows of a pod that the API server doesn't."""

    address: str
    started_at: str
    container: ContainerState
    last_container: ContainerState = {}
    phase: Literal["Pending", "Running", "Succeeded", "Failed"] = "Pending"
    ready: bool = False
    restarts: int = 0


def moment() -> str:
    """Return the present time as the API writes it."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def waiting(reason: str, message: str = "") -> ContainerState:
    """Return the state of a container that doesn't run yet."""
    return {"waiting": {"reason": reason, "message": message}}


def running(started_at: str) -> ContainerState:
    """Return the state of a container that runs."""
    return {"running": {"startedAt": started_at}}


def terminated(exit_code: int, finished_at: str) -> ContainerState:
    """Return the state of a container that ran."""
    reason = "Error" if exit_code else "Completed"
    return {"terminated": {"exitCode": exit_code, "reason": reason, "finishedAt": finished_at}}


def status_of(pod: Object, state: PodState, *, now: str) -> dict[str, Any]:
    """Return the status to report; a condition that stays as it is in `pod` keeps the time of its change."""
    before = {each["type"]: each for each in pod.get("status", {}).get("conditions", [])}
    truths = {
        "PodReadyToStartContainers": True,
        "Initialized": True,
        "ContainersReady": state.ready,
        "Ready": state.ready,
    }
    conditions = [
        each for kind, each in before.items() if kind not in truths
    ]  # PodScheduled is the scheduler's
    for kind, truth in truths.items():
        kept = before.get(kind, {})
        same = kept.get("status") == str(truth)
        conditions.append(
            {
                "type": kind,
                "status": str(truth),
                "lastTransitionTime": kept["lastTransitionTime"] if same else now,
            }
        )
    container = pod["spec"]["containers"][0]
    return {
        "phase": state.phase,
        "hostIP": HOST_ADDRESS,
        "podIP": state.address,
        "podIPs": [{"ip": state.address}],
        "startTime": state.started_at,
        "conditions": conditions,
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": container["image"],
                "ready": state.ready,
                "started": "running" in state.container,
                "restartCount": state.restarts,
                "state": state.container,
                "lastState": state.last_container,
            }
        ],
    }
