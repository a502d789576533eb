from __future__ import annotations

import threading
from pathlib import Path

from devcluster.kubelet.atomic import AtomicFolder


def seen(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if not each.name.startswith("..")}


def test_files_come_and_change_and_go(tmp_path: Path) -> None:
    folder = AtomicFolder(tmp_path)

    folder.write({"a": b"1", "b": b"2"}, mode=0o644)
    first = seen(tmp_path)
    folder.write({"a": b"3"}, mode=0o644)

    assert first == {"a": b"1", "b": b"2"}
    assert seen(tmp_path) == {"a": b"3"}


def test_nothing_of_the_content_before_is_left(tmp_path: Path) -> None:
    folder = AtomicFolder(tmp_path)
    for number in range(5):
        folder.write({"a": b"%d" % number}, mode=0o644)

    assert {each.name for each in tmp_path.iterdir()} == {"a", "..data", "..5"}


def test_the_same_content_is_not_written_again(tmp_path: Path) -> None:
    folder = AtomicFolder(tmp_path)
    folder.write({"a": b"1"}, mode=0o644)
    before = (tmp_path / "..data").readlink()

    assert not folder.write({"a": b"1"}, mode=0o644)
    assert (tmp_path / "..data").readlink() == before


def test_files_have_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    AtomicFolder(tmp_path).write({"key": b"1"}, mode=0o440)

    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o440


def test_a_reader_never_finds_the_file_missing_or_half_written(tmp_path: Path) -> None:
    folder = AtomicFolder(tmp_path)
    contents = [bytes([65 + number]) * 5_000 for number in range(2)]
    folder.write({"a": contents[0]}, mode=0o644)
    stopping = threading.Event()
    bad: list[str] = []

    def read() -> None:
        while not stopping.is_set():
            try:
                found = (tmp_path / "a").read_bytes()
            except FileNotFoundError:
                # Between the swap of the link and the removal of what it named before: readers try again.
                continue
            if found not in contents:
                bad.append(f"{len(found)} bytes")

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(300):
        folder.write({"a": contents[number % 2]}, mode=0o644)
    stopping.set()
    reader.join()

    assert bad == []
