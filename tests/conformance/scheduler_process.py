"""The process of kube-scheduler, whose log is read as it is written."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

from devcluster.binaries import find_assets
from devcluster.build import say_on_stderr
from devcluster.tether import tethered
from tests.conformance.model import Json
from tests.conformance.notes import Notes

__all__ = ["SchedulerProcess"]

_STOP_SECONDS = 10


class SchedulerProcess:
    """Runs from when this object is made until `stop`; ends with this process in any case."""

    def __init__(self, configuration: Json, folder: Path, notes: Notes) -> None:
        file = folder / "kube-scheduler.json"
        file.write_text(json.dumps(configuration))
        program = find_assets(["kube-scheduler"], say_on_stderr) / "kube-scheduler"
        command: list[str | Path] = [
            program,
            f"--config={file}",
            "--secure-port=0",  # nobody asks it anything
            "--v=2",
            "--vmodule=schedule_one=10",  # at 10 everywhere, it would log the body of each request
        ]
        self._process = subprocess.Popen(
            tethered(command),
            cwd=folder,
            env={"HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(
            target=self._read, args=[notes], name="log of kube-scheduler", daemon=True
        )
        self._reader.start()

    def stop(self) -> None:
        """End it, and read its log to the end."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def _read(self, notes: Notes) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as log:
            for line in log:
                notes.read(line.rstrip("\n"))
        notes.log_ended()
