"""The plugins that come with the scheduler, a file each."""

from __future__ import annotations

from webhook.scheduling.plugins.image_locality import ImageLocality
from webhook.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from webhook.scheduling.plugins.memory_usage import MemoryUsage
from webhook.scheduling.plugins.node_affinity import NodeAffinity
from webhook.scheduling.plugins.node_declared_features import NodeDeclaredFeatures
from webhook.scheduling.plugins.node_label import NodeLabel
from webhook.scheduling.plugins.node_name import NodeName
from webhook.scheduling.plugins.node_ports import NodePorts
from webhook.scheduling.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from webhook.scheduling.plugins.node_resources_fit import NodeResourcesFit
from webhook.scheduling.plugins.node_unschedulable import NodeUnschedulable
from webhook.scheduling.plugins.pod_topology_spread import PodTopologySpread
from webhook.scheduling.plugins.priority_sort import PrioritySort
from webhook.scheduling.plugins.scheduling_gates import SchedulingGates
from webhook.scheduling.plugins.taint_toleration import TaintToleration
from webhook.scheduling.plugins.typed_args import with_typed_args
from webhook.scheduling.plugins.volume_binding import VolumeBinding
from webhook.scheduling.plugins.volume_restrictions import VolumeRestrictions
from webhook.scheduling.plugins.volume_zone import VolumeZone
from webhook.scheduling.registry import Registry, as_factory

__all__ = ["register_built_in"]

_CLASSES = (
    SchedulingGates,
    PrioritySort,
    NodeName,
    NodeUnschedulable,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    NodeDeclaredFeatures,
    NodeLabel,
    MemoryUsage,
)
# Made once, so that what is loaded anew finds them as they were.
_FACTORIES = {
    each.__name__: with_typed_args(each.__name__, as_factory(each.__name__, each)) for each in _CLASSES
}


def register_built_in(registry: Registry) -> None:
    """Add all plugins of this package to the registry, under the names of their classes."""
    for name, factory in _FACTORIES.items():
        registry.register(name, factory, is_built_in=True)
