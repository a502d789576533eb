"""Nothing is left of a devcluster, whatever way and whenever its Python process ends.

DEVCLUSTER_CLEANUP_ROUNDS=20 makes it twenty starts and stops; DEVCLUSTER_CLEANUP_SEED chooses other moments.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.devcluster.traces import processes_naming, start_python
from tests.waiting import eventually

pytestmark = pytest.mark.e2e

_ROUNDS = int(os.environ.get("DEVCLUSTER_CLEANUP_ROUNDS", "4"))
_SEED = int(os.environ.get("DEVCLUSTER_CLEANUP_SEED", "1"))
_LATEST_KILL_SECONDS = 7.0  # a start takes four: so the moments are before, in and after it
_STOP_SECONDS = 20.0

_USER = """
from devcluster import DevCluster

with DevCluster(nodes=3) as cluster:
    print("up", flush=True)
    input()
"""


@pytest.mark.parametrize("number", range(0, _ROUNDS, 2))
def test_nothing_is_left_after_the_with_block(number: int, tmp_path: Path) -> None:
    user = start_python(_USER, tmp_path)
    assert user.stdout is not None
    assert user.stdout.readline() == "up\n"
    assert len(processes_naming(tmp_path)) == 6  # the user, the supervisor and the four components

    _, errors = user.communicate("leave\n", timeout=_STOP_SECONDS)

    assert (user.returncode, errors) == (0, "")
    assert processes_naming(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", range(1, _ROUNDS, 2))
def test_nothing_is_left_after_a_kill_at_any_moment(number: int, tmp_path: Path) -> None:
    moment = random.Random(_SEED * 1000 + number).uniform(0, _LATEST_KILL_SECONDS)
    user = start_python(_USER, tmp_path)
    time.sleep(moment)  # the moment is what is tested

    if number % 4 == 1:
        user.kill()
    else:
        os.killpg(user.pid, signal.SIGKILL)

    user.communicate()
    eventually(
        lambda: not processes_naming(tmp_path),
        seconds=_STOP_SECONDS,
        what=f"no process is left of a parent killed after {moment:.2f} s",
    )
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_while_a_watch_is_open(tmp_path: Path) -> None:
    user = start_python(
        "import threading\nfrom devcluster import DevCluster\n"
        "with DevCluster(scheduler=False, controller_manager=False) as cluster:\n"
        "    watch = ['get', 'pods', '--watch', '-v=6']\n"
        "    threading.Thread(target=cluster.kubectl, args=watch, daemon=True).start()\n"
        "    print('up', flush=True)\n    input()",
        tmp_path,
    )
    assert user.stdout is not None
    user.stdout.readline()
    eventually(
        lambda: any("--watch" in command for command in processes_naming(tmp_path).values()),
        seconds=10,
        what="kubectl watches",
    )

    user.kill()

    user.communicate()
    eventually(lambda: not processes_naming(tmp_path), seconds=_STOP_SECONDS, what="no process is left")
    assert list(tmp_path.iterdir()) == []
