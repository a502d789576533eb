"""A pod of a manifest as the API server would create it, as far as scheduling needs that.

Source: pkg/apis/core/v1/defaults.go, pkg/registry/core/pod/strategy.go and the DefaultTolerationSeconds admission of
Kubernetes. What LimitRanges and PriorityClasses add is in `creation_defaults`; what a RuntimeClass or webhooks add is
not there.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from webhook.kube.meta import ObjectMeta
from webhook.scheduling.objects import (
    Container,
    LabelSelectorRequirement,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodStatus,
    ResourceRequirements,
    Toleration,
)

__all__ = ["as_created"]

_replace = msgspec.structs.replace

# Every pod bears these for five minutes.
_BORNE_FOR_A_WHILE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NO_EXECUTE = "NoExecute"


def as_created(pod: Pod, *, metadata: ObjectMeta, scheduler_name: str) -> Pod:
    """Return the pod as new, with the API server's defaults; `scheduler_name` is for one that names none.

    `metadata` is what the pod would get beside its labels, annotations and owners. A node that the manifest names is left out, so that one is chosen.
    """
    spec = pod.spec
    containers = tuple(_container(each, host_network=spec.host_network) for each in pod.containers)
    init_containers = tuple(_container(each, host_network=spec.host_network) for each in spec.init_containers)
    spec = _replace(
        spec,
        node_name="",
        scheduler_name=spec.scheduler_name or scheduler_name,
        containers=containers,
        init_containers=init_containers,
        resources=spec.resources and _pod_level(spec.resources, (*containers, *init_containers)),
        tolerations=(*spec.tolerations, *_added(spec.tolerations)),
        affinity=spec.affinity
        and _replace(
            spec.affinity,
            pod_affinity=_with_label_keys(spec.affinity.pod_affinity, pod.labels),
            pod_anti_affinity=_with_label_keys(spec.affinity.pod_anti_affinity, pod.labels),
        ),
    )
    metadata = _replace(
        metadata,
        labels=pod.metadata.labels,
        annotations=pod.metadata.annotations,
        owner_references=pod.metadata.owner_references,
    )
    return Pod(metadata=metadata, spec=spec, status=PodStatus())


def _container(container: Container, *, host_network: bool) -> Container:
    resources = container.resources
    ports = container.ports
    if host_network:
        ports = tuple(
            port if port.host_port else _replace(port, host_port=port.container_port) for port in ports
        )
    requests = {**resources.limits, **resources.requests}
    return _replace(container, ports=ports, resources=_replace(resources, requests=requests))


def _pod_level(resources: ResourceRequirements, containers: Iterable[Container]) -> ResourceRequirements:
    """Let the pod's limits stand for requests that neither it nor a container has."""
    requested = {name for container in containers for name in container.resources.requests}
    limits = {name: limit for name, limit in resources.limits.items() if name not in requested}
    return _replace(resources, requests={**limits, **resources.requests})


def _added(tolerations: tuple[Toleration, ...]) -> Iterable[Toleration]:
    for key in _BORNE_FOR_A_WHILE:
        if not any(each.key in ("", key) and each.effect in ("", _NO_EXECUTE) for each in tolerations):
            yield Toleration(key=key, operator="Exists", effect=_NO_EXECUTE)


def _with_label_keys(affinity: PodAffinity | None, labels: dict[str, str]) -> PodAffinity | None:
    """Put the pod's own values for matchLabelKeys and mismatchLabelKeys into the selectors."""
    if affinity is None:
        return None
    return _replace(
        affinity,
        required=tuple(_term(each, labels) for each in affinity.required),
        preferred=tuple(
            _replace(each, pod_affinity_term=_term(each.pod_affinity_term, labels))
            for each in affinity.preferred
        ),
    )


def _term(term: PodAffinityTerm, labels: dict[str, str]) -> PodAffinityTerm:
    if term.label_selector is None:
        return term
    added = tuple(
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
        for operator, keys in (("In", term.match_label_keys), ("NotIn", term.mismatch_label_keys))
        for key in keys
        if key in labels
    )
    selector = term.label_selector
    selector = _replace(selector, match_expressions=(*selector.match_expressions, *added))
    return _replace(term, label_selector=selector)
