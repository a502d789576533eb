"""A file with the lists that a cluster gave, to decide on again anywhere and at any time.

One JSON object: `{"apiVersion": "v1", "kind": "List", "items": [NodeList, PodList, …]}`; a long list stands there in
several parts, as the API server gave it. Only metadata.managedFields is left out.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from webhook.errors import ConfigurationError

__all__ = ["SnapshotWriter", "read_snapshot"]

_HEAD = b'{"apiVersion":"v1","kind":"List","items":['
_TAIL = b"\n]}\n"


class SnapshotWriter:
    """Writes the file within a `with` block; it is there only once the block has ended well.

    Pods can hold secrets, so nobody but its owner may read it (0600). A link stays, and what it leads to is written.
    Raises ConfigurationError where the system refuses, and for what is there and is no regular file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._target = Path(os.path.realpath(path))
        self._lists = 0

    def __enter__(self) -> Self:
        try:
            if os.path.lexists(self._target) and not self._target.is_file():
                # It would be replaced, which for a device, a pipe or a socket is never meant.
                raise ConfigurationError(f"{self._path}: is no regular file; name one, or a new one")
            descriptor, name = tempfile.mkstemp(prefix=f".{self._target.name}.", dir=self._target.parent)
        except OSError as error:
            raise self._refused(error) from error
        self._file, self._unfinished = os.fdopen(descriptor, "wb"), Path(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._write(_TAIL if self._lists else _HEAD + _TAIL)
                self._finish()
        finally:
            self._file.close()
            self._unfinished.unlink(missing_ok=True)

    def add(self, page: bytes) -> None:
        """Write one list, or a part of one."""
        whole: dict[str, Any] = msgspec.json.decode(page)
        for item in whole.get("items") or ():
            item.get("metadata", {}).pop("managedFields", None)
        self._write(b",\n" if self._lists else _HEAD + b"\n")
        self._write(msgspec.json.encode(whole))
        self._lists += 1

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise self._refused(error) from error

    def _finish(self) -> None:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._unfinished.replace(self._target)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"{self._path}: can't be written ({error.strerror or error}); "
            "name a file in a folder that exists and has room"
        )


class _List(msgspec.Struct, frozen=True):
    kind: str = ""
    items: msgspec.Raw = msgspec.Raw(b"[]")


class _Snapshot(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw]


def read_snapshot(path: Path) -> Iterator[tuple[str, msgspec.Raw]]:
    """Yield kind (`NodeList`) and the JSON of each list in the file; raises ConfigurationError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{path}: can't be read ({error.strerror or error}); give a file that --save-snapshot wrote"
        ) from error
    try:
        for each in msgspec.json.decode(content, type=_Snapshot).items:
            yield msgspec.json.decode(each, type=_List).kind, each
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigurationError(
            f"{path}: is no snapshot ({error}); give a file that --save-snapshot wrote"
        ) from error
