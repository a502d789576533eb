"""Whether the calls that are registered find a Service, its port, and pods behind it: as far as the API says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from webhook.inspect.finding import Finding
from webhook.inspect.registered import our_entries
from webhook.inspect.workings import Service, endpoints, read_service
from webhook.kube.transport import KubeClient
from webhook.kube.webhookconfig import WebhookEntry
from webhook.policy.names import SERVICE

__all__ = ["PATHS", "reachability"]

# The path that each entry calls says what its selectors have decided. A test holds that the manifests say the same.
PATHS = {
    "deny.pods.custom-scheduler.io": "/validate",
    "deny.workloads.custom-scheduler.io": "/validate",
    "warn.pods.custom-scheduler.io": "/validate/warn",
    "warn.workloads.custom-scheduler.io": "/validate/warn",
    "verify.pods.custom-scheduler.io": "/verify",
    "verify.namespaces.custom-scheduler.io": "/verify",
    "mutate.pods.custom-scheduler.io": "/mutate",
    "mutate.namespaces.custom-scheduler.io": "/mutate/namespace",
}
_APPLY = "kubectl apply -k manifests/base again, or the overlay that you use"


def reachability(client: KubeClient, namespace: str) -> Iterator[Finding]:
    """Yield what is wrong on the way from the entries to the pods, or how many of them are ready."""
    entries = our_entries(client)
    yield from _paths(entries)
    by_service = [entry for entry in entries if entry.client_config.service is not None]
    if entries and not by_service:
        yield Finding(
            level="ok", subject="endpoints", text="called by URL: whether that reaches us, --prove shows"
        )
    if not by_service:
        return
    yield from _targets(by_service, namespace)
    service = read_service(client, namespace, SERVICE)
    if service is None:
        yield Finding(
            level="fail",
            subject="endpoints",
            text=f"Service {namespace}/{SERVICE} is not there: every call fails",
            fix=f"{_APPLY}; if it is installed in another namespace, give --namespace",
        )
        return
    yield from _ports(by_service, service, namespace)
    yield from _endpoints(client, namespace, service)


def _paths(entries: Sequence[WebhookEntry]) -> Iterator[Finding]:
    for entry in entries:
        called = _path_of(entry)
        if called != PATHS[entry.name]:
            yield Finding(
                level="fail",
                subject="registration",
                text=f"{entry.name} calls {called or '/'}, and what it selects is meant for {PATHS[entry.name]}",
                fix=_APPLY,
            )


def _path_of(entry: WebhookEntry) -> str:
    config = entry.client_config
    if config.service is not None:
        return config.service.path
    return urlsplit(config.url or "").path


def _targets(entries: Sequence[WebhookEntry], namespace: str) -> Iterator[Finding]:
    for entry in entries:
        called = entry.client_config.service
        if called is not None and (called.namespace, called.name) != (namespace, SERVICE):
            yield Finding(
                level="fail",
                subject="registration",
                text=f"{entry.name} calls Service {called.namespace}/{called.name}, not {namespace}/{SERVICE}",
                fix=f"{_APPLY}; if it is installed in namespace {called.namespace}, "
                f"give --namespace {called.namespace}",
            )


def _ports(entries: Sequence[WebhookEntry], service: Service, namespace: str) -> Iterator[Finding]:
    offered = {port.port for port in service.spec.ports}
    asked = {entry.client_config.service.port for entry in entries if entry.client_config.service}
    for port in sorted(asked - offered):
        yield Finding(
            level="fail",
            subject="endpoints",
            text=f"the webhooks are called at port {port}, and Service {namespace}/{SERVICE} has "
            f"{', '.join(map(str, sorted(offered))) or 'none'}",
            fix=_APPLY,
        )


def _endpoints(client: KubeClient, namespace: str, service: Service) -> Iterator[Finding]:
    found = endpoints(client, namespace, SERVICE)
    text = f"{found.ready} ready endpoints behind Service {namespace}/{SERVICE}"
    fix = f"kubectl get pods -n {namespace} -l app.kubernetes.io/component=webhook, and their events"
    unmatched = [port for port in service.spec.ports if port.name not in found.ports]
    if found.ready and unmatched:
        yield Finding(
            level="fail",
            subject="endpoints",
            text=f"{text}, but none listens on {', '.join(str(port.target_port) for port in unmatched)}, "
            f"which port {', '.join(str(port.port) for port in unmatched)} leads to",
            fix=f"name the pods' port as the Service's targetPort does: {_APPLY}",
        )
    elif found.ready == 0:
        yield Finding(level="fail", subject="endpoints", text=f"no {text.partition(' ')[2]}", fix=fix)
    elif found.ready == 1:
        yield Finding(
            level="warn",
            subject="endpoints",
            text="only one ready endpoint: its restart is an outage",
            fix=fix,
        )
    else:
        yield Finding(level="ok", subject="endpoints", text=text)
