"""Where each file of a running cluster is, below its temporary folder."""

from __future__ import annotations

from pathlib import Path

from devcluster.kubeconfig import certificate_user, write_kubeconfig
from devcluster.pki import Authority, KeyPair, new_signing_key

__all__ = ["Layout"]

# What the API server is called inside a cluster, and the first address of the service range below.
_SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "10.96.0.1",
)


class Layout:
    """The paths below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logs = folder / "logs"
        self.home = folder / "home"
        self.kubeconfigs = folder / "kubeconfigs"
        self.pki = folder / "pki"
        self.authority = self.pki / "ca.crt"
        self.serving = self._pair("serving")
        self.admin = self._pair("admin")
        self.token_key = self.pki / "service-accounts.key"

    def kubeconfig(self, user: str) -> Path:
        """Return the path of the kubeconfig of `user`."""
        return self.kubeconfigs / f"{user}.kubeconfig"

    def prepare(self, url: str) -> None:
        """Make the folders, keys, certificates and kubeconfigs of a cluster whose API server is at `url`."""
        for path in (self.logs, self.home, self.kubeconfigs, self.pki):
            path.mkdir(mode=0o700)
        authority = Authority()
        admin = authority.client("admin", groups=["system:masters"])
        self.authority.write_bytes(authority.certificate)
        _write_secret(self.token_key, new_signing_key())
        self._write_pair(self.serving, authority.serving(_SERVER_NAMES))
        self._write_pair(self.admin, admin)
        pairs = {"admin": admin}
        for user in ("kube-controller-manager", "kube-scheduler"):
            pairs[user] = authority.client(f"system:{user}")
        for user, pair in pairs.items():
            write_kubeconfig(
                self.kubeconfig(user),
                url=url,
                authority=authority.certificate,
                name=user,
                user=certificate_user(pair),
            )

    def _pair(self, name: str) -> tuple[Path, Path]:
        return self.pki / f"{name}.crt", self.pki / f"{name}.key"

    @staticmethod
    def _write_pair(paths: tuple[Path, Path], pair: KeyPair) -> None:
        certificate, key = paths
        certificate.write_bytes(pair.certificate)
        _write_secret(key, pair.key)


def _write_secret(path: Path, data: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(data)
