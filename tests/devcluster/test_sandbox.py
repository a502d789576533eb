"""A sandbox for real: needs the right to make namespaces, and fails where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devcluster import sandbox
from devcluster.errors import SandboxError
from devcluster.sandbox import check_sandbox, sandboxed
from tests.devcluster.traces import CHECKOUT, processes_naming, write_program
from tests.waiting import eventually

pytestmark = pytest.mark.e2e


def run(code: str, tmp_path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        sandboxed([sys.executable, "-c", code]),
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )


def output(code: str, tmp_path: Path) -> str:
    with run(code, tmp_path) as process:
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return said


def test_its_network_is_its_own_and_has_the_addresses_of_a_cluster(tmp_path: Path) -> None:
    said = output(
        "import subprocess; from devcluster.sandbox import enter_sandbox; enter_sandbox();"
        "print(subprocess.run(['ip', '-o', 'address'], capture_output=True, text=True).stdout)",
        tmp_path,
    )

    addresses = {line.split()[3] for line in said.splitlines() if line}
    assert addresses >= {"127.0.0.1/8", "10.42.0.1/32", "10.96.0.1/32"}
    assert {line.split()[1] for line in said.splitlines() if line} == {"lo"}


def test_its_files_are_nowhere_else(tmp_path: Path) -> None:
    said = output(
        "from devcluster.sandbox import enter_sandbox\n"
        "path = enter_sandbox() / 'file'; path.touch(); print(path)",
        tmp_path,
    )

    assert Path(said.strip()).name == "file"
    assert not Path(said.strip()).exists()


def test_a_killed_sandbox_takes_all_of_its_processes_along(tmp_path: Path) -> None:
    # One that is in a session of its own and ignores what a terminal or a parent could send.
    process = run(
        "import subprocess, sys, time\n"
        "code = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)'\n"
        "subprocess.Popen([sys.executable, '-c', code], start_new_session=True, stdout=subprocess.DEVNULL)\n"
        "print('up', flush=True); time.sleep(600)",
        tmp_path,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    assert len(processes_naming(tmp_path)) == 3  # unshare, the program and its child

    process.kill()
    process.communicate()

    eventually(lambda: not processes_naming(tmp_path), "nothing is left")


def test_a_machine_without_the_programs_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "unshare", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SandboxError, match="no program ip: install util-linux and iproute2"):
        check_sandbox()


def test_a_machine_without_namespaces_is_told_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_unshare", lambda: ["unshare", "--no-such-namespace"])

    with pytest.raises(SandboxError, match=r"^no namespaces to run pods in: .*be root") as caught:
        check_sandbox()
    assert "\n" not in str(caught.value)


def test_this_machine_can_make_one() -> None:
    check_sandbox()
