"""`custom-scheduler certs rotate`: a new CA before its time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from certs.clock import utc_now
from certs.errors import CertificateError, NoAuthority, RotationUnderWay
from certs.store import start_rotation
from webhook.commands.terminal import Terminal
from webhook.errors import ConfigurationError
from webhook.inspect.authorities import AuthorityNotFound
from webhook.kube.config import connect
from webhook.kube.secrets import KubeSecretStore
from webhook.policy.names import CA_SECRET, SERVICE

__all__ = ["run"]


def run(*, kubeconfig: Path | None, namespace: str) -> int:
    """Publish a new CA beside the one that signs and return the exit code; raises CustomSchedulerError."""
    terminal = Terminal()
    with closing(connect(kubeconfig)) as client:
        store = KubeSecretStore(client, namespace=namespace, name=CA_SECRET)
        try:
            custody = start_rotation(store, SERVICE, clock=lambda: client.server_clock.now() or utc_now())
        except RotationUnderWay as fault:
            terminal.fault(str(fault))
            return 1
        except NoAuthority as fault:
            raise AuthorityNotFound(namespace) from fault
        except CertificateError as fault:
            raise ConfigurationError(str(fault)) from fault
    assert custody.successor is not None
    terminal.line(
        f"CA {custody.successor.fingerprint[:12]} is published beside {custody.authority.fingerprint[:12]}: "
        "the running replicas take it from here within a few minutes"
    )
    terminal.line("See how far they are: custom-scheduler certs show")
    return 0
