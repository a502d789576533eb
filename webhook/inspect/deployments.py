"""Whether as many pods are ready as were asked for, and may be evicted one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.inspect.finding import Finding
from webhook.inspect.registered import our_entries
from webhook.inspect.workings import Deployment, read_budgets, read_deployment
from webhook.kube.transport import KubeClient
from webhook.policy.names import SERVICE

__all__ = ["deployments"]

_WEBHOOK, _BINDER = "custom-scheduler", "custom-scheduler-binder"
_APPLY = "kubectl apply -k manifests/base again, or the overlay that you use"


def deployments(client: KubeClient, namespace: str) -> Iterator[Finding]:
    """Yield how many replicas are ready, and what keeps them from being evicted.

    A binder's Deployment that isn't there is passed over: the overlay `single` has none. So is the webhook's where it
    is called by URL: it may run outside of the cluster.
    """
    webhook = read_deployment(client, namespace, _WEBHOOK)
    if webhook is None:
        if any(entry.client_config.service is not None for entry in our_entries(client)):
            yield Finding(
                level="fail",
                subject="replicas",
                text=f"Deployment {namespace}/{_WEBHOOK} is not there: nothing answers the calls",
                fix=f"{_APPLY}; if it is installed in another namespace, give --namespace",
            )
        return
    yield _replicas(webhook, namespace, _WEBHOOK, "webhook")
    binder = read_deployment(client, namespace, _BINDER)
    if binder is not None:
        yield _replicas(binder, namespace, _BINDER, "binder")
    yield from _disruptions(client, namespace, webhook)


def _replicas(deployment: Deployment, namespace: str, name: str, component: str) -> Finding:
    ready, wanted = deployment.status.ready_replicas, deployment.spec.replicas
    text = f"{ready} of {wanted} replicas of Deployment {namespace}/{name} are ready"
    fix = f"kubectl describe pods -n {namespace} -l app.kubernetes.io/component={component}, and their logs"
    if wanted == 0:
        return Finding(
            level="fail",
            subject="replicas",
            text=f"Deployment {namespace}/{name} is scaled to 0",
            fix=f"kubectl scale -n {namespace} deployment/{name} --replicas=2",
        )
    if ready == 0:
        return Finding(level="fail", subject="replicas", text=text, fix=fix)
    if ready < wanted:
        return Finding(level="warn", subject="replicas", text=text, fix=fix)
    return Finding(level="ok", subject="replicas", text=text)


def _disruptions(client: KubeClient, namespace: str, webhook: Deployment) -> Iterator[Finding]:
    labels = webhook.spec.template.metadata.labels or {}
    budgets = [each for each in read_budgets(client, namespace) if each.selects(labels)]
    if not budgets:
        yield Finding(
            level="warn",
            subject="disruptions",
            text="no PodDisruptionBudget covers the webhook's pods: a drain may evict all of them at once",
            fix=_APPLY,
        )
    elif len(budgets) > 1:
        yield Finding(
            level="fail",
            subject="disruptions",
            text=f"{', '.join(each.metadata.name for each in budgets)} cover the same pods: "
            "the API server then evicts none of them",
            fix="keep one PodDisruptionBudget",
        )
    elif budgets[0].status.disruptions_allowed == 0 and webhook.is_complete:
        yield Finding(
            level="warn",
            subject="disruptions",
            text=f"PodDisruptionBudget {namespace}/{budgets[0].metadata.name} allows no eviction though all "
            "replicas are ready: a drain of their nodes waits for ever",
            fix=f"set its minAvailable below the replicas of Deployment {SERVICE}",
        )
    else:
        yield Finding(
            level="ok",
            subject="disruptions",
            text=f"PodDisruptionBudget {namespace}/{budgets[0].metadata.name} covers the webhook's pods",
        )
