from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

from devcluster.binaries import find_kubectl
from devcluster.kubeconfig import certificate_user, token_user, write_kubeconfig
from devcluster.pki import KeyPair


def test_kubectl_reads_it_and_finds_server_authority_and_user(tmp_path: Path) -> None:
    pair = KeyPair(certificate=b"certificate", key=b"key")
    path = tmp_path / "kubeconfig"

    write_kubeconfig(
        path, url="https://127.0.0.1:6443", authority=b"authority", name="admin", user=certificate_user(pair)
    )

    view = json.loads(
        subprocess.run(
            [find_kubectl(), "config", "view", "--minify", "--raw", "-o", "json"],
            env={"KUBECONFIG": str(path), "HOME": str(tmp_path)},
            capture_output=True,
            check=True,
        ).stdout
    )
    assert view["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:6443",
        "certificate-authority-data": "YXV0aG9yaXR5",
    }
    assert view["users"] == [
        {"name": "admin", "user": {"client-certificate-data": "Y2VydGlmaWNhdGU=", "client-key-data": "a2V5"}}
    ]


def test_only_its_owner_can_read_it_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    before = os.umask(0)
    try:
        write_kubeconfig(
            path, url="https://127.0.0.1:1", authority=b"", name="robot", user=token_user("token")
        )
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
