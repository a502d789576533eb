"""Whether the API server trusts what the webhook serves: the CA's Secret, caBundle, and what the replicas tell."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.errors import ApiError, ConfigurationError
from webhook.inspect.authorities import Authorities, AuthorityNotFound, look
from webhook.inspect.certfiles import ServedChain, look_at_files
from webhook.inspect.certmode import ServedFiles, served_files
from webhook.inspect.finding import Finding
from webhook.inspect.registered import our_entries
from webhook.kube.replicas import ReplicaLeases
from webhook.kube.transport import KubeClient
from webhook.policy.names import CA_SECRET, SERVICE

__all__ = ["certificates"]

_FORBIDDEN = 403


def certificates(client: KubeClient, namespace: str) -> Iterator[Finding]:
    """Yield what is wrong with the CA, with caBundle, and with the CAs that replicas say they serve.

    What a replica really serves can't be seen from outside of the cluster: `prove` shows it.
    """
    files = served_files(client, namespace)
    if files is not None:
        yield from _in_files(client, namespace, files)
        return
    try:
        seen = look(client, namespace)
    except AuthorityNotFound:
        yield from _without_secret(client, namespace)
        return
    except ConfigurationError as error:
        yield Finding(
            level="fail",
            subject="CA",
            text=str(error),
            fix=f"see in the webhook's log why it does not (kubectl logs -n {namespace} deployment/{SERVICE})",
        )
        return
    yield _authority(client, seen)
    if seen.entries:
        yield _bundle(seen, namespace)
    yield from _served(seen, namespace)


def _authority(client: KubeClient, seen: Authorities) -> Finding:
    now = client.now()
    (signer,) = [each for each in seen.authorities if each.role == "signs"]
    if now >= signer.valid_until:
        return Finding(
            level="fail",
            subject="CA",
            text=f"expired at {signer.valid_until:%Y-%m-%d}",
            fix="a running webhook replaces it within a minute: see why none does in its log",
        )
    if now > seen.renews_at and seen.phase == "stable":
        return Finding(
            level="warn",
            subject="CA",
            text=f"ends on {signer.valid_until:%Y-%m-%d}, and no successor is there",
            fix="a running webhook makes one within a minute: see why none does in its log",
        )
    return Finding(
        level="ok", subject="CA", text=f"signs until {signer.valid_until:%Y-%m-%d}, phase {seen.phase}"
    )


def _bundle(seen: Authorities, namespace: str) -> Finding:
    if lacking := [entry.name for entry in seen.entries if not entry.carries]:
        return Finding(
            level="fail",
            subject="caBundle",
            text=f"is not that of Secret {seen.secret} in {', '.join(lacking)}: the API server refuses our certificate",
            fix="a running webhook writes it within seconds: see why it does not in its log and /readyz "
            f"(kubectl logs -n {namespace} deployment/{SERVICE})",
        )
    return Finding(level="ok", subject="caBundle", text=f"carries the CA of Secret {seen.secret} everywhere")


def _served(seen: Authorities, namespace: str) -> Iterator[Finding]:
    known = {each.fingerprint for each in seen.authorities}
    live = [replica for replica in seen.replicas if not replica.ended]
    for replica in live:
        if replica.fingerprint not in known:
            yield Finding(
                level="fail",
                subject="served",
                text=f"replica {replica.name} tells that it serves CA {replica.fingerprint[:16]}…, which Secret "
                f"{seen.secret} doesn't hold: the API server refuses it",
                fix=f"a running replica takes the Secret's CA over within a minute; if this one is gone for good, "
                f"kubectl delete lease -n {namespace} custom-scheduler-replica-{replica.name}",
            )
    if live and all(replica.fingerprint in known for replica in live):
        yield Finding(
            level="ok",
            subject="served",
            text=f"{len(live)} replica(s) tell that they serve a CA that caBundle carries",
        )


def _without_secret(client: KubeClient, namespace: str) -> Iterator[Finding]:
    now = client.now()
    if any(lease.is_live(now) for lease in ReplicaLeases(client, namespace=namespace).told()):
        yield Finding(
            level="fail",
            subject="CA",
            text=f"Secret {namespace}/{CA_SECRET} is gone, and replicas serve a CA of their own: one that starts now "
            "makes another",
            fix="a running webhook makes the Secret again within a minute: see why none does in its log "
            f"(kubectl logs -n {namespace} deployment/{SERVICE})",
        )
        return
    yield from _of_others(client)


def _of_others(client: KubeClient) -> Iterator[Finding]:
    entries = our_entries(client)
    if bare := [entry.name for entry in entries if not entry.client_config.ca_bundle]:
        yield Finding(
            level="fail",
            subject="caBundle",
            text=f"is empty in {', '.join(bare)}, and no CA in Secret {CA_SECRET} is served",
            fix="start the webhook, which makes its CA and writes it there; in files mode, let cert-manager inject it",
        )
    elif entries:
        yield Finding(
            level="ok",
            subject="caBundle",
            text="is set by others (files mode), and not compared with what is served, which no Deployment mounts from "
            "a Secret: whether it is right, --prove shows",
        )


def _in_files(client: KubeClient, namespace: str, files: ServedFiles) -> Iterator[Finding]:
    if files.secret is None or any(not entry.client_config.ca_bundle for entry in our_entries(client)):
        yield from _of_others(client)
        return
    try:
        seen = look_at_files(client, namespace, files)
    except ConfigurationError as fault:
        yield Finding(
            level="fail",
            subject="CA",
            text=f"{fault}: running pods keep the certificate that they have, and new ones don't start",
            fix=f"kubectl describe certificate -n {namespace}, or see who else is to write it",
        )
        return
    except ApiError as error:
        if error.status != _FORBIDDEN:
            raise
        yield Finding(
            level="warn",
            subject="caBundle",
            text=f"is set by others (files mode), and not compared with what is served: {error}",
            fix="ask as somebody who may read that Secret, or with --prove",
        )
        return
    yield from _of_files(client, seen)


def _of_files(client: KubeClient, seen: ServedChain) -> Iterator[Finding]:
    leaf = seen.certificates[0]
    if client.now() >= leaf.valid_until:
        yield Finding(
            level="fail",
            subject="CA",
            text=f"the certificate in Secret {seen.secret} expired at {leaf.valid_until:%Y-%m-%d}",
            fix="see why nobody renews it: kubectl describe certificate, where it is cert-manager's",
        )
    if bad := [entry.name for entry in seen.entries if not entry.trusts]:
        yield Finding(
            level="fail",
            subject="caBundle",
            text=f"holds nobody who issued the certificate in Secret {seen.secret} in {', '.join(bad)}: "
            "the API server refuses it",
            fix=f"in files mode others write it: see why cert-manager's cainjector does not, or put the CA of "
            f"{leaf.issuer} there",
        )
    elif seen.entries:
        yield Finding(
            level="ok",
            subject="caBundle",
            text=f"holds who issued the certificate in Secret {seen.secret} everywhere (files mode)",
        )
