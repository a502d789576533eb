"""Containers: what they ask for, and what the kubelet granted."""

from __future__ import annotations

import msgspec

from webhook.scheduling.objects.base import ApiObject, ResourceList

__all__ = ["Container", "ContainerPort", "ContainerStatus", "ResourceRequirements"]


class ResourceRequirements(ApiObject, frozen=True, kw_only=True):
    """Requests and limits of a container or of a whole pod."""

    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)


class ContainerPort(ApiObject, frozen=True, kw_only=True):
    """A port of a container; a `host_port` of 0 takes none on the node."""

    host_port: int = 0
    container_port: int = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(name="hostIP", default="")


class _RestartRule(ApiObject, frozen=True, kw_only=True):
    action: str = ""


class _VolumeMount(ApiObject, frozen=True, kw_only=True):
    bind_mount_options: tuple[str, ...] = ()


class Container(ApiObject, frozen=True, kw_only=True):
    """A container or init container."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[_RestartRule, ...] = ()
    volume_mounts: tuple[_VolumeMount, ...] = ()

    @property
    def is_sidecar(self) -> bool:
        """An init container that keeps running beside the others."""
        return self.restart_policy == "Always"


class ContainerStatus(ApiObject, frozen=True, kw_only=True):
    """The resources that the kubelet has granted to a container, beside those in its spec."""

    name: str = ""
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None
