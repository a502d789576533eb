"""A folder whose files change all at once, as the kubelet keeps that of a ConfigMap or a Secret.

k8s.io/kubernetes pkg/volume/util/atomic_writer.go
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path

__all__ = ["AtomicFolder"]

_DATA = "..data"
_NEW_DATA = "..data_tmp"


class AtomicFolder:
    """Each file is a link through `..data` into a folder of the newest content; a write swaps that one link.

    Files are given by name, without subfolders.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers = itertools.count(1)
        self._content: dict[str, bytes] | None = None
        path.mkdir(parents=True, exist_ok=True)

    def write(self, content: Mapping[str, bytes], *, mode: int) -> bool:
        """Make `content` all that the folder holds; tell whether anything changed."""
        if content == self._content:
            return False
        data = self.path / _DATA
        before = data.resolve() if data.is_symlink() else None
        folder = self.path / f"..{next(self._numbers)}"
        folder.mkdir(mode=0o755)
        for name, value in content.items():
            file = folder / name
            file.write_bytes(value)
            file.chmod(mode)
        new_data = self.path / _NEW_DATA
        new_data.symlink_to(folder.name)
        new_data.rename(data)
        self._link(content)
        if before is not None:
            shutil.rmtree(before)
        self._content = dict(content)
        return True

    def _link(self, content: Mapping[str, bytes]) -> None:
        for name in content:
            link = self.path / name
            if not link.is_symlink():
                link.symlink_to(f"{_DATA}/{name}")
        for link in self.path.iterdir():
            if not link.name.startswith("..") and link.name not in content:
                link.unlink()
