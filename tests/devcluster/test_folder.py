from __future__ import annotations

import stat
from pathlib import Path

from devcluster.folder import PREFIX, OwnedFolder, sweep
from tests.devcluster.traces import start_python


def test_only_its_owner_can_enter_the_folder(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path)

    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700

    folder.remove()


def test_removing_the_folder_removes_all_it_holds(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path)
    (folder.path / "etcd" / "wal").mkdir(parents=True)
    (folder.path / "etcd" / "wal" / "0.wal").write_bytes(b"data")

    folder.remove()

    assert list(tmp_path.iterdir()) == []


def test_a_sweep_leaves_a_folder_alone_that_is_in_use(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path)

    removed = sweep(tmp_path)

    assert removed == []
    assert folder.path.exists()
    folder.remove()


def test_a_sweep_removes_the_folder_of_an_owner_that_was_killed(tmp_path: Path) -> None:
    owner = start_python(
        "from pathlib import Path; from devcluster.folder import OwnedFolder;"
        f"folder = OwnedFolder(Path({str(tmp_path)!r})); print(folder.path, flush=True); input()",
        tmp_path,
    )
    assert owner.stdout is not None
    path = Path(owner.stdout.readline().strip())
    assert sweep(tmp_path) == []
    owner.kill()
    owner.communicate()

    removed = sweep(tmp_path)

    assert removed == [path]
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_follows_no_link_and_touches_no_other_name(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    (tmp_path / f"{PREFIX}file").touch()

    removed = sweep(tmp_path)

    assert removed == []
    assert (elsewhere / "precious").exists()


def test_folders_made_and_swept_at_the_same_time_are_never_taken_from_their_owner(tmp_path: Path) -> None:
    sweeper = start_python(
        "from pathlib import Path; from devcluster.folder import sweep\n"
        f"while True: sweep(Path({str(tmp_path)!r}))",
        tmp_path,
    )
    try:
        for _ in range(300):
            folder = OwnedFolder(tmp_path)
            assert folder.path.is_dir()
            (folder.path / "file").touch()
            folder.remove()
    finally:
        sweeper.kill()
        sweeper.communicate()
