"""What a devcluster could leave behind: processes and files that name its temporary folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def processes_naming(path: Path) -> dict[int, str]:
    """Return pid and command of each process whose environment names `path`.

    The supervisor gets it as TMPDIR, the components as part of HOME.
    """
    found = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            if os.fsencode(path) in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue  # ended, or another user's
    return found


def start_python(
    code: str, temporary: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a Python process, in a process group of its own, that runs `code` with `temporary` as its TMPDIR."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "TMPDIR": str(temporary), **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def write_program(path: Path, script: str) -> None:
    """Make an executable shell script."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
