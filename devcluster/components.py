"""The command line of each component, with the reason of every flag that isn't obvious."""

from __future__ import annotations

from pathlib import Path

from devcluster.layout import Layout
from devcluster.protocol import Options

__all__ = ["apiserver_command", "controller_manager_command", "etcd_command", "scheduler_command"]

# Relative to the cluster's folder, which is every component's working directory: the path of a Unix socket
# must be shorter than 108 bytes. The folder's mode keeps others out, and there is no port to collide on.
_ETCD_CLIENTS = "unix://etcd-clients:0"
_ETCD_PEERS = "unix://etcd-peers:0"


def etcd_command(assets: Path) -> list[str]:
    """Return the command of etcd."""
    return [
        str(assets / "etcd"),
        "--name=devcluster",
        "--data-dir=etcd",
        f"--listen-client-urls={_ETCD_CLIENTS}",
        f"--advertise-client-urls={_ETCD_CLIENTS}",
        f"--listen-peer-urls={_ETCD_PEERS}",
        f"--initial-advertise-peer-urls={_ETCD_PEERS}",
        f"--initial-cluster=devcluster={_ETCD_PEERS}",
        "--unsafe-no-fsync",  # the data needn't outlive the machine
        "--log-level=warn",
    ]


def apiserver_command(assets: Path, layout: Layout, options: Options, port: int) -> list[str]:
    """Return the command of kube-apiserver on `port`."""
    # Nothing lifts the taint that TaintNodesByCondition puts on each new node: that is the node lifecycle
    # controller's work. ServiceAccount refuses every pod where no controller makes the accounts.
    disabled = ["TaintNodesByCondition", *([] if options.controller_manager else ["ServiceAccount"])]
    return [
        str(assets / "kube-apiserver"),
        f"--etcd-servers={_ETCD_CLIENTS}",
        *_secure_serving(layout, port),
        "--advertise-address=127.0.0.1",  # else it looks for a default route, and ends where there is none
        "--endpoint-reconciler-type=none",  # Endpoints may not hold a loopback address
        f"--client-ca-file={layout.authority}",
        "--authorization-mode=RBAC",
        f"--disable-admission-plugins={','.join(disabled)}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.token_key}",
        f"--service-account-signing-key-file={layout.token_key}",
        "--allow-privileged=true",
        # Ends the watches that are open when it is told to stop; else they hold it for a minute.
        "--shutdown-watch-termination-grace-period=1s",
        *options.apiserver_flags,
    ]


def controller_manager_command(assets: Path, layout: Layout, options: Options, port: int) -> list[str]:
    """Return the command of kube-controller-manager, which answers /healthz on `port`."""
    return [
        str(assets / "kube-controller-manager"),
        f"--kubeconfig={layout.kubeconfig('kube-controller-manager')}",
        *_secure_serving(layout, port),
        "--leader-elect=false",
        # Nothing renews the Leases of our nodes: the lifecycle controller would call them lost after 40 s. The ttl
        # controller patches every node once more for every order of magnitude of their number, for old kubelets.
        "--controllers=*,-node-lifecycle-controller,-ttl-controller",
        f"--root-ca-file={layout.authority}",
        f"--service-account-private-key-file={layout.token_key}",
        "--flex-volume-plugin-dir=flexvolume",  # else it makes a folder in /usr/libexec
        "--use-service-account-credentials=true",  # each controller with its own role, as kubeadm sets it
        "--kube-api-qps=500",  # a benchmark's thousands of pods come from a Deployment at once
        "--kube-api-burst=1000",
        *options.controller_manager_flags,
    ]


def scheduler_command(assets: Path, layout: Layout, _options: Options, port: int) -> list[str]:
    """Return the command of kube-scheduler, which answers /readyz on `port`."""
    return [
        str(assets / "kube-scheduler"),
        f"--kubeconfig={layout.kubeconfig('kube-scheduler')}",
        *_secure_serving(layout, port),
        "--leader-elect=false",
    ]


def _secure_serving(layout: Layout, port: int) -> list[str]:
    certificate, key = layout.serving
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--permit-port-sharing=true",  # with the socket that keeps the port for us
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
    ]
