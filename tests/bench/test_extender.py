from __future__ import annotations

from bench.extender import measure


def test_both_extenders_are_asked_about_each_pod() -> None:
    ours, theirs = measure(nodes=20, pods=3)

    assert [len(ours), len(theirs)] == [3, 3]
    assert min(ours) > 0 < min(theirs)
