from __future__ import annotations

import subprocess

import pytest

from bench.webhooks import PEERS_FOLDER
from devcluster.build import cache_folder, say_on_stderr
from devcluster.toolchain import find_go, go_environment
from devcluster.version import read_versions


@pytest.mark.e2e
def test_the_load_clients_own_tests_pass() -> None:
    go = find_go(cache_folder(), read_versions().go, say_on_stderr)

    result = subprocess.run(
        [go, "test", "-trimpath", "./..."],
        cwd=PEERS_FOLDER / "load",
        env=go_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stdout + result.stderr
