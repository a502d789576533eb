from __future__ import annotations

import os
from pathlib import Path

import pytest

from devcluster.processes import Process, end_all, last_relevant_line
from tests.devcluster.traces import processes_naming, start_python, write_program
from tests.waiting import eventually


def run(folder: Path, script: str, *, name: str = "component") -> Process:
    write_program(folder / name, script)
    return Process([str(folder / name)], cwd=folder, env={"PATH": os.defpath}, log=folder / f"{name}.log")


def test_a_process_dies_with_the_one_that_started_it(tmp_path: Path) -> None:
    write_program(tmp_path / "component", "exec sleep 600")
    parent = start_python(
        "from pathlib import Path; from devcluster.processes import Process; import os\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "environment = {'HOME': str(folder), 'PATH': os.defpath}\n"
        "Process([str(folder / 'component')], cwd=folder, env=environment, log=folder / 'log')\n"
        "print('started', flush=True); input()",
        tmp_path,
    )
    try:
        # What has just been forked has its parent's environment until it is the program.
        eventually(lambda: len(processes_naming(tmp_path)) == 2, seconds=10, what="the component runs")
    finally:
        parent.kill()
        parent.communicate()

    eventually(lambda: not processes_naming(tmp_path), seconds=10, what="the component is gone")


def test_ending_gives_each_process_the_time_to_end_well(tmp_path: Path) -> None:
    process = run(tmp_path, "trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.05; done")
    eventually(process.log.read_text, seconds=10, what="the trap is set")

    end_all([process], grace=10)

    assert process.log.read_text() == "ready\nbye\n"


def test_ending_kills_what_does_not_listen(tmp_path: Path) -> None:
    process = run(tmp_path, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    eventually(process.log.read_text, seconds=10, what="the signal is ignored")

    end_all([process], grace=0.1)

    assert process.describe_end() == "component was killed by SIGKILL"


def test_the_end_of_a_process_is_told_with_its_last_error(tmp_path: Path) -> None:
    process = run(tmp_path, "echo 'Error: unknown flag: --nonsense'; echo 'see --help'; exit 7")

    assert process.ended(timeout=10)

    process.reap()
    assert process.describe_end() == "component ended with 7: Error: unknown flag: --nonsense"


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ('E1130 21:10:40.343955   21355 run.go:72] "command failed" err="no such file"\n', '"command failed" err="no such file"'),
        ('{"level":"warn","msg":"careful"}\n{"level":"fatal","msg":"listen failed","error":"in use"}\n', "listen failed: in use"),
        ("panic: nil map\n\ngoroutine 1 [running]:\n", "panic: nil map"),
        ("I1130 21:10:40.343955   21355 a.go:1] fine\nlast words\n", "last words"),
        ("{not json\n", "{not json"),
        ("", "it wrote no log"),
    ],
)  # fmt: skip
def test_the_relevant_line_of_a_log_is_its_last_error(log: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(log)

    assert last_relevant_line(path) == line


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("Error: long ago\n" + "I fine\n" * 20_000)

    assert last_relevant_line(path) == "I fine"
