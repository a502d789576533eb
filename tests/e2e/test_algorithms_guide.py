"""docs/algorithms.md, carried out as it is written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.binaries import find_kubectl
from devcluster.cluster import DevCluster
from devcluster.ports import free_port
from devcluster.tether import tethered
from tests.e2e.guide import Command, File, steps
from tests.e2e.objects import get, pod, scheduled_condition
from tests.waiting import eventually

GUIDE = Path(__file__).parents[2] / "docs/algorithms.md"
OLD, NEW = "node-1", "node-2"


@pytest.fixture(scope="module")
def cluster() -> Iterator[DevCluster]:
    """The nodes of `make cluster`, whose labels are the reader's to set."""
    with DevCluster(nodes=3, scheduler=False) as cluster:
        yield cluster


class Reader:
    """Somebody who writes each file and types each command, in a folder of their own."""

    def __init__(self, folder: Path, cluster: DevCluster) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []
        programs = [Path(sys.executable).parent, Path(find_kubectl()).parent]
        self._environment = {
            "HOME": str(folder),
            "KUBECONFIG": str(cluster.kubeconfig),
            "PATH": os.pathsep.join([*map(str, programs), os.defpath]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def write(self, file: File) -> None:
        path = self.folder / file.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(file.text)

    def type(self, command: Command) -> None:
        result = subprocess.run(
            ["/bin/sh", "-c", command.line],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"$ {command.line}\n{result.stdout}{result.stderr}"
        if command.output:
            # Spaces at the end of a line are not seen, and no editor leaves them in a guide.
            assert [line.rstrip() for line in result.stdout.splitlines()] == command.output.splitlines()

    def leave_running(self, command: Command) -> None:
        with (self.folder / "binder.log").open("wb") as log:
            process = subprocess.Popen(
                tethered([*command.line.split(), "--ops-host", "127.0.0.1"]),
                cwd=self.folder,
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        self.running.append(process)
        eventually(lambda: "operations on" in (self.folder / "binder.log").read_text(), "the binder")


@pytest.fixture
def reader(tmp_path: Path, cluster: DevCluster) -> Iterator[Reader]:
    reader = Reader(tmp_path, cluster)
    yield reader
    for process in reader.running:
        process.terminate()
        process.wait(30)


def test_the_guide_leads_from_an_empty_file_to_a_pod_that_is_placed(
    reader: Reader, cluster: DevCluster
) -> None:
    the_test = None
    # Another one than the guide's, which somebody else may have.
    port = str(free_port())
    for step in steps(GUIDE, replaced={"8081": port}):
        if isinstance(step, File):
            reader.write(step)
            if the_test is not None and step.name == "plugins/newest.py":
                reader.type(the_test)
        elif " binder " in step.line:
            reader.leave_running(step)
        else:
            reader.type(step)
            the_test = step if "pytest" in step.line else the_test

    assert eventually(lambda: get(cluster, "pod", "default", "web")["spec"].get("nodeName")) == NEW
    cluster.kubectl("cordon", OLD, NEW)
    cluster.kubectl("apply", "-f", "-", input=pod("default", "none", schedulerName="custom-scheduler"))
    condition = eventually(lambda: scheduled_condition(get(cluster, "pod", "default", "none")))
    assert f"`{condition['message']}`" in GUIDE.read_text()
    cluster.kubectl("uncordon", OLD, NEW)
    _goes_on_after_a_change(reader, cluster)


def _goes_on_after_a_change(reader: Reader, cluster: DevCluster) -> None:
    newest = reader.folder / "plugins/newest.py"
    newest.write_text(newest.read_text().replace("10 * (int", "90 - 10 * (int"))
    log = reader.folder / "binder.log"
    eventually(lambda: "plugin Newest was made anew" in log.read_text())

    cluster.kubectl("apply", "-f", "-", input=pod("default", "later", schedulerName="custom-scheduler"))

    assert eventually(lambda: get(cluster, "pod", "default", "later")["spec"].get("nodeName")) == OLD
