"""A Lease for each replica of the webhook, which tells the others the CA whose certificate it serves."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from webhook.errors import ApiError, ClusterError
from webhook.kube.meta import ObjectMeta, micro_time
from webhook.kube.transport import KubeClient

__all__ = [
    "CA_ANNOTATION",
    "LEASE_PREFIX",
    "NEXT_CA_ANNOTATION",
    "Pod",
    "ReplicaLease",
    "ReplicaLeases",
    "replica_name",
]

LEASE_PREFIX = "custom-scheduler-replica-"
CA_ANNOTATION = "custom-scheduler.io/ca"
"""The SHA-256 of the CA's certificate, in hexadecimal."""
NEXT_CA_ANNOTATION = "custom-scheduler.io/next-ca"
"""The same of the CA that a replica is about to serve, and may serve already."""

_NOT_FOUND = 404
# With room for the number of a worker.
_NAME_LENGTH = 240
_DELETE_SECONDS = 2.0


def replica_name(host: str) -> str:
    """Return the name under which the replica on this host has its Lease: the host's, as a Lease can be called.

    RFC 1123 subdomains: k8s.io/apimachinery pkg/util/validation IsDNS1123Subdomain.
    """
    fit = re.sub(r"[^a-z0-9.-]", "-", host.lower())[: _NAME_LENGTH - len(LEASE_PREFIX)]
    return ".".join(part.strip("-") for part in fit.split(".") if part.strip("-"))


@dataclass(frozen=True, kw_only=True)
class Pod:
    """The pod that a replica runs in."""

    name: str
    uid: str


class ReplicaLease(msgspec.Struct, frozen=True, kw_only=True):
    """What one replica told: the CA whose certificate it serves, and when the last that it told of has ended."""

    replica: str
    fingerprint: str
    following: str | None = None
    """The CA that it is moving to, and may serve already."""
    renewed_at: datetime | None
    ends_at: datetime | None

    @property
    def fingerprints(self) -> set[str]:
        """The CAs whose certificates it may serve."""
        return {self.fingerprint} | ({self.following} if self.following else set())

    def is_live(self, now: datetime) -> bool:
        """Tell whether the certificate may still be served; a Lease that doesn't say how long never ends."""
        return self.ends_at is None or now < self.ends_at


class ReplicaLeases:
    """The Leases of all replicas in a namespace. All methods raise ClusterError but `release`.

    `pod` is where this replica runs, if that is in the same namespace: the cluster's garbage collector then deletes
    the Lease once the pod is gone.
    """

    def __init__(self, client: KubeClient, *, namespace: str, pod: Pod | None = None) -> None:
        self._client = client
        # What ends the waits of the others must not keep a Lease from being released.
        self._releasing_client = client.apart()
        self._namespace = namespace
        self._pod = pod
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def hold(
        self,
        replica: str,
        fingerprint: str,
        *,
        now: datetime,
        ends_at: datetime,
        following: str | None = None,
    ) -> None:
        """Tell that `replica` serves a certificate of the CA `fingerprint`, which has ended by `ends_at`.

        `following` is the CA that it is about to serve instead.
        """
        annotations = {CA_ANNOTATION: fingerprint, NEXT_CA_ANNOTATION: following}
        try:
            self._client.request(
                "PATCH",
                f"{self._path}/{LEASE_PREFIX}{replica}",
                body=self._lease(replica, annotations, now, ends_at),
                content_type="application/merge-patch+json",
            )
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            # Null takes an annotation away in a patch; in an object that is made it would be an empty one.
            given = {key: value for key, value in annotations.items() if value is not None}
            self._client.request("POST", self._path, body=self._lease(replica, given, now, ends_at))

    def _lease(
        self, replica: str, annotations: Mapping[str, str | None], now: datetime, ends_at: datetime
    ) -> bytes:
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": LEASE_PREFIX + replica,
                "namespace": self._namespace,
                "annotations": annotations,
                "ownerReferences": self._owners(),
            },
            "spec": {
                "holderIdentity": replica,
                "renewTime": micro_time(now.timestamp()),
                "leaseDurationSeconds": max(1, math.ceil((ends_at - now).total_seconds())),
            },
        }
        return msgspec.json.encode(lease)

    def _owners(self) -> list[dict[str, str]]:
        if self._pod is None:
            return []
        return [{"apiVersion": "v1", "kind": "Pod", "name": self._pod.name, "uid": self._pod.uid}]

    def told(self) -> list[ReplicaLease]:
        """Return what the replicas have told, ended or not."""
        found: list[ReplicaLease] = []
        for page in self._client.pages(self._path):
            leases = msgspec.json.decode(page, type=_List).items or ()
            found += [told for lease in leases if (told := _told(lease))]
        return found

    def live(self, now: datetime) -> list[ReplicaLease]:
        """Return what has not ended, after deleting what has: replicas that were killed don't come back for it."""
        told = self.told()
        for each in told:
            if not each.is_live(now):
                self._delete(self._client, each.replica)
        return [each for each in told if each.is_live(now)]

    def release(self, replica: str) -> None:
        """Delete the Lease of a replica that serves no more; without an answer it ends by itself."""
        with suppress(ClusterError):
            self._delete(self._releasing_client, replica)
        self._releasing_client.close()

    def _delete(self, client: KubeClient, replica: str) -> None:
        try:
            client.request("DELETE", f"{self._path}/{LEASE_PREFIX}{replica}", timeout=_DELETE_SECONDS)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    renew_time: str | None = None
    lease_duration_seconds: int | None = None


class _Lease(msgspec.Struct):
    metadata: ObjectMeta
    spec: _Spec = _Spec()


class _List(msgspec.Struct):
    items: list[_Lease] | None = None


def _told(lease: _Lease) -> ReplicaLease | None:
    annotations = lease.metadata.annotations or {}
    fingerprint = annotations.get(CA_ANNOTATION)
    if not lease.metadata.name.startswith(LEASE_PREFIX) or not fingerprint:
        return None
    renewed_at = ends_at = None
    if lease.spec.renew_time and lease.spec.lease_duration_seconds:
        try:
            renewed_at = datetime.fromisoformat(lease.spec.renew_time).astimezone(UTC)
            ends_at = renewed_at + timedelta(seconds=lease.spec.lease_duration_seconds)
        except (ValueError, OverflowError):
            renewed_at = ends_at = None
    return ReplicaLease(
        replica=lease.metadata.name.removeprefix(LEASE_PREFIX),
        fingerprint=fingerprint,
        following=annotations.get(NEXT_CA_ANNOTATION),
        renewed_at=renewed_at,
        ends_at=ends_at,
    )
