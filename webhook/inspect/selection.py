"""Whether the webhooks leave those namespaces alone whose pods have to start while no webhook answers."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from webhook.inspect.finding import Finding
from webhook.inspect.registered import our_entries
from webhook.inspect.workings import namespace_labels
from webhook.kube.transport import KubeClient
from webhook.policy.names import KUBE_SYSTEM
from webhook.scheduling.labels import Selector
from webhook.scheduling.objects import LabelSelector

__all__ = ["selection"]


def selection(client: KubeClient, namespace: str) -> Iterator[Finding]:
    """Yield which entries select kube-system or our own namespace; that fails where they fail closed."""
    entries = our_entries(client)
    found = False
    for name in (KUBE_SYSTEM, namespace):
        labels = namespace_labels(client, name)
        selecting = [
            entry
            for entry in entries
            if Selector.of(msgspec.json.decode(entry.namespace_selector, type=LabelSelector)).matches(labels)
        ]
        if not selecting:
            continue
        found = True
        closed = any(entry.failure_policy == "Fail" for entry in selecting)
        yield Finding(
            level="fail" if closed else "warn",
            subject="selection",
            text=f"namespace {name} is selected by {', '.join(entry.name for entry in selecting)}: "
            + (
                "while none of us runs, none of its pods can start"
                if closed
                else "its pods wait for our answer"
            ),
            fix=f"leave it out by its name in namespaceSelector, as the manifests do: key "
            f"kubernetes.io/metadata.name, operator NotIn, values [{KUBE_SYSTEM}, {namespace}]",
        )
    if entries and not found:
        yield Finding(
            level="ok", subject="selection", text=f"{KUBE_SYSTEM} and {namespace} are left out everywhere"
        )
