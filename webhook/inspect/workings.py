"""What runs and what is labelled, as a doctor asks for it: endpoints, a Lease's holder, enforced namespaces."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from webhook.errors import ApiError
from webhook.kube.meta import ObjectMeta
from webhook.kube.transport import KubeClient
from webhook.policy.names import ENFORCE_LABEL

__all__ = ["enforced_namespaces", "lease_holder", "ready_endpoints"]


class _Conditions(msgspec.Struct, frozen=True):
    ready: bool | None = None


class _Endpoint(msgspec.Struct, frozen=True):
    conditions: _Conditions = _Conditions()


class _Slice(msgspec.Struct, frozen=True):
    endpoints: list[_Endpoint] | None = None


class _Slices(msgspec.Struct, frozen=True):
    items: list[_Slice] | None = None


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: int | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


class _Named(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Names(msgspec.Struct, frozen=True):
    items: list[_Named] | None = None


def ready_endpoints(client: KubeClient, namespace: str, service: str) -> int:
    """Return how many ready endpoints a Service has; an endpoint that doesn't say is ready, as for kube-proxy."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    found = 0
    for page in client.pages(path, query=[("labelSelector", f"kubernetes.io/service-name={service}")]):
        for each in msgspec.json.decode(page, type=_Slices).items or ():
            found += sum(endpoint.conditions.ready is not False for endpoint in each.endpoints or ())
    return found


def lease_holder(client: KubeClient, namespace: str, name: str, now: datetime) -> str | None:
    """Return who holds a Lease; None where nobody does, or its time has run out at `now`."""
    try:
        raw = client.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
    except ApiError as error:
        if error.status == 404:
            return None
        raise
    spec = msgspec.json.decode(raw, type=_Lease).spec
    if not spec.holder_identity or not spec.renew_time:
        return None
    ends_at = datetime.fromisoformat(spec.renew_time) + timedelta(seconds=spec.lease_duration_seconds or 0)
    return spec.holder_identity if now < ends_at else None


def enforced_namespaces(client: KubeClient) -> dict[str, str]:
    """Return the namespaces that carry the enforcement label, and its value."""
    found: dict[str, str] = {}
    for page in client.pages("/api/v1/namespaces", query=[("labelSelector", ENFORCE_LABEL)]):
        for each in msgspec.json.decode(page, type=_Names).items or ():
            found[each.metadata.name] = (each.metadata.labels or {})[ENFORCE_LABEL]
    return found
