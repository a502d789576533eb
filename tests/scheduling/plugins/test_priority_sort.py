from __future__ import annotations

from webhook.scheduling.plugins.priority_sort import PrioritySort
from webhook.scheduling.testing import make_pod


def test_higher_priority_goes_first_and_then_the_longer_wait() -> None:
    plugin = PrioritySort()
    waiting = {
        "urgent": plugin.sort_key(make_pod(spec={"priority": 1000}), 30.0),
        "early": plugin.sort_key(make_pod(), 10.0),
        "late": plugin.sort_key(make_pod(spec={"priority": 0}), 20.0),
        "lazy": plugin.sort_key(make_pod(spec={"priority": -5}), 1.0),
    }

    assert sorted(waiting, key=lambda name: waiting[name]) == ["urgent", "early", "late", "lazy"]
