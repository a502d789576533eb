from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devcluster.errors import PodError
from devcluster.kubelet.container import Plan, plan_of
from devcluster.kubelet.volumes import Volumes
from tests.devcluster.kubelet.pods import API_SERVER, IMAGE, PLACE, pod
from tests.devcluster.kubelet.test_volumes import MemoryConfigs


def plan(container: dict[str, Any] | None = None, **spec: Any) -> Plan:
    volumes = Volumes(Path("/pods/u-1"), MemoryConfigs())
    return plan_of(
        pod(container=container, **spec),
        image=IMAGE,
        volumes=volumes,
        place=PLACE,
        root=Path("/pods/root"),
        api_server=API_SERVER,
    )


def test_the_image_says_what_runs_where_the_pod_does_not() -> None:
    assert plan({"args": ["--port", "1"]}).argv == ["program", "run", "--port", "1"]
    assert plan({"command": ["other"], "args": ["x"]}).argv == ["other", "x"]


def test_arguments_may_name_variables() -> None:
    assert plan({"env": [{"name": "A", "value": "1"}], "args": ["$(A)"]}).argv[-1] == "1"


def test_volumes_are_mounted_before_the_image_which_may_be_below_one_of_them() -> None:
    mounts = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 (the container's)

    assert plan({"volumeMounts": mounts}).binds == [("/pods/u-1/tmp", "/tmp"), ("/usr", "/usr")]  # noqa: S108 (as above)


def test_the_container_has_the_last_word_over_the_pod_in_security() -> None:
    found = plan(
        {"securityContext": {"runAsUser": 2, "readOnlyRootFilesystem": True}},
        securityContext={"runAsUser": 1, "runAsGroup": 3},
    )

    assert (found.user, found.group, found.read_only) == (2, 3, True)


@pytest.mark.parametrize(
    ("container", "spec", "fault"),
    [
        ({}, {"containers": [{}, {}]}, "one container"),
        ({}, {"initContainers": [{}]}, "one container"),
        ({}, {"restartPolicy": "Never"}, "restartPolicy Always"),
        ({}, {"securityContext": {"runAsNonRoot": True}}, "runs as root"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "b"}]}, {}, "no subPath"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/usr/share/v"}]}, {}, "that the image brings"),
    ],
)
def test_what_it_can_not_give_is_refused(container: dict[str, Any], spec: dict[str, Any], fault: str) -> None:
    with pytest.raises(PodError, match=fault):
        plan(container, **spec)
