from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from webhook.errors import ConfigurationError
from webhook.inspect.snapshot import SnapshotWriter, read_snapshot


def page(kind: str, *names: str) -> bytes:
    items: list[dict[str, Any]] = [
        {"metadata": {"name": name, "managedFields": [{"manager": "kubelet"}]}, "spec": {"unknown": 1.50}}
        for name in names
    ]
    return json.dumps({"kind": kind, "metadata": {"continue": "next"}, "items": items}).encode()


def test_lists_come_back_in_their_order_less_their_managed_fields(tmp_path: Path) -> None:
    file = tmp_path / "snapshot.json"

    with SnapshotWriter(file) as writer:
        writer.add(page("NodeList", "a"))
        writer.add(page("NodeList", "b"))
        writer.add(page("PodList"))

    lists = [(kind, json.loads(bytes(raw))) for kind, raw in read_snapshot(file)]
    assert [kind for kind, _ in lists] == ["NodeList", "NodeList", "PodList"]
    assert lists[0][1]["items"] == [{"metadata": {"name": "a"}, "spec": {"unknown": 1.5}}]


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "snapshot.json"
    file.write_text("older")
    file.chmod(0o644)

    with SnapshotWriter(file):
        pass

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(read_snapshot(file)) == []


def test_a_reading_that_fails_leaves_the_older_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "snapshot.json"
    file.write_text("older")

    with pytest.raises(msgspec.DecodeError), SnapshotWriter(file) as writer:
        writer.add(b"no list")

    assert file.read_text() == "older"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path, is_there: bool) -> None:
    target = tmp_path / "elsewhere" / "target.json"
    target.parent.mkdir()
    if is_there:
        target.write_text("older")
    link = tmp_path / "link.json"
    link.symlink_to(target)

    with SnapshotWriter(link):
        pass

    assert link.is_symlink()
    assert list(read_snapshot(target)) == []
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(target.parent.iterdir()) == [target]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to_a_pipe(path: Path) -> None:
    pipe(path.with_name("pipe"))
    path.symlink_to("pipe")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("make", [pipe, link_to_a_pipe, link_to_itself, Path.mkdir])
def test_what_is_no_regular_file_is_refused_and_stays(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "there"
    make(path)
    before = {each: each.lstat().st_ino for each in tmp_path.iterdir()}

    with pytest.raises(ConfigurationError, match="there: is no regular file"), SnapshotWriter(path):
        pass

    assert {each: each.lstat().st_ino for each in tmp_path.iterdir()} == before


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gone/s\.json: can't be written \(No such file"):
        SnapshotWriter(tmp_path / "gone" / "s.json").__enter__()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"items": [3]}', '{"items": [{"kind": 1}]}', '{"items": ' + "[" * 100_000]
)
def test_what_is_no_snapshot_is_told(tmp_path: Path, content: str) -> None:
    file = tmp_path / "s.json"
    file.write_text(content)

    with pytest.raises(ConfigurationError, match=r"s\.json: is no snapshot"):
        list(read_snapshot(file))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"can't be read \(No such file"):
        list(read_snapshot(tmp_path / "s.json"))
