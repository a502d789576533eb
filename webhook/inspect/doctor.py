"""An installation, looked at piece by piece: what is wrong, and what mends it. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec

from certs.clock import utc_now
from webhook.errors import ClusterError, ConfigurationError, PolicyError, Unreachable
from webhook.inspect.authorities import Authorities, look
from webhook.inspect.cluster import policy_in_force
from webhook.inspect.permissions import lacking_permissions
from webhook.inspect.workings import enforced_namespaces, lease_holder, ready_endpoints
from webhook.kube.transport import KubeClient
from webhook.kube.webhookconfig import ReadConfiguration, WebhookConfigurations
from webhook.policy.names import CA_SECRET, CONFIGURATIONS, PROBE_NAMESPACE, SERVICE, WEBHOOK_NAMES

__all__ = ["Finding", "examine"]

Level = Literal["ok", "warn", "fail"]

Check = Callable[[KubeClient, str], Iterable["Finding"]]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at. `warn`: it works, and something may be better; `fail`: it doesn't work."""

    level: Level
    subject: str
    text: str
    fix: str = ""


def examine(client: KubeClient, namespace: str) -> Iterator[Finding]:
    """Yield what is found in the installation in `namespace`, a check at a time; raises Unreachable.

    What the person who asks may not read is a finding too.
    """
    for subject, check in _CHECKS:
        try:
            yield from check(client, namespace)
        except Unreachable:
            raise
        except ClusterError as error:
            yield Finding(
                level="fail",
                subject=subject,
                text=f"can't be looked at: {error}",
                fix="ask as a cluster admin",
            )


def _registration(client: KubeClient, _namespace: str) -> Iterator[Finding]:
    read = {each.label: each.read() for each in WebhookConfigurations(client, CONFIGURATIONS)}
    for label, configuration in read.items():
        if configuration is None:
            yield Finding(
                level="fail",
                subject="registration",
                text=f"{label} is not there: the API server calls nothing through it",
                fix="kubectl apply -k manifests/base, or the overlay that you use",
            )
    there = [configuration for configuration in read.values() if configuration is not None]
    present = {entry.name for configuration in there for entry in configuration.webhooks}
    if len(there) == len(read):
        if missing := sorted(WEBHOOK_NAMES - present):
            yield Finding(
                level="warn",
                subject="registration",
                text=f"entries are missing: {', '.join(missing)}",
                fix="apply the manifests again, unless they were left out on purpose",
            )
        else:
            yield Finding(
                level="ok", subject="registration", text=f"all {len(WEBHOOK_NAMES)} webhooks are registered"
            )
    yield from _failure_policy(there)


def _failure_policy(configurations: Iterable[ReadConfiguration]) -> Iterator[Finding]:
    closed = sorted(
        entry.name
        for configuration in configurations
        for entry in configuration.webhooks
        if entry.name in WEBHOOK_NAMES and entry.failure_policy == "Fail"
    )
    if closed:
        yield Finding(
            level="ok",
            subject="failurePolicy",
            text=f"Fail for {', '.join(closed)}: what can't be judged is refused",
        )
    else:
        yield Finding(
            level="ok",
            subject="failurePolicy",
            text="Ignore everywhere: while the webhook is down, nothing is enforced and nothing is in the way "
            "(overlay fail, after doctor --prove)",
        )


def _bundle(client: KubeClient, namespace: str) -> Iterator[Finding]:
    try:
        seen = look(client, namespace)
    except ConfigurationError as error:
        if "not found" not in str(error):
            yield Finding(level="fail", subject="CA", text=str(error))
            return
        yield from _foreign_bundle(client)
        return
    yield from _authority(client, seen)
    if lacking := [entry.name for entry in seen.entries if not entry.carries]:
        yield Finding(
            level="fail",
            subject="caBundle",
            text=f"is not that of Secret {seen.secret} in {', '.join(lacking)}: the API server refuses our certificate",
            fix="a running webhook writes it within seconds: see why it does not in its log and /readyz "
            f"(kubectl logs -n {namespace} deployment/{SERVICE})",
        )
    else:
        yield Finding(
            level="ok", subject="caBundle", text=f"carries the CA of Secret {seen.secret} everywhere"
        )


def _foreign_bundle(client: KubeClient) -> Iterator[Finding]:
    read = [each.read() for each in WebhookConfigurations(client, CONFIGURATIONS)]
    bare = [
        entry.name
        for configuration in read
        if configuration is not None
        for entry in configuration.webhooks
        if entry.name in WEBHOOK_NAMES and not entry.client_config.ca_bundle
    ]
    if bare:
        yield Finding(
            level="fail",
            subject="caBundle",
            text=f"is empty in {', '.join(bare)}, and there is no Secret {CA_SECRET}",
            fix="start the webhook, which makes its CA and writes it there; in files mode, let cert-manager inject it",
        )
    else:
        yield Finding(
            level="ok",
            subject="caBundle",
            text="is set by others (files mode): whether it is right, --prove shows",
        )


