from __future__ import annotations

from pathlib import Path

import pytest

from devcluster.toolchain import find_go, go_environment, parse_go_version
from tests.devcluster.traces import write_program


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go1.26.8\n", (1, 26, 8)),
        ("1.26.0", (1, 26, 0)),
        ("1.26", (1, 26, 0)),
        ("go1.27rc1", (1, 27, 0)),
        ("devel +abcdef", (0, 0, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_versions_of_go_are_read_as_numbers(text: str, version: tuple[int, int, int]) -> None:
    assert parse_go_version(text) == version


def test_the_machines_go_is_taken_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "go", "echo go1.26.8")
    monkeypatch.setenv("PATH", str(tmp_path))

    go = find_go(tmp_path / "cache", "1.26.0", pytest.fail)

    assert go == tmp_path / "go"


def test_an_installed_go_is_taken_where_the_machines_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "go", "echo go1.25.9")
    monkeypatch.setenv("PATH", str(tmp_path))
    installed = tmp_path / "cache" / "go-1.26.0" / "go" / "bin" / "go"
    installed.parent.mkdir(parents=True)
    installed.touch()

    go = find_go(tmp_path / "cache", "1.26.0", pytest.fail)

    assert go == installed


def test_go_is_told_to_use_neither_another_toolchain_nor_another_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOROOT", "/elsewhere")
    monkeypatch.setenv("GOWORK", "/elsewhere/go.work")
    monkeypatch.setenv("GOPROXY", "https://mirror.example")

    environment = go_environment()

    assert "GOROOT" not in environment
    assert environment["GOWORK"] == "off"
    assert environment["GOTOOLCHAIN"] == "local"
    assert environment["GOPROXY"] == "https://mirror.example"
