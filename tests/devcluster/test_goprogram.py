from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from devcluster.errors import BuildError
from devcluster.goprogram import ensure_program
from tests.devcluster.traces import write_program

# Takes the place of `go`: notes each build, and makes the file named after -o.
_GO = """
[ "$1" = env ] && echo go9.9.9 && exit
echo "$@" >> {calls}
[ -n "{fault}" ] && echo "{fault}" >&2 && exit 1
while [ "$1" != -o ]; do shift; done
echo "echo built" > "$2"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Go module, on a machine with an empty cache and a stand-in for `go`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    _stand_in(tmp_path)
    module = tmp_path / "greeter"
    module.mkdir()
    (module / "go.mod").write_text("module greeter\n\ngo 1.26.0\n")
    (module / "main.go").write_text("package main\n")
    return module


def _stand_in(folder: Path, fault: str = "") -> None:
    write_program(folder / "go", _GO.format(calls=folder / "calls", fault=fault))


def test_a_program_is_built_once_and_named_after_its_module(module: Path, tmp_path: Path) -> None:
    program = ensure_program(module, packages=1, say=lambda line: None)

    assert ensure_program(module, packages=1, say=pytest.fail) == program
    assert program.name.startswith("greeter-")
    assert subprocess.run(["sh", program], capture_output=True, check=True).stdout == b"built\n"
    assert "-mod=readonly" in (tmp_path / "calls").read_text()


@pytest.mark.parametrize("source", ["main.go", "other.go", "go.mod", "go.sum"])
def test_a_program_is_built_anew_when_a_source_changes(module: Path, source: str) -> None:
    before = ensure_program(module, packages=1, say=lambda line: None)

    with (module / source).open("a") as file:
        file.write("// changed\n")

    assert ensure_program(module, packages=1, say=lambda line: None) != before


def test_a_build_that_fails_says_why_and_leaves_nothing(module: Path, tmp_path: Path) -> None:
    _stand_in(tmp_path, fault="missing go.sum entry")

    with pytest.raises(BuildError, match=r"missing go\.sum entry"):
        ensure_program(module, packages=1, say=lambda line: None)

    assert list((tmp_path / "cache" / "custom-scheduler-devcluster").iterdir()) == []
