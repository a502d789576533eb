"""What gets installed is what works here: the wheel, seen from another folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # A build writes beside its sources, so it gets a copy: the same files that the image is built from.
    sources = tmp_path_factory.mktemp("sources")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    for package in ("webhook", "certs"):
        shutil.copytree(ROOT / package, sources / package, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sources],
        check=True,
        timeout=110,
    )
    (made,) = folder.glob("custom_scheduler-*.whl")
    return made


def test_the_wheel_holds_the_two_packages_their_types_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert {name.split("/")[0].split("-")[0] for name in names} == {"webhook", "certs", "custom_scheduler"}
    assert {"webhook/py.typed", "certs/py.typed"} <= set(names)
    assert not [name for name in names if name.endswith((".pem", ".key", ".crt"))]


def test_the_wheel_runs_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(target)
    policy = tmp_path / "policy.yaml"
    policy.write_text((ROOT / "manifests/base/policy.yaml").read_text())

    # -P keeps the current folder, and so the checkout, off the path; the editable install comes after PYTHONPATH.
    answer = subprocess.run(
        [sys.executable, "-P", "-m", "webhook", "policy", "validate", policy],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"},
        check=True,
    )

    assert "PlacementPolicy default is valid" in answer.stdout
