"""An installation, looked at piece by piece: what is wrong, and what mends it. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.errors import ClusterError, PolicyError, Unreachable
from webhook.inspect.certificates import certificates
from webhook.inspect.certmode import serves_files
from webhook.inspect.cluster import NoPolicy, policy_in_force
from webhook.inspect.deployments import deployments
from webhook.inspect.finding import Check, Finding
from webhook.inspect.permissions import accounts_there, lacking_permissions
from webhook.inspect.reachability import reachability
from webhook.inspect.registered import registration
from webhook.inspect.selection import selection
from webhook.inspect.workings import labelled_namespaces, lease_holding
from webhook.kube.transport import KubeClient
from webhook.policy.names import DECLINED, ENFORCE_LABEL, OPT_IN_LABEL, OPTED_IN, PROBE_NAMESPACE

__all__ = ["examine"]

_VALIDATE = "custom-scheduler policy validate FILE, then apply it"
_INSTALL = "kubectl apply -k manifests/base, or the overlay that you use; or give its --namespace"
_MODES = ("deny", "warn")
_CHOICES = (OPTED_IN, DECLINED)


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


def _policy(client: KubeClient, namespace: str) -> Iterator[Finding]:
    try:
        policy, source = policy_in_force(client, namespace)
    except (PolicyError, NoPolicy) as error:
        yield Finding(
            level="fail",
            subject="policy",
            text=f"{error}; running webhooks keep the last good one, and new ones don't start",
            fix=_INSTALL if isinstance(error, NoPolicy) else _VALIDATE,
        )
        return
    yield Finding(
        level="ok",
        subject="policy",
        text=f"{policy.name} in {source} is valid, generation {policy.generation:012x}",
    )


def _permissions(client: KubeClient, namespace: str) -> Iterator[Finding]:
    there = accounts_there(client, namespace)
    in_files_mode = serves_files(client, namespace)
    lacking = list(lacking_permissions(client, namespace, there, serves_files=in_files_mode))
    for account, needed in lacking:
        yield Finding(
            level="fail",
            subject="permissions",
            text=f"ServiceAccount {namespace}/{account} may not {needed}",
            fix="apply the Roles and bindings of the manifests again",
        )
    if there and not lacking:
        yield Finding(level="ok", subject="permissions", text="the ServiceAccounts may do what they have to")


def _binder(client: KubeClient, namespace: str) -> Iterator[Finding]:
    held = lease_holding(client, namespace, "custom-scheduler", client.now())
    lease = f"Lease {namespace}/custom-scheduler"
    pending = "pods with our schedulerName stay Pending"
    fix = f"kubectl get pods -n {namespace} -l app.kubernetes.io/component=binder, and their logs"
    if held is None:
        yield Finding(
            level="fail",
            subject="binder",
            text=f"{lease} is not there: no binder has ever run, and {pending}",
            fix=fix,
        )
    elif not held.holder:
        yield Finding(level="fail", subject="binder", text=f"nobody holds {lease}: {pending}", fix=fix)
    elif held.ended_at is not None:
        yield Finding(
            level="fail",
            subject="binder",
            text=f"{held.holder} held {lease} until {held.ended_at:%Y-%m-%dT%H:%M:%SZ}, and nobody since: {pending}",
            fix=fix,
        )
    else:
        yield Finding(level="ok", subject="binder", text=f"{held.holder} places the pods")


def _scope(client: KubeClient, _namespace: str) -> Iterator[Finding]:
    modes = labelled_namespaces(client, ENFORCE_LABEL)
    probed = modes.pop(PROBE_NAMESPACE, None)
    if probed != "deny":
        yield Finding(
            level="warn",
            subject="probe",
            text=f"namespace {PROBE_NAMESPACE} is not there, or not labelled {ENFORCE_LABEL}=deny",
            fix="kubectl apply -k manifests/probe: doctor --prove needs it",
        )
    yield from _unknown_values(ENFORCE_LABEL, modes, _MODES)
    yield from _unknown_values(OPT_IN_LABEL, labelled_namespaces(client, OPT_IN_LABEL), _CHOICES)
    counts = ", ".join(f"{sum(each == mode for each in modes.values())} {mode}" for mode in _MODES)
    yield Finding(level="ok", subject="enforcement", text=f"namespaces by their label: {counts}")


def _unknown_values(label: str, found: dict[str, str], known: tuple[str, ...]) -> Iterator[Finding]:
    for name, value in found.items():
        if value not in known:
            yield Finding(
                level="warn",
                subject="enforcement",
                text=f"namespace {name} is labelled {label}={value}, which means nothing",
                fix=f"kubectl label namespace {name} --overwrite {label}={' or '.join(known)}",
            )


_CHECKS: tuple[tuple[str, Check], ...] = (
    ("registration", registration),
    ("selection", selection),
    ("endpoints", reachability),
    ("replicas", deployments),
    ("caBundle", certificates),
    ("policy", _policy),
    ("permissions", _permissions),
    ("binder", _binder),
    ("enforcement", _scope),
)
