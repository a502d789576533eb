"""`custom-scheduler certs rotate`: a new CA before its time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from certs.errors import CertificateError, NoAuthority, RotationUnderWay
from certs.store import start_rotation
from webhook.commands.terminal import Terminal
from webhook.errors import ClusterError, ConfigurationError
from webhook.inspect.authorities import AuthorityNotFound
from webhook.inspect.certmode import serves_files
from webhook.kube.config import connect
from webhook.kube.replicas import ReplicaLeases
from webhook.kube.secrets import KubeSecretStore
from webhook.kube.transport import KubeClient
from webhook.policy.names import CA_SECRET, SERVICE

__all__ = ["run"]


def run(*, kubeconfig: Path | None, namespace: str) -> int:
    """Publish a new CA beside the one that signs and return the exit code; raises CustomSchedulerError.

    Replicas do the rest, so a warning says where none is there to do it.
    """
    terminal = Terminal()
    with closing(connect(kubeconfig)) as client:
        store = KubeSecretStore(client, namespace=namespace, name=CA_SECRET)
        try:
            custody = start_rotation(store, SERVICE, clock=client.now)
        except RotationUnderWay as fault:
            terminal.fault(str(fault))
            return 1
        except NoAuthority as fault:
            raise AuthorityNotFound(namespace) from fault
        except CertificateError as fault:
            raise ConfigurationError(str(fault)) from fault
        obstacle = _obstacle(client, namespace)
    assert custody.successor is not None
    published = (
        f"CA {custody.successor.fingerprint[:12]} is published beside {custody.authority.fingerprint[:12]}"
    )
    if obstacle:
        terminal.line(published)
        terminal.warning(obstacle)
        return 0
    terminal.line(f"{published}: the running replicas take it from here within a few minutes")
    terminal.line("See how far they are: custom-scheduler certs show")
    return 0


def _obstacle(client: KubeClient, namespace: str) -> str:
    """Return why no replica may take the new CA, and what to do; empty where one does."""
    pods = f"kubectl get pods -n {namespace} -l app.kubernetes.io/component=webhook"
    try:
        if serves_files(client, namespace):
            return (
                "the webhook serves certificates of others (files mode), and none of this CA: "
                "renew those where they come from (cmctl renew, with cert-manager)"
            )
        now = client.now()
        if any(each.is_live(now) for each in ReplicaLeases(client, namespace=namespace).told()):
            return ""
    except ClusterError as error:
        return f"whether a replica runs, to take it from here, can't be looked at ({error}); see for yourself: {pods}"
    return (
        "no replica has told that it runs, so the rotation waits until one does: "
        f"start the webhook, or see why it doesn't ({pods})"
    )
