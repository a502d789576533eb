from __future__ import annotations

import threading
from os import mkfifo
from pathlib import Path

import pytest

from devcluster.build import COMPONENTS, assets_folder, cache_key, ensure_built
from devcluster.errors import BuildError
from devcluster.version import read_versions
from tests.devcluster.traces import write_program
from tests.waiting import eventually

# Takes the place of `go`: notes each call, says what go says, and makes the file named after -o.
_GO = """
[ "$1" = env ] && echo go9.9.9 && exit
echo "$@" >> {calls}
echo "go: downloading k8s.io/kubernetes" >&2
[ -n "{block}" ] && read line < "{block}"
while [ "$1" != -o ]; do shift; done
echo "program" > "$2"
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache and a stand-in for `go`; the file gets a line for each build."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    calls = tmp_path / "calls"
    write_program(tmp_path / "go", _GO.format(calls=calls, block=""))
    return calls


def test_a_build_answers_to_the_name_of_each_component(calls: Path) -> None:
    said: list[str] = []

    folder = ensure_built(said.append)

    assert folder == assets_folder()
    assert {name: (folder / name).read_text() for name in COMPONENTS} == dict.fromkeys(
        COMPONENTS, "program\n"
    )
    assert "about" in said[0]
    assert "minutes on" in said[0]


def test_a_build_is_stamped_with_the_version_of_kubernetes(calls: Path) -> None:
    ensure_built(lambda line: None)

    command = calls.read_text()
    versions = read_versions()
    assert f"-X k8s.io/component-base/version.gitVersion={versions.kubernetes} " in command
    assert f"-X k8s.io/component-base/version.gitMinor={versions.kubernetes_minor[1]} " in command
    assert "-trimpath" in command


def test_a_cache_that_can_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    with pytest.raises(BuildError, match=f"can't build into {tmp_path}/file.*XDG_CACHE_HOME"):
        ensure_built(lambda line: None)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(_cls: type[Path]) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", classmethod(homeless))

    with pytest.raises(BuildError, match="set HOME or XDG_CACHE_HOME"):
        ensure_built(lambda line: None)


def test_a_second_start_builds_nothing(calls: Path) -> None:
    first = ensure_built(lambda line: None)

    second = ensure_built(pytest.fail)

    assert first == second
    assert len(calls.read_text().splitlines()) == 1


def test_a_failed_build_says_why_in_one_line_and_leaves_nothing_that_looks_built(
    calls: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "go", '[ "$1" = env ] && echo go9.9.9 && exit\necho "no space left" >&2; exit 3')

    with pytest.raises(BuildError, match=r"^go build in \S+ failed with 3: no space left$"):
        ensure_built(lambda line: None)

    assert not assets_folder().exists()


def test_two_builders_build_once_and_the_second_says_that_it_waits(calls: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    mkfifo(gate)
    write_program(tmp_path / "go", _GO.format(calls=calls, block=gate))
    said: list[str] = []
    first = threading.Thread(target=ensure_built, args=[lambda line: None])
    second = threading.Thread(target=ensure_built, args=[said.append])

    first.start()
    eventually(calls.exists, seconds=10, what="the first build starts")
    second.start()
    eventually(lambda: said, seconds=10, what="the second one says something")
    gate.write_text("go on\n")
    first.join(10)
    second.join(10)

    assert said == ["Another process is building the control plane; waiting for it"]
    assert len(calls.read_text().splitlines()) == 1


def test_the_cache_key_changes_with_each_source_and_flag() -> None:
    keys = {
        cache_key([b"go.mod", b"go.sum"], ["-trimpath"]),
        cache_key([b"go.mod", b"go.sum2"], ["-trimpath"]),
        cache_key([b"go.modgo", b".sum"], ["-trimpath"]),
        cache_key([b"go.mod", b"go.sum"], ["-race"]),
    }

    assert len(keys) == 4


def test_the_cache_key_is_the_same_for_the_same_sources() -> None:
    assert cache_key([b"go.mod"], ["-trimpath"]) == cache_key([b"go.mod"], ["-trimpath"])
