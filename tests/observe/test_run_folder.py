from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from webhook.observe.run_folder import remove_leftovers, run_folder

PREFIX = "custom-scheduler-metrics-"

# A run with a worker: both end when their standard input does.
RUN = """
import os, sys
from webhook.observe.run_folder import run_folder

with run_folder(sys.argv[1]) as folder:
    (folder / "counter.db").write_text("1")
    child = os.fork()
    if child == 0:
        sys.stdin.read()
        os._exit(0)
    print(folder, child, flush=True)
    sys.stdin.read()
    os.waitpid(child, 0)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def other_run(temporary: Path) -> Iterator[tuple[subprocess.Popen[str], Path, int]]:
    """Start another run; yield its process, its folder and its worker's process id."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN, PREFIX],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        assert process.stdout is not None
        folder, worker = process.stdout.readline().split()
        yield process, Path(folder), int(worker)


def leftover(temporary: Path, name: str = f"{PREFIX}left") -> Path:
    folder = temporary / name
    folder.mkdir(mode=0o700)
    (folder / "counter.db").write_text("1")
    return folder


def test_a_folder_is_gone_after_its_run(temporary: Path) -> None:
    with run_folder(PREFIX) as folder:
        (folder / "counter.db").write_text("1")

    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_run_that_was_killed_goes_once_its_workers_have_ended(temporary: Path) -> None:
    with other_run(temporary) as (process, folder, worker):
        process.kill()
        process.wait()
        remove_leftovers(PREFIX)
        kept = folder.exists()
        os.kill(worker, signal.SIGKILL)
        assert process.stdout is not None
        process.stdout.read()  # ends with the worker
        remove_leftovers(PREFIX)

    assert kept
    assert not folder.exists()


def test_the_folder_of_a_run_that_lives_stays(temporary: Path) -> None:
    with other_run(temporary) as (process, folder, _):
        remove_leftovers(PREFIX)

        assert (folder / "counter.db").exists()

        process.communicate("")
    assert process.returncode == 0
    assert not folder.exists()


def test_other_folders_stay(temporary: Path) -> None:
    other = leftover(temporary, "custom-scheduler-other")

    remove_leftovers(PREFIX)

    assert (other / "counter.db").exists()


def test_links_are_not_followed(temporary: Path) -> None:
    elsewhere = leftover(temporary, "elsewhere")
    (temporary / f"{PREFIX}link").symlink_to(elsewhere)
    left = leftover(temporary)
    (left / "inside").symlink_to(elsewhere)

    remove_leftovers(PREFIX)

    assert (elsewhere / "counter.db").exists()
    assert (temporary / f"{PREFIX}link").is_symlink()
    assert not left.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_another_users_folder_stays(temporary: Path) -> None:
    left = leftover(temporary)
    os.chown(left, 12345, -1)

    remove_leftovers(PREFIX)

    assert (left / "counter.db").exists()


def test_what_has_folders_inside_is_none_of_ours(temporary: Path) -> None:
    left = leftover(temporary)
    (left / "deep").mkdir()
    (left / "deep" / "file").write_text("1")

    remove_leftovers(PREFIX)

    assert (left / "deep" / "file").exists()


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdtemp = tempfile.mkdtemp

    def swept_at_first(prefix: str) -> str:
        monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
        made = mkdtemp(prefix=prefix)
        remove_leftovers(PREFIX)
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", swept_at_first)
    with run_folder(PREFIX) as folder:
        assert folder.is_dir()
