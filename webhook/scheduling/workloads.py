"""Which pods are replicas of a pod, as far as its Services and its controller tell.

Source: DefaultSelector in pkg/scheduler/framework/plugins/helper/spread.go.
"""

from __future__ import annotations

from typing import TypeAlias

from webhook.kube.meta import OwnerReference
from webhook.scheduling.labels import EVERYTHING, Selector
from webhook.scheduling.objects import Pod, ReplicaSet, ReplicationController, Service, StatefulSet
from webhook.scheduling.selector_index import SelectorIndex

__all__ = ["Controller", "Workloads"]

Controller: TypeAlias = ReplicationController | ReplicaSet | StatefulSet

# By apiVersion and kind, as an owner reference names it.
_KINDS: dict[tuple[str, str], type[Controller]] = {
    ("v1", "ReplicationController"): ReplicationController,
    ("apps/v1", "ReplicaSet"): ReplicaSet,
    ("apps/v1", "StatefulSet"): StatefulSet,
}


class Workloads:
    """The selectors of Services and controllers."""

    def __init__(self) -> None:
        self._controllers: dict[tuple[type[Controller], str], Selector] = {}
        # By namespace and name; those without a selector are left out.
        self._services: dict[str, Selector] = {}
        self._index: SelectorIndex[str] = SelectorIndex()

    def set_service(self, service: Service) -> None:
        """Add or update a Service."""
        self.remove_service(service)
        if service.spec.selector:
            key, namespace = service.metadata.key, service.metadata.namespace
            self._services[key] = EVERYTHING.requiring(service.spec.selector)
            self._index.add(key, self._services[key], [namespace])

    def remove_service(self, service: Service) -> None:
        """Drop a Service, if it is known."""
        if self._services.pop(service.metadata.key, None) is not None:
            self._index.remove(service.metadata.key)

    def set_controller(self, controller: Controller) -> None:
        """Add or update a controller."""
        if isinstance(controller, ReplicationController):
            selector = EVERYTHING.requiring(controller.spec.selector)
        elif controller.spec.selector is None:
            selector = EVERYTHING
        else:
            selector = Selector.of(controller.spec.selector)
        self._controllers[type(controller), controller.metadata.key] = selector

    def remove_controller(self, controller: Controller) -> None:
        """Drop a controller, if it is known."""
        self._controllers.pop((type(controller), controller.metadata.key), None)

    def replicas_of(self, pod: Pod) -> Selector:
        """Return what all Services of the pod and its controller select, in its namespace; empty if there are none."""
        required: dict[str, str] = {}
        for key in self._index.matching(pod.metadata.namespace, pod.labels):
            required.update(self._services[key].equal)
        owner = _controller_of(pod)
        kind = None if owner is None else _KINDS.get((owner.api_version, owner.kind))
        if owner is None or kind is None:
            return EVERYTHING.requiring(required)
        known = self._controllers.get((kind, f"{pod.metadata.namespace}/{owner.name}"), EVERYTHING)
        if kind is ReplicationController:
            # Its labels replace those of the Services, should they differ; other selectors have to hold as well.
            return EVERYTHING.requiring({**required, **dict(known.equal)})
        return EVERYTHING.requiring(required).both(known)


def _controller_of(pod: Pod) -> OwnerReference | None:
    owners = pod.metadata.owner_references or ()
    return next((owner for owner in owners if owner.controller), None)
