"""Decisions on a cluster or a snapshot, as the scheduler would take them; nothing is bound."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import msgspec

from webhook.errors import ConfigurationError
from webhook.inspect.creation import as_created
from webhook.inspect.manifests import Manifest
from webhook.inspect.world import World
from webhook.kube.meta import ObjectMeta
from webhook.scheduling.config import SchedulerConfiguration
from webhook.scheduling.explanation import Explanation, explain
from webhook.scheduling.made import close_plugins
from webhook.scheduling.objects import Pod, PodStatus
from webhook.scheduling.plugin_manager import load_plugins
from webhook.scheduling.plugin_set import Enabled
from webhook.scheduling.profile import build_frameworks, made_of
from webhook.scheduling.quantity import InvalidQuantity
from webhook.scheduling.resources import placed_requests

__all__ = ["Simulation"]

# Elsewhere a null is as good as no field: k8s.io/apimachinery decodes it to the zero value.
_NULLS_OF_MAPS = {
    **dict.fromkeys(("labels", "annotations", "nodeSelector", "matchLabels"), ""),
    **dict.fromkeys(("requests", "limits"), "0"),
}


class Simulation:
    """The profiles of a configuration over a world, which may be filled later. Raises ConfigurationError.

    Of equal nodes the same is drawn each time. `close` ends it.
    """

    def __init__(self, world: World, configuration: SchedulerConfiguration) -> None:
        self._world = world
        self._frameworks = build_frameworks(
            configuration.profiles,
            load_plugins(configuration.plugin_sources),
            world.cache,
            random.Random(0),  # noqa: S311 (breaks ties between equal nodes)
        )

    def close(self) -> None:
        """Close all plugins."""
        close_plugins(made_of(self._frameworks))

    def live(self, namespace: str, name: str) -> Pod:
        """Return a pod of the world; one that has its node is given back as it was before, and holds nothing.

        Raises ConfigurationError where there is none.
        """
        pod = self._world.pods.get(f"{namespace}/{name}")
        if pod is None:
            raise ConfigurationError(
                f"pod {namespace}/{name}: not found among the pods that haven't ended; "
                "see which there are: kubectl get pods -A"
            )
        if not pod.spec.node_name:
            return pod
        self._world.cache.remove_pod(pod)
        return msgspec.structs.replace(
            pod, spec=msgspec.structs.replace(pod.spec, node_name=""), status=PodStatus()
        )

    def from_manifest(self, manifest: Manifest, *, namespace: str) -> Pod:
        """Return the pod of a manifest as the API server would create it, in `namespace` if it names none.

        Raises ConfigurationError where it is no pod.
        """
        where = f"{manifest.source}:{manifest.line}: Pod {manifest.display_name}"
        try:
            pod = as_created(
                msgspec.convert(_without_nulls(manifest.value()), Pod),
                metadata=ObjectMeta(
                    name=manifest.display_name,
                    namespace=manifest.namespace or namespace,
                    # Two pods of one file may have one name, where it is to be generated.
                    uid=where,
                ),
                scheduler_name=next(iter(self._frameworks)),
            )
            pod = self._world.defaults.apply(pod)
            placed_requests(pod)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error}") from error
        except RecursionError:
            raise ConfigurationError(f"{where}: is nested too deeply") from None
        except (msgspec.ValidationError, InvalidQuantity) as error:
            raise ConfigurationError(
                f"{where}: {error}; see what the API server says: kubectl apply --dry-run=server"
            ) from error
        return pod

    def profile_for(self, pod: Pod) -> str:
        """Return the schedulerName of the profile that decides: the pod's, or the first where it names another one."""
        name = pod.spec.scheduler_name
        return name if name in self._frameworks else next(iter(self._frameworks))

    def could_refuse(self, pod: Pod) -> list[str]:
        """Return who has a word after the node is chosen, and so could still refuse it: `Permit of Gang`."""
        plugins = self._frameworks[self.profile_for(pod)].plugins
        return [
            *_named("Reserve", plugins.reserve),
            *_named("Permit", plugins.permit),
            *_named("PreBind", plugins.pre_bind),
        ]

    def could_help(self, pod: Pod) -> list[str]:
        """Return who has a word where no node is feasible, and so could make one so: `PostFilter of Evictor`."""
        return _named("PostFilter", self._frameworks[self.profile_for(pod)].plugins.post_filter)

    def decide(self, pod: Pod) -> Explanation:
        """Return the decision on a pod with its reasons; the next decision counts the pod where it was put."""
        if pod.is_terminating:
            message = "the pod is being deleted, so no node is chosen for it"
            return Explanation(pod=pod.key, node=None, message=message)
        cache = self._world.cache
        told = explain(self._frameworks[self.profile_for(pod)], cache.table, pod)
        if told.node is not None:
            cache.assume(pod, told.node)
        return told


def _named(point: str, enabled: Iterable[Enabled[Any]]) -> list[str]:
    return [f"{point} of {each.name}" for each in enabled]


def _without_nulls(value: Any, null: str | None = None) -> Any:
    """Return a value without the fields that are null; in a map of strings or quantities `null` stands for them."""
    if isinstance(value, dict):
        fields = ((key, null if each is None else each) for key, each in value.items())
        return {
            key: _without_nulls(each, _NULLS_OF_MAPS.get(key)) for key, each in fields if each is not None
        }
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
