"""A folder for the files of one run of the program, whose leftovers the next run removes."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["remove_leftovers", "run_folder"]


@contextmanager
def run_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder in the temporary one, and remove it with its files; it must have no folders inside.

    It is locked for as long as this process, or one forked from it, lives: so a run that was killed leaves behind
    what `remove_leftovers` knows for dead.
    """
    folder, descriptor = _locked_folder(prefix)
    owner = os.getpid()
    try:
        yield folder
    finally:
        if os.getpid() == owner:
            _remove(folder, descriptor)
        os.close(descriptor)


def remove_leftovers(prefix: str) -> None:
    """Remove our user's folders of this prefix whose runs have ended; leave alone what isn't clearly one."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # it is locked, a link, not ours to open, or gone by now
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                found = os.fstat(descriptor)
                if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(path, descriptor)
            finally:
                os.close(descriptor)


def _locked_folder(prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue  # another run took it for a leftover, before we could lock it
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():
            return folder, descriptor
        os.close(descriptor)


def _remove(folder: Path, descriptor: int) -> None:
    """Remove what is in the folder that is open, by name only inside of it, and then the folder."""
    with suppress(OSError):
        for name in os.listdir(descriptor):
            os.unlink(name, dir_fd=descriptor)
        folder.rmdir()
