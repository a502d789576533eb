from __future__ import annotations

import os
import subprocess
import sys

from bench.processes import cpu_seconds, pss_mib
from tests.waiting import eventually

# A process whose child works for half a second, and then waits.
_PARENT = """
import os, sys, time
if os.fork() == 0:
    {body}
    time.sleep(600)
os.wait()
"""


def family(body: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", _PARENT.format(body=body)], process_group=0)


def end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, 9)
    process.wait()


def test_processor_time_counts_that_of_children() -> None:
    process = family("while time.process_time() < 0.5: pass")
    try:
        eventually(lambda: cpu_seconds(process.pid) >= 0.4, "half a second of work")
    finally:
        end(process)


def test_processor_time_counts_that_of_children_that_have_ended() -> None:
    before = cpu_seconds(os.getpid())
    work = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-I", "-S", "-c", work], check=True)

    assert cpu_seconds(os.getpid()) - before >= 0.2


def test_memory_counts_that_of_children() -> None:
    process = family("filled = bytearray([1]) * (64 << 20)")
    try:
        eventually(lambda: pss_mib(process.pid) >= 64, "64 MiB")
    finally:
        end(process)
