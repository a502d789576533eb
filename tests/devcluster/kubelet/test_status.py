from __future__ import annotations

import msgspec

from devcluster.kubelet.status import PodState, running, status_of, terminated, waiting
from tests.devcluster.kubelet.pods import pod

RUNNING = PodState(
    address="10.42.1.2",
    started_at="2026-12-01T00:00:00Z",
    container=running("2026-12-01T00:00:01Z"),
    ready=True,
)


def condition(status: dict[str, object], kind: str) -> dict[str, str]:
    conditions = status["conditions"]
    assert isinstance(conditions, list)
    (found,) = [each for each in conditions if each["type"] == kind]
    return dict(found)


def test_the_endpoints_are_told_address_and_readiness() -> None:
    status = status_of(pod(), RUNNING, now="2026-12-01T00:00:02Z")

    assert status["podIPs"] == [{"ip": "10.42.1.2"}]
    assert condition(status, "Ready")["status"] == "True"


def test_the_schedulers_condition_stays() -> None:
    seen = pod()
    seen["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]

    assert condition(status_of(seen, RUNNING, now=""), "PodScheduled")["status"] == "True"


def test_only_what_changes_gets_a_new_time() -> None:
    seen = pod()
    seen["status"] = status_of(seen, RUNNING, now="first")

    status = status_of(seen, msgspec.structs.replace(RUNNING, ready=False), now="second")

    assert condition(status, "Ready")["lastTransitionTime"] == "second"
    assert condition(status, "Initialized")["lastTransitionTime"] == "first"


def test_how_a_container_ended_is_told() -> None:
    ended = msgspec.structs.replace(
        RUNNING, container=terminated(1, "t"), last_container=waiting("r"), restarts=2
    )

    (container,) = status_of(pod(), ended, now="")["containerStatuses"]

    assert container["state"]["terminated"]["exitCode"] == 1
    assert (container["started"], container["restartCount"]) == (False, 2)
