from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from devcluster.__main__ import main
from devcluster.binaries import find_kubectl
from devcluster.build import assets_folder
from tests.devcluster.traces import CHECKOUT, processes_naming, write_program


@pytest.mark.parametrize("command", ["up", "build"])
def test_help_shows_an_example(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])

    assert result.exit_code == 0
    assert f"python -m devcluster {command}" in result.output


def test_a_build_that_is_there_is_printed_for_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assets_folder().mkdir(parents=True)

    result = CliRunner().invoke(main, ["build"])

    assert result.stdout == f"{assets_folder()}\n"


def test_a_failed_start_is_one_line_and_exit_code_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("etcd", "kube-apiserver"):
        write_program(tmp_path / name, "echo 'Error: no luck'; exit 1")
    monkeypatch.setenv("DEVCLUSTER_ASSETS", str(tmp_path))

    result = CliRunner().invoke(main, ["up", "--no-scheduler", "--no-controller-manager"])

    assert result.exit_code == 2
    assert re.fullmatch(r"devcluster: (etcd|kube-apiserver) ended with 1: Error: no luck\n", result.stderr)
    assert result.stdout == ""


def test_missing_programs_are_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVCLUSTER_ASSETS", str(tmp_path))

    result = CliRunner().invoke(main, ["up"])

    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"devcluster: DEVCLUSTER_ASSETS={tmp_path} has no program etcd, kube-apiserver"
    )


@pytest.mark.e2e
def test_up_prints_the_kubeconfig_line_and_runs_until_ctrl_c(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "devcluster", "up", "--nodes", "2"],
        cwd=CHECKOUT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as up:
        assert up.stdout is not None
        line = up.stdout.readline()
        assert line.startswith("export KUBECONFIG=")
        nodes = subprocess.run(
            ["sh", "-c", f'{line}"$KUBECTL" get nodes -o name'],
            env={"HOME": str(tmp_path), "KUBECTL": str(find_kubectl())},
            capture_output=True,
            text=True,
            check=True,
        )

        os.killpg(up.pid, signal.SIGINT)

        _, errors = up.communicate(timeout=20)

    assert nodes.stdout == "node/node-1\nnode/node-2\n"
    assert up.returncode == 0
    assert errors.splitlines()[-1] == "Stopped; nothing is left of it"
    assert processes_naming(tmp_path) == {}
    assert not list(tmp_path.glob("devcluster-*"))
