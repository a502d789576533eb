from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from devcluster.tether import tethered
from tests.devcluster.traces import processes_naming, start_python
from tests.waiting import eventually


def test_the_program_runs_as_if_it_was_started_alone() -> None:
    program = "import os, sys; print(sys.argv[1:], os.environ['COLOR'], os.getcwd()); sys.exit(7)"

    result = subprocess.run(
        tethered([sys.executable, "-c", program, "one", "two words"]),
        env={"COLOR": "blue"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stdout) == (7, "['one', 'two words'] blue /\n")


def test_the_program_is_in_the_process_that_was_started() -> None:
    with subprocess.Popen(tethered(["sh", "-c", "echo $$"]), stdout=subprocess.PIPE, text=True) as process:
        said, _ = process.communicate(timeout=10)

    assert int(said) == process.pid


def test_no_signal_is_ignored_that_a_program_expects() -> None:
    with subprocess.Popen(
        tethered(["sh", "-c", "while echo more; do :; done"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()

        assert process.wait(timeout=10) == -signal.SIGPIPE


def test_the_program_ends_by_the_signal_asked_for_when_the_starter_is_killed(tmp_path: Path) -> None:
    trap = f"trap 'echo interrupted > {tmp_path}/said; exit' INT; echo ready; while :; do sleep 0.05; done"
    starter = start_python(
        "import signal, subprocess; from devcluster.tether import tethered\n"
        f"subprocess.run(tethered(['sh', '-c', {trap!r}], signum=signal.SIGINT))",
        tmp_path,
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == "ready\n"

    starter.kill()

    starter.communicate()
    eventually(lambda: not processes_naming(tmp_path), seconds=10, what="the program is gone")
    assert (tmp_path / "said").read_text() == "interrupted\n"


def test_the_program_is_not_started_for_someone_who_has_ended_already(tmp_path: Path) -> None:
    command = tethered(["touch", str(tmp_path / "started")])
    ended = str(2**22 - 1)  # no pid is that high
    position = command.index(str(os.getpid()))

    result = subprocess.run(
        [*command[:position], ended, *command[position + 1 :]], capture_output=True, text=True, check=False
    )

    assert result.returncode == 1
    assert "touch is not started" in result.stderr
    assert not (tmp_path / "started").exists()
