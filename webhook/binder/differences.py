"""What is different about a profile's plugins after a change, in words for the log."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from webhook.scheduling.config import PluginsConfig
from webhook.scheduling.plugin_instances import EXTENSION_POINTS
from webhook.scheduling.plugin_set import Enabled, PluginSet

__all__ = ["differences"]


def differences(old: PluginSet, new: PluginSet) -> Iterator[str]:
    """Yield a phrase for each plugin that came, went or was made anew, and each extension point where others differ."""
    before, after = old.made, new.made
    yield from (f"plugin {name} is in use" for name in after if name not in before)
    yield from (f"plugin {name} is not in use any more" for name in before if name not in after)
    both = before.keys() & after.keys()
    yield from (
        f"plugin {name} was made anew"
        for name in before
        if name in both and before[name].plugin is not after[name].plugin
    )
    for field in msgspec.structs.fields(PluginsConfig):
        if field.name not in EXTENSION_POINTS:
            continue
        ran, run = _at(field.name, old), _at(field.name, new)
        if [ran[name] for name in ran if name in both] != [run[name] for name in run if name in both]:
            yield f"{field.encode_name} runs {', '.join(run.values()) or 'nothing'}"


def _at(point: str, plugins: PluginSet) -> dict[str, str]:
    """Return the plugins of an extension point in their order, each as it is told."""
    enabled: Enabled[object] | tuple[Enabled[object], ...] = getattr(plugins, point)
    return {
        each.name: f"{each.name} (weight {each.weight})" if point == "score" else each.name
        for each in (enabled if isinstance(enabled, tuple) else (enabled,))
    }
