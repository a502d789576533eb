from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import certs

FOLDER = Path(certs.__file__).parent
CODE = {".py", ".pyc"}


def not_code(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in CODE and path.name != "py.typed"
    )


def test_the_package_holds_code_alone() -> None:
    assert not_code(FOLDER) == []


def test_a_key_in_the_package_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "tls").write_text("-----BEGIN PRIVATE KEY-----")

    assert not_code(tmp_path) == ["nested/tls"]


def test_no_module_holds_a_key() -> None:
    assert not [path.name for path in FOLDER.glob("*.py") if "-----BEGIN" in path.read_text()]


@pytest.mark.parametrize("name", ["tls.key", "tls.crt", "ca.pem", "request.csr", "bundle.p12"])
def test_git_refuses_keys_and_certificates(name: str) -> None:
    if not (FOLDER.parent / ".git").exists():
        pytest.skip("not a checkout")

    ignored = subprocess.run(["git", "check-ignore", "-q", f"certs/{name}"], cwd=FOLDER.parent, check=False)

    assert ignored.returncode == 0
