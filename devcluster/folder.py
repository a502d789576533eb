"""The temporary folder of one running cluster, and the removal of those whose owner was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["PREFIX", "OwnedFolder", "sweep"]

PREFIX = "devcluster-"


class OwnedFolder:
    """A new folder in `parent`, mode 0700, that this process holds a lock on: while it does, the folder is in use.

    The lock is the kernel's, so it ends with the process however that ends, and `sweep` sees it.
    """

    def __init__(self, parent: Path) -> None:
        lock = None
        while lock is None:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            lock = _lock_new(self.path)
        self._lock = lock

    def remove(self) -> None:
        """Delete the folder with all it holds, and give up the lock."""
        for _ in range(3):  # a kubectl that still runs may write to its cache there
            shutil.rmtree(self.path, ignore_errors=True)
            if not self.path.exists():
                break
        os.close(self._lock)


def sweep(parent: Path) -> list[Path]:
    """Delete the folders in `parent` that no living process owns; return their paths."""
    removed = []
    for path in parent.glob(f"{PREFIX}*"):
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # another user's, gone already, or not a folder
        try:
            if os.fstat(folder).st_uid == os.getuid() and _lock_now(folder):
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
        finally:
            os.close(folder)
    return removed


def _lock_new(path: Path) -> int | None:
    """Return a lock on a folder just made, or None if a sweep found it before it was locked, and removed it."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    fcntl.flock(folder, fcntl.LOCK_EX)
    if _is_at(folder, path):
        return folder
    os.close(folder)
    return None


def _lock_now(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(folder: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(folder), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False
