"""The supervisor with stand-ins for the components: programs that do nothing, or that fail at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster import DevCluster, DevClusterError, StartError
from tests.devcluster.traces import processes_naming, start_python, write_program
from tests.waiting import eventually

_SLEEP = "exec sleep 600"
# Starts a cluster whose API server never gets ready, so that it stays in the middle of its start.
_PARENT = "from devcluster import DevCluster\nDevCluster().__enter__()"


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "assets"
    folder.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        write_program(folder / name, f"PATH={os.defpath}; {_SLEEP}")
    monkeypatch.setenv("DEVCLUSTER_ASSETS", str(folder))
    return folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder of a test that must leave nothing in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    eventually(lambda: not processes_naming(folder), seconds=10, what="no process is left")
    assert list(folder.iterdir()) == []


def starting(temporary: Path) -> bool:
    """Whether supervisor, etcd and kube-apiserver run, beside the parent."""
    return len(processes_naming(temporary)) == 4


def test_a_component_that_fails_at_once_is_named_with_its_own_words(assets: Path, temporary: Path) -> None:
    write_program(assets / "kube-apiserver", "echo 'Error: unknown flag: --nonsense' >&2; exit 1")

    with pytest.raises(StartError, match=r"^kube-apiserver ended with 1: Error: unknown flag: --nonsense$"):
        DevCluster().__enter__()


def test_a_component_that_is_killed_is_named(assets: Path, temporary: Path) -> None:
    write_program(assets / "etcd", "kill -9 $$")

    with pytest.raises(StartError, match=r"^etcd was killed by SIGKILL$"):
        DevCluster().__enter__()


def test_a_cluster_outside_of_its_with_block_says_so() -> None:
    with pytest.raises(DevClusterError, match="inside its with block"):
        _ = DevCluster().kubeconfig


def test_everything_ends_when_the_parent_is_killed_in_the_middle_of_a_start(
    assets: Path, temporary: Path
) -> None:
    parent = start_python(_PARENT, temporary)
    eventually(lambda: starting(temporary), seconds=20, what="the components are starting")

    parent.kill()

    parent.communicate()


def test_everything_ends_when_the_parents_whole_group_is_killed(assets: Path, temporary: Path) -> None:
    parent = start_python(_PARENT, temporary)
    eventually(lambda: starting(temporary), seconds=20, what="the components are starting")

    os.killpg(parent.pid, signal.SIGKILL)

    parent.communicate()


def test_everything_ends_though_a_child_of_the_dead_parent_holds_its_pipes(
    assets: Path, temporary: Path, tmp_path: Path
) -> None:
    fork = "import os, time\npid = os.fork()\nif not pid: time.sleep(600)\nprint(pid, flush=True)"
    parent = start_python(
        "import threading\nfrom devcluster import DevCluster\n"
        "threading.Thread(target=lambda: DevCluster().__enter__(), daemon=True).start()\n"
        f"input()\n{fork}\ninput()",
        temporary,
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    eventually(lambda: starting(temporary), seconds=20, what="the components are starting")
    parent.stdin.write("fork\n")
    parent.stdin.flush()
    child = int(parent.stdout.readline())

    parent.kill()
    parent.wait()

    eventually(lambda: set(processes_naming(temporary)) == {child}, seconds=10, what="all but the child end")
    os.kill(child, signal.SIGKILL)
    parent.communicate()


def test_everything_ends_when_the_start_is_interrupted_at_the_terminal(assets: Path, temporary: Path) -> None:
    parent = start_python(_PARENT, temporary)
    eventually(lambda: starting(temporary), seconds=20, what="the components are starting")

    os.killpg(parent.pid, signal.SIGINT)

    _, errors = parent.communicate(timeout=20)
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_the_supervisor_stops_everything_when_it_is_asked_to_end(assets: Path, temporary: Path) -> None:
    parent = start_python(_PARENT, temporary)
    eventually(lambda: starting(temporary), seconds=20, what="the components are starting")
    [supervisor] = [
        pid for pid, command in processes_naming(temporary).items() if "devcluster.supervisor" in command
    ]

    os.kill(supervisor, signal.SIGTERM)

    _, errors = parent.communicate(timeout=20)
    assert "StartError: the supervisor ended with 0" in errors


def test_the_components_die_with_a_killed_supervisor_and_the_next_start_removes_its_folder(
    assets: Path, temporary: Path
) -> None:
    parent = start_python(_PARENT, temporary)
    eventually(lambda: starting(temporary), seconds=20, what="the components are starting")
    [supervisor] = [
        pid for pid, command in processes_naming(temporary).items() if "devcluster.supervisor" in command
    ]

    os.kill(supervisor, signal.SIGKILL)

    parent.communicate(timeout=20)
    eventually(lambda: not processes_naming(temporary), seconds=10, what="the components are gone")
    assert len(list(temporary.iterdir())) == 1
    write_program(assets / "etcd", "exit 1")
    with pytest.raises(StartError):
        DevCluster().__enter__()
