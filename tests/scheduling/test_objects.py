from __future__ import annotations

import msgspec

from webhook.scheduling.objects import Node, Pod


def test_a_bookmarks_pod_with_nulls_decodes() -> None:
    line = b"""{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12","creationTimestamp":null},
    "spec":{"containers":null},"status":{}}"""

    pod = msgspec.json.decode(line, type=Pod)

    assert pod.containers == ()
    assert pod.metadata.resource_version == "12"


def test_a_null_list_of_terms_decodes() -> None:
    text = b"""{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
    {"nodeSelectorTerms":null}}}}}"""

    pod = msgspec.json.decode(text, type=Pod)

    assert pod.spec.affinity is not None
    assert pod.spec.affinity.node_affinity is not None
    assert pod.spec.affinity.node_affinity.required is not None
    assert pod.spec.affinity.node_affinity.required.node_selector_terms is None


def test_fields_that_scheduling_does_not_read_are_ignored() -> None:
    text = (
        b'{"metadata":{"name":"n","managedFields":[{"x":1}]},"spec":{"podCIDR":"10.0.0.0/24"},"new":{"a":[]}}'
    )

    node = msgspec.json.decode(text, type=Node)

    assert node.name == "n"


def test_equal_taints_compare_equal_whenever_they_were_added() -> None:
    early = b'{"spec":{"taints":[{"key":"a","effect":"NoExecute","timeAdded":"2025-01-01T00:00:00Z"}]}}'
    late = b'{"spec":{"taints":[{"key":"a","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}]}}'

    assert (
        msgspec.json.decode(early, type=Node).spec.taints == msgspec.json.decode(late, type=Node).spec.taints
    )


def test_a_pod_knows_whether_it_has_ended_or_is_ending() -> None:
    done = msgspec.json.decode(b'{"status":{"phase":"Succeeded"}}', type=Pod)
    ending = msgspec.json.decode(b'{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}', type=Pod)

    assert (done.is_terminal, done.is_terminating) == (True, False)
    assert (ending.is_terminal, ending.is_terminating) == (False, True)
