"""What an audit reads from a cluster: lists, page by page, of which only parts are decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from webhook.admission.objects import CRON_JOB, POD, Kind
from webhook.errors import ApiError, ClusterError, ConfigurationError
from webhook.kube.meta import ObjectMeta, OwnerReference
from webhook.kube.transport import KubeClient
from webhook.policy.model import Policy
from webhook.policy.parse import parse_policy
from webhook.policy.syntax import DNS_LABEL, is_dns_label

__all__ = ["Item", "NoPolicy", "items", "namespace_labels", "policy_in_force"]

POLICY_CONFIG_MAP = "custom-scheduler-policy"
POLICY_KEY = "policy.yaml"

_GONE = 410
_NOT_FOUND = 404
_ENDED = ("Succeeded", "Failed")
_JOB_ENDED = ("Complete", "Failed")
_RESOURCES: Mapping[Kind, tuple[str, str]] = MappingProxyType(
    {
        ("apps", "Deployment"): ("/apis/apps/v1", "deployments"),
        ("apps", "StatefulSet"): ("/apis/apps/v1", "statefulsets"),
        ("apps", "DaemonSet"): ("/apis/apps/v1", "daemonsets"),
        CRON_JOB: ("/apis/batch/v1", "cronjobs"),
        ("apps", "ReplicaSet"): ("/apis/apps/v1", "replicasets"),
        ("", "ReplicationController"): ("/api/v1", "replicationcontrollers"),
        ("batch", "Job"): ("/apis/batch/v1", "jobs"),
        POD: ("/api/v1", "pods"),
    }
)


class NoPolicy(ConfigurationError):
    """There is no ConfigMap with a policy."""


class _Scale(msgspec.Struct, frozen=True, gc=False):
    replicas: int | None = None


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    replicas: int | None = None
    conditions: list[_Condition] | None = None


class _Part(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _Scale = _Scale()
    status: _Status = _Status()


class Item:
    """An object of a list: what an audit asks each, and on demand the whole of it."""

    __slots__ = ("_part", "_raw", "metadata")

    def __init__(self, raw: msgspec.Raw) -> None:
        self._raw = raw
        self._part = msgspec.json.decode(raw, type=_Part)
        self.metadata = self._part.metadata

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages it."""
        owners = self.metadata.owner_references or ()
        return next((owner for owner in owners if owner.controller), None)

    @property
    def is_over(self) -> bool:
        """Whether a pod or a Job has ended, or is being deleted, or a ReplicaSet is scaled to nothing."""
        status, spec = self._part.status, self._part.spec
        return (
            self.metadata.deletion_timestamp is not None
            or status.phase in _ENDED
            or any(each.type in _JOB_ENDED and each.status == "True" for each in status.conditions or ())
            or (spec.replicas == 0 and not status.replicas)
        )

    def anew(self) -> dict[str, Any]:
        """Return the object as it would be created again: with no owner, node or status yet."""
        obj: dict[str, Any] = msgspec.json.decode(self._raw)
        metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
        for key in ("managedFields", "ownerReferences"):
            metadata.pop(key, None)
        spec.pop("nodeName", None)
        return {"metadata": metadata, "spec": spec}


class _Page(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] = []


class _Namespace(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


class _NamespacePage(msgspec.Struct, frozen=True):
    items: list[_Namespace] = []


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] | None = None


def items(client: KubeClient, kind: Kind, namespace: str | None) -> Iterator[Item]:
    """Yield the objects of `kind` in a namespace, or in all, held a page at a time. Raises ClusterError."""
    prefix, resource = _RESOURCES[kind]
    path = f"{prefix}/namespaces/{namespace}/{resource}" if namespace else f"{prefix}/{resource}"
    try:
        for page in client.pages(path):
            for raw in msgspec.json.decode(page, type=_Page).items:
                yield Item(raw)
    except ApiError as error:
        if error.status != _GONE:
            raise
        raise ClusterError(
            f"the list of {resource} grew too old while it was read (410); audit again, or fewer namespaces"
        ) from error


def namespace_labels(client: KubeClient, names: tuple[str, ...]) -> dict[str, Mapping[str, str]]:
    """Return the labels of the namespaces, of all where no names are given. Raises ConfigurationError, ClusterError."""
    if not names:
        pages = client.pages("/api/v1/namespaces")
        found = [each for page in pages for each in msgspec.json.decode(page, type=_NamespacePage).items]
    else:
        found = [_namespace(client, name) for name in names]
    return {each.metadata.name: each.metadata.labels or {} for each in found}


def policy_in_force(client: KubeClient, own_namespace: str) -> tuple[Policy, str]:
    """Return the policy in our namespace's ConfigMap, and how to call that.

    Raises NoPolicy, PolicyError, ClusterError.
    """
    source = f"ConfigMap {own_namespace}/{POLICY_CONFIG_MAP}"
    path = f"/api/v1/namespaces/{own_namespace}/configmaps/{POLICY_CONFIG_MAP}"
    try:
        config_map = msgspec.json.decode(client.request("GET", path), type=_ConfigMap)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        raise NoPolicy(f"{source}: not found") from error
    if POLICY_KEY not in (config_map.data or {}):
        raise NoPolicy(f"{source}: has no {POLICY_KEY}")
    text = (config_map.data or {})[POLICY_KEY]
    return parse_policy(text, source=f"{source} {POLICY_KEY}", own_namespace=own_namespace), source


def _namespace(client: KubeClient, name: str) -> _Namespace:
    # It becomes a part of the path: what isn't a name would ask for something else, and an empty one for all.
    if not is_dns_label(name):
        raise ConfigurationError(f"namespace {name!r}: expected a namespace's name: {DNS_LABEL}")
    try:
        return msgspec.json.decode(client.request("GET", f"/api/v1/namespaces/{name}"), type=_Namespace)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        raise ConfigurationError(
            f"namespace {name}: not found; see which there are: kubectl get namespaces"
        ) from error
