"""Arguments as a KubeSchedulerConfiguration may have them: with the apiVersion and kind of kube-scheduler's own type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any

from webhook.errors import ConfigurationError
from webhook.scheduling.plugin import Factory, Handle

__all__ = ["with_typed_args"]

_GROUP = "kubescheduler.config.k8s.io"


def with_typed_args(name: str, factory: Factory) -> Factory:
    """Return a factory that takes both keys too, and raises ConfigurationError where they say another type.

    Either may be missing, as for kube-scheduler (decodeNestedObjects in pkg/scheduler/apis/config/v1).
    """

    # Not what a class has in its namespace: that isn't the function's.
    @wraps(factory, updated=())
    def typed(args: Mapping[str, Any], handle: Handle, /) -> object:
        return factory(_untyped(name, args), handle)

    return typed


def _untyped(name: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
    version, kind = args.get("apiVersion", f"{_GROUP}/v1"), args.get("kind", f"{name}Args")
    if not isinstance(version, str) or version.partition("/")[0] != _GROUP or kind != f"{name}Args":
        raise ConfigurationError(
            f"arguments of {name}: expected kind {name}Args of {_GROUP}, got kind {kind} of {version}; "
            "or leave apiVersion and kind out"
        )
    return {key: value for key, value in args.items() if key not in ("apiVersion", "kind")}
