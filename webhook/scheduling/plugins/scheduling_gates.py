"""SchedulingGates: a pod with gates stays out of the queue."""

from __future__ import annotations

from webhook.scheduling.events import ClusterEventWithHint
from webhook.scheduling.objects import Pod
from webhook.scheduling.status import SUCCESS, Code, Status

__all__ = ["SchedulingGates"]


class SchedulingGates:
    """Wakes on nothing but the pod's own update, which the queue handles."""

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for nothing: no change elsewhere removes a gate."""
        return ()

    def pre_enqueue(self, pod: Pod) -> Status:
        """Return Success once the last gate is gone."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        names = " ".join(gate.name for gate in gates)
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"waiting for scheduling gates: [{names}]",))
