"""What the API server was told to call: our entries in the webhook configurations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webhook.inspect.finding import Finding
from webhook.kube.transport import KubeClient
from webhook.kube.webhookconfig import ReadConfiguration, WebhookConfigurations, WebhookEntry
from webhook.policy.names import CONFIGURATIONS, WEBHOOK_NAMES

__all__ = ["our_entries", "registration"]


def our_entries(client: KubeClient) -> list[WebhookEntry]:
    """Return our entries in both configurations, as far as they are there; raises ClusterError."""
    read = [each.read() for each in WebhookConfigurations(client, CONFIGURATIONS)]
    return _ours(configuration for configuration in read if configuration is not None)


def registration(client: KubeClient, _namespace: str) -> Iterator[Finding]:
    """Yield whether both configurations and all their entries are there, and what happens when a call fails."""
    read = {each.label: each.read() for each in WebhookConfigurations(client, CONFIGURATIONS)}
    for label, configuration in read.items():
        if configuration is None:
            yield Finding(
                level="fail",
                subject="registration",
                text=f"{label} is not there: the API server calls nothing through it",
                fix="kubectl apply -k manifests/base, or the overlay that you use",
            )
    there = _ours(configuration for configuration in read.values() if configuration is not None)
    if all(read.values()):
        if missing := sorted(WEBHOOK_NAMES - {entry.name for entry in there}):
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
    if there:
        yield _failure_policy(there)


def _ours(configurations: Iterable[ReadConfiguration]) -> list[WebhookEntry]:
    return [
        entry
        for configuration in configurations
        for entry in configuration.webhooks
        if entry.name in WEBHOOK_NAMES
    ]


def _failure_policy(entries: Iterable[WebhookEntry]) -> Finding:
    closed = sorted(entry.name for entry in entries if entry.failure_policy == "Fail")
    if closed:
        return Finding(
            level="ok",
            subject="failurePolicy",
            text=f"Fail for {', '.join(closed)}: what can't be judged is refused. "
            "That a denial comes back, only --prove shows",
            fix="custom-scheduler doctor --prove, after each change; the way back is in docs/operations.md",
        )
    return Finding(
        level="ok",
        subject="failurePolicy",
        text="Ignore everywhere: while the webhook is down, nothing is enforced and nothing is in the way "
        "(overlay fail, after doctor --prove)",
    )
