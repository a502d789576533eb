"""Which nodes have which image. Source: pkg/scheduler/backend/cache (image states)."""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.scheduling.objects import Node

__all__ = ["ImageState", "Images"]


@dataclass(slots=True)
class ImageState:
    """The size that the first node reported for an image, in bytes, and the nodes that have it."""

    size: int
    node_names: set[str] = field(default_factory=set)


class Images:
    """The images of all nodes, by each of their names."""

    def __init__(self) -> None:
        self._states: dict[str, ImageState] = {}

    def add(self, node: Node) -> None:
        """Count the images of a node."""
        for image in node.status.images:
            for name in image.names or ():
                self._states.setdefault(name, ImageState(image.size_bytes)).node_names.add(node.name)

    def remove(self, node: Node) -> None:
        """Take back what `add` counted; an image that no node has any more is forgotten."""
        for image in node.status.images:
            for name in image.names or ():
                state = self._states.get(name)
                if state is not None:
                    state.node_names.discard(node.name)
                    if not state.node_names:
                        del self._states[name]

    def get(self, name: str) -> ImageState | None:
        """Return the state of an image that at least one node has."""
        return self._states.get(name)