def _authority(client: KubeClient, seen: Authorities) -> Iterator[Finding]:
    now = client.server_clock.now() or utc_now()
    (signer,) = [each for each in seen.authorities if each.role == "signs"]
    if now >= signer.valid_until:
        yield Finding(
            level="fail",
            subject="CA",
            text=f"expired at {signer.valid_until:%Y-%m-%d}",
            fix="a running webhook replaces it within a minute: see why none does in its log",
        )
    elif now > seen.renews_at and seen.phase == "stable":
        yield Finding(
            level="warn",
            subject="CA",
            text=f"ends on {signer.valid_until:%Y-%m-%d}, and no successor is there",
            fix="a running webhook makes one within a minute: see why none does in its log",
        )
    else:
        yield Finding(
            level="ok", subject="CA", text=f"signs until {signer.valid_until:%Y-%m-%d}, phase {seen.phase}"
        )


def _service(client: KubeClient, namespace: str) -> Iterator[Finding]:
    read = [each.read() for each in WebhookConfigurations(client, CONFIGURATIONS)]
    entries = [
        entry
        for configuration in read
        if configuration is not None
        for entry in configuration.webhooks
        if entry.name in WEBHOOK_NAMES
    ]
    if not any(entry.client_config.url is None for entry in entries):
        return
    ready = ready_endpoints(client, namespace, SERVICE)
    text = f"{ready} ready endpoints behind Service {namespace}/{SERVICE}"
    fix = f"kubectl get pods -n {namespace} -l app.kubernetes.io/component=webhook, and their events"
    if ready == 0:
        yield Finding(level="fail", subject="endpoints", text=text, fix=fix)
    elif ready == 1:
        yield Finding(
            level="warn",
            subject="endpoints",
            text="only one ready endpoint: its restart is an outage",
            fix=fix,
        )
    else:
        yield Finding(level="ok", subject="endpoints", text=text)


def _policy(client: KubeClient, namespace: str) -> Iterator[Finding]:
    try:
        policy, source = policy_in_force(client, namespace)
    except (PolicyError, ConfigurationError) as error:
        yield Finding(
            level="fail",
            subject="policy",
            text=f"{error}; running webhooks keep the last good one, and new ones don't start",
            fix="custom-scheduler policy validate FILE, then apply it",
        )
        return
    yield Finding(
        level="ok",
        subject="policy",
        text=f"{policy.name} in {source} is valid, generation {policy.generation:012x}",
    )


def _permissions(client: KubeClient, namespace: str) -> Iterator[Finding]:
    lacking = list(lacking_permissions(client, namespace))
    for account, needed in lacking:
        yield Finding(
            level="fail",
            subject="permissions",
            text=f"ServiceAccount {namespace}/{account} may not {needed}",
            fix="apply the Roles and bindings of the manifests again",
        )
    if not lacking:
        yield Finding(level="ok", subject="permissions", text="the ServiceAccounts may do what they have to")


def _binder(client: KubeClient, namespace: str) -> Iterator[Finding]:
    holder = lease_holder(client, namespace, "custom-scheduler", client.server_clock.now() or utc_now())
    if holder is None:
        yield Finding(
            level="fail",
            subject="binder",
            text=f"nobody holds Lease {namespace}/custom-scheduler: pods with our schedulerName stay Pending",
            fix=f"kubectl get pods -n {namespace} -l app.kubernetes.io/component=binder, and their logs",
        )
    else:
        yield Finding(level="ok", subject="binder", text=f"{holder} places the pods")


def _scope(client: KubeClient, _namespace: str) -> Iterator[Finding]:
    modes = enforced_namespaces(client)
    probed = modes.pop(PROBE_NAMESPACE, None)
    if probed != "deny":
        yield Finding(
            level="warn",
            subject="probe",
            text=f"namespace {PROBE_NAMESPACE} is not there, or not labelled custom-scheduler.io/enforce=deny",
            fix="apply manifests/probe: doctor --prove needs it",
        )
    counts = ", ".join(f"{sum(each == mode for each in modes.values())} {mode}" for mode in ("deny", "warn"))
    yield Finding(level="ok", subject="enforcement", text=f"namespaces by their label: {counts}")


_CHECKS: tuple[tuple[str, Check], ...] = (
    ("registration", _registration),
    ("caBundle", _bundle),
    ("endpoints", _service),
    ("policy", _policy),
    ("permissions", _permissions),
    ("binder", _binder),
    ("enforcement", _scope),
)
