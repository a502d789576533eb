"""The plugin that docs/algorithms.md writes twice: asked about each node, and about all nodes at once."""

from __future__ import annotations

import re
import time
from pathlib import Path

from webhook.scheduling.nodes import Nodes
from webhook.scheduling.objects import Pod
from webhook.scheduling.per_node import as_filter, as_score
from webhook.scheduling.sources import FileUnit
from webhook.scheduling.testing import make_cache, make_handle, make_node, make_pod

__all__ = ["LEVELS", "PluginBench"]

# In the order of the guide.
LEVELS = ("plugin-per-node", "plugin-vectorised")

_GUIDE = Path(__file__).parents[1] / "docs/algorithms.md"
_FILE = re.compile(r"^<!-- file: plugins/newest\.py -->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class PluginBench:
    """The plugin on one of its levels, alone: what is kept from one decision to the next is left out."""

    def __init__(self, level: str, *, nodes: int) -> None:
        self._table = make_cache(
            *(
                make_node(f"node-{number}", labels={"bought": str(2020 + number % 10)})
                for number in range(nodes)
            )
        ).table
        texts = dict(zip(LEVELS, _FILE.findall(_GUIDE.read_text()), strict=True))
        imported = FileUnit(Path("newest.py"), texts[level].encode()).load()
        (registration,) = imported.registrations
        plugin = registration.factory({}, make_handle())
        imported.forget()
        filtering, scoring = as_filter(registration.name, plugin), as_score(plugin)
        assert filtering is not None
        assert scoring is not None
        self._filter, self._score = filtering, scoring

    def run(self, pods: int) -> list[int]:
        """Return the nanoseconds of processor time that filter and score of each pod take together."""
        return [self._ask(make_pod(f"pod-{number}")) for number in range(pods)]

    def _ask(self, pod: Pod) -> int:
        began = time.thread_time_ns()
        nodes = Nodes(self._table)
        self._filter.filter(pod, nodes)
        self._score.score(pod, nodes)
        return time.thread_time_ns() - began
