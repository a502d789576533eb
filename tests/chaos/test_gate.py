"""The gate itself: that it counts what goes wrong, and that nothing is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devcluster.errors import SandboxError
from tests.chaos.conftest import FULL_CALLS
from tests.chaos.gate import Gate
from tests.chaos.protocol import Options
from tests.devcluster.traces import CHECKOUT, processes_naming
from tests.waiting import eventually

_USER = """
import sys
from pathlib import Path
from tests.chaos.gate import Gate
from tests.chaos.protocol import Options

with Gate(Options(logs=sys.argv[1], variables={}, endpoints_delay_seconds=0)) as gate:
    print("up", flush=True)
    input()
"""


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.skipif(bool(FULL_CALLS), reason="make chaos is about calls")
def test_nothing_is_left_of_a_gate_whose_user_is_killed(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    namespaces = set(Path("/run/netns").glob("*"))
    user = subprocess.Popen(
        [sys.executable, "-c", _USER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert user.stdout is not None
    assert user.stdout.readline() == b"up\n"
    # The user, unshare, the world; what is in there has a TMPDIR of its own.
    assert len(processes_naming(temporary)) >= 3
    inside = [
        pid for pid, command in processes_naming(Path("/run/sandbox")).items() if "kube-apiserver" in command
    ]

    user.kill()
    user.communicate()

    eventually(lambda: not processes_naming(temporary), "nothing of it is left")
    eventually(lambda: not [pid for pid in inside if Path(f"/proc/{pid}").exists()], "nor of its cluster")
    assert list(temporary.iterdir()) == []
    assert set(Path("/run/netns").glob("*")) == namespaces


def test_a_machine_that_has_no_namespaces_fails_the_gate_and_skips_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with (
        pytest.raises(SandboxError, match="install util-linux and iproute2"),
        Gate(Options(logs=str(tmp_path), variables={}, endpoints_delay_seconds=0)),
    ):
        pytest.fail("it started")
