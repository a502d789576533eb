from __future__ import annotations

from webhook.scheduling.plugins.node_name import NodeName
from webhook.scheduling.testing import make_cache, make_node, make_pod, run_filter

CACHE = make_cache(make_node("a"), make_node("b"))


def test_only_the_requested_node_will_do() -> None:
    assert run_filter(NodeName(), make_pod(node="b"), CACHE) == {
        "a": ["node(s) didn't match the requested node name"]
    }


def test_a_pod_that_names_no_node_may_go_anywhere() -> None:
    assert run_filter(NodeName(), make_pod(), CACHE) == {}
