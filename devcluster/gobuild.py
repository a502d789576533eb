"""`go build` as a child that can't outlive us, with its progress told."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from devcluster.errors import BuildError
from devcluster.tether import tethered
from devcluster.toolchain import go_environment

__all__ = ["build_module", "clock"]

_REPORT_SECONDS = 30.0


def build_module(
    module: Path,
    output: Path,
    *,
    go: Path,
    flags: Sequence[str],
    scratch: Path,
    packages: int,
    say: Callable[[str], None],
) -> None:
    """Build the program in the folder `module` into the file `output`.

    `scratch` is a folder for Go's temporary files. `packages` is about how many there are to compile where
    nothing is cached; `say` gets a line with the progress every half minute. Raises `BuildError`.
    """
    # SIGINT and not SIGKILL: go then ends its compilers and removes its scratch files.
    command = [str(go), "build", "-v", *flags, "-o", str(output), "."]
    with subprocess.Popen(
        tethered(command, signum=signal.SIGINT),
        cwd=module,
        env={**go_environment(), "GOTMPDIR": str(scratch)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            last_line = _follow(process, packages, say)
        except BaseException:
            process.send_signal(signal.SIGINT)
            raise
    if process.returncode:
        raise BuildError(f"go build in {module} failed with {process.returncode}: {last_line}")


def clock(seconds: float) -> str:
    """Return a duration as people read it: 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _follow(process: subprocess.Popen[bytes], packages: int, say: Callable[[str], None]) -> str:
    """Report what `go build -v` does until it ends; return its last line, which names the fault if there is one."""
    assert process.stderr is not None
    started = reported = time.monotonic()
    downloaded = compiled = 0
    pending, last_line = b"", ""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stderr, selectors.EVENT_READ)
        while True:
            if selector.select(timeout=1):
                chunk = os.read(process.stderr.fileno(), 65_536)
                if not chunk:
                    return last_line
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    last_line = line.decode(errors="replace")
                    downloaded += line.startswith(b"go: downloading ")
                    compiled += not line.startswith(b"go: ")
            if time.monotonic() - reported >= _REPORT_SECONDS:
                reported = time.monotonic()
                elapsed = clock(reported - started)
                say(
                    f"  {elapsed}: {downloaded} modules downloaded, "
                    f"{compiled} packages compiled of about {packages:,}"
                )
