"""Plugins by name: `register_plugin`, the `@plugin` decorator, and registries that refuse duplicates."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from webhook.errors import ConfigurationError
from webhook.scheduling.plugin import Factory, Handle

__all__ = [
    "Registration",
    "Registry",
    "as_factory",
    "collecting",
    "default_registry",
    "plugin",
    "register_plugin",
    "registered_in",
]

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Registration:
    """A name, what makes the plugin, and where it came from; `module` is the one whose code has registered it."""

    name: str
    factory: Factory
    source: str
    module: str = ""
    is_built_in: bool = False

    @property
    def documentation(self) -> str:
        """What the plugin's module says, and its class or function."""
        module = sys.modules.get(str(getattr(self.factory, "__module__", "")))
        texts = (inspect.getdoc(module) if module is not None else None, inspect.getdoc(self.factory))
        return "\n\n".join(filter(None, texts))


class Registry:
    """The plugins that profiles can name."""

    def __init__(self) -> None:
        self._registrations: dict[str, Registration] = {}

    def __iter__(self) -> Iterator[Registration]:
        return iter(self._registrations.values())

    def __contains__(self, name: str) -> bool:
        return name in self._registrations

    def __len__(self) -> int:
        return len(self._registrations)

    def register(
        self,
        name: str,
        factory: Factory,
        *,
        source: str = "",
        module: str = "",
        is_built_in: bool = False,
    ) -> None:
        """Add a plugin; raises ConfigurationError for an empty or taken name or a factory that isn't callable."""
        if not _is_name(name):
            raise ConfigurationError(f"a plugin needs a name, got {name!r}")
        if not callable(factory):
            raise ConfigurationError(f"plugin {name}: expected a factory to call, got {factory!r}")
        source = source or str(getattr(factory, "__module__", ""))
        taken = self._registrations.get(name)
        if taken is not None:
            raise ConfigurationError(
                f"plugin {name} from {source} is already registered by {taken.source}; give it another name"
            )
        self._registrations[name] = Registration(name, factory, source, module, is_built_in)

    def add(self, registration: Registration) -> None:
        """Take over what is registered elsewhere; the same once more is no fault."""
        if self._registrations.get(registration.name) != registration:
            self.register(
                registration.name,
                registration.factory,
                source=registration.source,
                module=registration.module,
                is_built_in=registration.is_built_in,
            )

    def get(self, name: str) -> Registration:
        """Return the plugin of that name; raises ConfigurationError naming those that exist."""
        registration = self._registrations.get(name)
        if registration is None:
            known = ", ".join(sorted(self._registrations)) or "none"
            raise ConfigurationError(f"no plugin is called {name}; registered are: {known}")
        return registration


default_registry = Registry()
# A module is imported once, by whoever comes first, but its plugins are there for all who name it.
_by_module: WeakKeyDictionary[ModuleType, dict[str, Registration]] = WeakKeyDictionary()
_target: ContextVar[Registry] = ContextVar("registry that takes registrations", default=default_registry)


@contextmanager
def collecting(registry: Registry) -> Iterator[None]:
    """Within the block, `register_plugin` and `@plugin` add to this registry instead of the default one."""
    token = _target.set(registry)
    try:
        yield
    finally:
        _target.reset(token)


def register_plugin(name: str, factory: Factory) -> None:
    """Make a plugin available under a name; `factory(args, handle)` is called for each profile that uses it, and anew as it changes.

    Raises ConfigurationError if the name is taken.
    """
    _register(name, factory, sys._getframe(1).f_globals)  # noqa: SLF001 (who calls)


def registered_in(module: ModuleType) -> tuple[Registration, ...]:
    """Return what the module's own code has registered, however it came to be imported."""
    return tuple(_by_module.get(module, {}).values())


def plugin(name: str) -> Callable[[F], F]:
    """Register the decorated class or function under a name.

    A function, or a class with an `__init__`, is called with `(args, handle)`. A class without one takes no
    arguments, and a configuration that gives it some is refused.
    """

    def decorate(target: F) -> F:
        _register(name, as_factory(name, target), sys._getframe(1).f_globals)  # noqa: SLF001 (who decorates)
        return target

    return decorate


def as_factory(name: str, target: Callable[..., object]) -> Factory:
    """Return what `plugin` registers for the class or function that it decorates."""
    if not isinstance(target, type) or inspect.signature(target).parameters:
        return target

    def without_arguments(args: Mapping[str, Any], _handle: Handle, /) -> object:
        if args:
            raise ConfigurationError(f"plugin {name} takes no arguments, got {', '.join(sorted(args))}")
        return target()

    without_arguments.__module__ = target.__module__
    without_arguments.__doc__ = inspect.getdoc(target)
    return without_arguments


def _register(name: str, factory: Factory, caller: Mapping[str, Any]) -> None:
    registry = _target.get()
    module = str(caller.get("__name__", ""))
    registry.register(name, factory, module=module)
    if module in sys.modules:
        _by_module.setdefault(sys.modules[module], {})[name] = registry.get(name)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""
