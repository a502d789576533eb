"""ImageLocality: likes nodes that already have the pod's images.

An image counts its size times the share of nodes that have it, so that one node with everything doesn't
attract all pods. Source: plugins/imagelocality/image_locality.go.
"""

from __future__ import annotations

import numpy as np

from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.plugin import MAX_NODE_SCORE, Scores

__all__ = ["ImageLocality"]

_MIB = 1024 * 1024
_LOWEST = 23 * _MIB
_HIGHEST_PER_IMAGE = 1000 * _MIB


class ImageLocality:
    """Reads the images in the status of the nodes."""

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """Return 0 up to 23 MiB and 100 from 1000 MiB per image on, in proportion between."""
        images = _images(pod)
        present = np.zeros(len(nodes), dtype=np.int64)
        found = [(name, state) for name in images if (state := nodes.image(name)) is not None]
        if not found:
            return present
        for name, state in found:
            spread = len(state.node_names) / nodes.cluster_size
            present += int(state.size * spread) * nodes.has_image(name)
        highest = _HIGHEST_PER_IMAGE * len(images)
        above = np.minimum(np.maximum(present, _LOWEST), highest) - _LOWEST
        return MAX_NODE_SCORE * above // (highest - _LOWEST)


def _images(pod: Pod) -> list[str]:
    containers = (*pod.spec.init_containers, *pod.containers)
    volumes = (volume.image.reference for volume in pod.spec.volumes if volume.image is not None)
    return [_with_tag(name) for name in (*(container.image for container in containers), *volumes)]


def _with_tag(name: str) -> str:
    # A colon after the last slash begins a tag or is part of a digest; before it, a port.
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
