from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# The main thread takes no signals, as when the kernel gives them to another: one that a library in C has started.
PROGRAM = """
import signal
import threading
from contextlib import closing
from webhook.commands.stopping import StopSignals

threading.Thread(target=threading.Event().wait, daemon=True).start()
with closing(StopSignals()) as signals:
    if {elsewhere}:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
    print("ready", flush=True)
    signals.wait()
    print("told", flush=True)
    if {hangs}:
        threading.Event().wait()
"""


@contextmanager
def program(*, elsewhere: bool = False, hangs: bool = False) -> Iterator[subprocess.Popen[str]]:
    text = PROGRAM.format(elsewhere=elsewhere, hangs=hangs)
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["main thread", "another thread"])
def test_a_signal_is_told_whichever_thread_gets_it(number: signal.Signals, elsewhere: bool) -> None:
    with program(elsewhere=elsewhere) as process:
        process.send_signal(number)

        assert process.wait(20) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_second_signal_ends_what_hangs(number: signal.Signals, code: int) -> None:
    with program(hangs=True) as process:
        assert process.stdout is not None
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "told\n"
        process.send_signal(number)

        assert process.wait(20) == code
