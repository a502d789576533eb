from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from devcluster.binaries import ASSETS_VARIABLES, find_assets, find_kubectl
from devcluster.errors import BuildError
from devcluster.version import read_versions
from tests.devcluster.traces import write_program


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ASSETS_VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("variable", ASSETS_VARIABLES)
def test_a_variable_names_the_folder_of_ready_programs(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "etcd", "")
    monkeypatch.setenv(variable, str(tmp_path))

    assert find_assets(["etcd"], pytest.fail) == tmp_path


def test_our_own_variable_counts_before_envtests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", "/nowhere")
    monkeypatch.setenv("DEVCLUSTER_ASSETS", str(tmp_path))

    assert find_assets([], pytest.fail) == tmp_path


def test_a_missing_program_is_named_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(tmp_path / "etcd", "")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    with pytest.raises(BuildError, match=rf"KUBEBUILDER_ASSETS={tmp_path} has no program kube-scheduler: "):
        find_assets(["etcd", "kube-scheduler"], pytest.fail)


def test_kubectl_is_the_one_of_the_package() -> None:
    result = subprocess.run(
        [find_kubectl(), "version", "--client"], capture_output=True, text=True, check=True
    )

    assert f"Client Version: v{'.'.join(read_versions().kubernetes_minor)}." in result.stdout


def test_a_kubectl_among_the_ready_programs_is_preferred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "kubectl", "")
    monkeypatch.setenv("DEVCLUSTER_ASSETS", str(tmp_path))

    assert find_kubectl() == tmp_path / "kubectl"
