from __future__ import annotations

from webhook.scheduling.plugins.scheduling_gates import SchedulingGates
from webhook.scheduling.status import Code
from webhook.scheduling.testing import make_pod


def test_a_gated_pod_stays_out_and_the_gates_are_named() -> None:
    gated = make_pod(spec={"schedulingGates": [{"name": "foo"}, {"name": "bar"}]})

    status = SchedulingGates().pre_enqueue(gated)

    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.message == "waiting for scheduling gates: [foo bar]"


def test_a_pod_without_gates_may_enter() -> None:
    assert SchedulingGates().pre_enqueue(make_pod()).is_success
