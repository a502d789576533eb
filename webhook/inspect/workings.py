"""What runs and what is labelled, as a doctor asks for it: a Service and what is behind it, Deployments, a Lease."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from webhook.errors import ApiError
from webhook.kube.meta import ObjectMeta
from webhook.kube.transport import KubeClient
from webhook.scheduling.labels import Selector
from webhook.scheduling.objects import LabelSelector

__all__ = [
    "Budget",
    "Deployment",
    "Endpoints",
    "Holding",
    "Service",
    "endpoints",
    "labelled_namespaces",
    "lease_holding",
    "namespace_labels",
    "read_budgets",
    "read_deployment",
    "read_service",
]

T = TypeVar("T")


class ServicePort(msgspec.Struct, frozen=True, rename="camel"):
    """A port of a Service, and the port of the pods, by number or name, that it leads to."""

    port: int
    name: str = ""
    target_port: int | str = 0


class ServiceSpec(msgspec.Struct, frozen=True):
    """What a Service offers."""

    ports: tuple[ServicePort, ...] = ()


class Service(msgspec.Struct, frozen=True):
    """A Service."""

    spec: ServiceSpec = ServiceSpec()


class Endpoints(msgspec.Struct, frozen=True):
    """How many endpoints of a Service are ready, and the names of the ports that they have."""

    ready: int
    ports: frozenset[str]


class PodTemplate(msgspec.Struct, frozen=True):
    """What pods of a Deployment are made from."""

    metadata: ObjectMeta = ObjectMeta()


class DeploymentSpec(msgspec.Struct, frozen=True):
    """What a Deployment asks for."""

    template: PodTemplate = PodTemplate()
    replicas: int = 1


class DeploymentStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What there is of it."""

    ready_replicas: int = 0


class Deployment(msgspec.Struct, frozen=True):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def is_complete(self) -> bool:
        """Whether all replicas are ready."""
        return self.status.ready_replicas >= self.spec.replicas


class BudgetSpec(msgspec.Struct, frozen=True):
    """The pods that a PodDisruptionBudget covers; without a selector, none."""

    selector: LabelSelector | None = None


class BudgetStatus(msgspec.Struct, frozen=True, rename="camel"):
    """How many of them may be evicted now."""

    disruptions_allowed: int = 0


class Budget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Tell whether it covers pods with these labels."""
        return Selector.of(self.spec.selector).matches(labels)


class Holding(msgspec.Struct, frozen=True):
    """Who holds a Lease, or held it last; `ended_at` is set where its time has run out."""

    holder: str = ""
    ended_at: datetime | None = None


class _Conditions(msgspec.Struct, frozen=True):
    ready: bool | None = None


class _Endpoint(msgspec.Struct, frozen=True):
    conditions: _Conditions = _Conditions()


class _Port(msgspec.Struct, frozen=True):
    name: str | None = None
    port: int | None = None


class _Slice(msgspec.Struct, frozen=True):
    endpoints: list[_Endpoint] | None = None
    ports: list[_Port] | None = None


class _Slices(msgspec.Struct, frozen=True):
    items: list[_Slice] | None = None


class _Named(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Names(msgspec.Struct, frozen=True):
    items: list[_Named] | None = None


class _Budgets(msgspec.Struct, frozen=True):
    items: list[Budget] | None = None


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: int | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


def read_service(client: KubeClient, namespace: str, name: str) -> Service | None:
    """Return a Service, or None where there is none of this name; raises ClusterError, as all of these do."""
    return _read(client, f"/api/v1/namespaces/{namespace}/services/{name}", Service)


def read_deployment(client: KubeClient, namespace: str, name: str) -> Deployment | None:
    """Return a Deployment, or None where there is none of this name."""
    return _read(client, f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}", Deployment)


def read_budgets(client: KubeClient, namespace: str) -> list[Budget]:
    """Return the PodDisruptionBudgets of a namespace."""
    found: list[Budget] = []
    for page in client.pages(f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"):
        found += msgspec.json.decode(page, type=_Budgets).items or ()
    return found


def endpoints(client: KubeClient, namespace: str, service: str) -> Endpoints:
    """Return what is behind a Service; an endpoint that doesn't say is ready, as for kube-proxy."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    ready = 0
    ports: set[str] = set()
    for page in client.pages(path, query=[("labelSelector", f"kubernetes.io/service-name={service}")]):
        for each in msgspec.json.decode(page, type=_Slices).items or ():
            ready += sum(endpoint.conditions.ready is not False for endpoint in each.endpoints or ())
            ports |= {port.name or "" for port in each.ports or () if port.port is not None}
    return Endpoints(ready=ready, ports=frozenset(ports))


def lease_holding(client: KubeClient, namespace: str, name: str, now: datetime) -> Holding | None:
    """Return who holds a Lease at `now`, by the times in it; None where there is no Lease."""
    lease = _read(client, f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}", _Lease)
    if lease is None:
        return None
    spec = lease.spec
    if not spec.holder_identity or not spec.renew_time:
        return Holding()
    try:
        ends_at = datetime.fromisoformat(spec.renew_time) + timedelta(
            seconds=spec.lease_duration_seconds or 0
        )
    except OverflowError:
        return Holding(holder=spec.holder_identity)  # until after the end of time
    return Holding(holder=spec.holder_identity, ended_at=None if now < ends_at else ends_at)


def namespace_labels(client: KubeClient, name: str) -> dict[str, str]:
    """Return the labels of a namespace; none where it isn't there."""
    found = _read(client, f"/api/v1/namespaces/{name}", _Named)
    return (found.metadata.labels or {}) if found else {}


def _read(client: KubeClient, path: str, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(client.request("GET", path), type=kind)
    except ApiError as error:
        if error.status == 404:
            return None
        raise


def labelled_namespaces(client: KubeClient, label: str) -> dict[str, str]:
    """Return the namespaces that carry a label, and its value."""
    found: dict[str, str] = {}
    for page in client.pages("/api/v1/namespaces", query=[("labelSelector", label)]):
        for each in msgspec.json.decode(page, type=_Names).items or ():
            found[each.metadata.name] = (each.metadata.labels or {})[label]
    return found
