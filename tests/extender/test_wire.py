from __future__ import annotations

import json

import pytest

from webhook.extender.wire import (
    MalformedArgs,
    decode_args,
    encode_error,
    encode_filter_result,
    encode_nodes,
    encode_priorities,
)

POD = {"metadata": {"name": "web", "namespace": "team", "uid": "1"}, "spec": {"containers": []}}


def test_a_request_with_names_is_read_as_go_writes_it() -> None:
    body = json.dumps({"Pod": POD, "Nodes": None, "NodeNames": ["a", "b"]}).encode()

    args = decode_args(body)

    assert args.pod.key == "team/web"
    assert json.loads(args.names) == ["a", "b"]
    assert args.objects is None


def test_keys_are_read_in_any_case() -> None:
    args = decode_args(json.dumps({"pod": POD, "nodenames": ["a"]}).encode())

    assert json.loads(args.names) == ["a"]


def test_a_request_with_nodes_keeps_them_as_they_were_sent() -> None:
    nodes = [{"metadata": {"name": "a"}, "spec": {"future": {"field": 1}}}, {"metadata": {"name": "b"}}]
    body = json.dumps({"Pod": POD, "Nodes": {"items": nodes}, "NodeNames": None}).encode()

    args = decode_args(body)

    assert json.loads(args.names) == ["a", "b"]
    assert args.objects is not None
    assert json.loads(encode_nodes(args.objects, [b'"a"']))["items"] == nodes[:1]


def test_no_nodes_at_all_are_a_list_too() -> None:
    args = decode_args(json.dumps({"Pod": POD, "Nodes": {"items": None}, "NodeNames": None}).encode())

    assert (args.names, args.objects) == (b"[]", {})


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b'{"Pod": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"Pod": {}, "Nodes": {"items": [' + b'{"x":' * 100_000, "nested too deeply"),
        (json.dumps({"NodeNames": []}).encode(), "has no 'pod'"),
        (json.dumps({"Pod": POD, "Nodes": None, "NodeNames": None}).encode(), "neither NodeNames nor Nodes"),
        (json.dumps({"Pod": {"spec": 1}, "NodeNames": []}).encode(), r"\$.spec"),
        (json.dumps({"Pod": POD, "Nodes": {"items": [{}]}}).encode(), "metadata"),
    ],
)
def test_what_is_no_request_is_refused_with_the_fault(body: bytes, fault: str) -> None:
    with pytest.raises(MalformedArgs, match=fault):
        decode_args(body)


def test_a_filter_result_has_the_keys_that_go_reads() -> None:
    result = encode_filter_result(
        names=b'["a"]',
        failed={'say "no"': [b'"b"', b'"c"']},
        unresolvable={"never": [b'"d"'], "nor": [b'"e"']},
    )

    assert json.loads(result) == {
        "Nodes": None,
        "NodeNames": ["a"],
        "FailedNodes": {"b": 'say "no"', "c": 'say "no"'},
        "FailedAndUnresolvableNodes": {"d": "never", "e": "nor"},
        "Error": "",
    }


def test_a_fault_of_ours_is_a_result_with_an_error() -> None:
    assert json.loads(encode_error("plugin X raised"))["Error"] == "plugin X raised"


def test_priorities_are_a_bare_list() -> None:
    assert json.loads(encode_priorities({7: [b'"a"', b'"b"'], 0: [b'"c"']})) == [
        {"Host": "a", "Score": 7},
        {"Host": "b", "Score": 7},
        {"Host": "c", "Score": 0},
    ]


def test_no_node_has_no_priority() -> None:
    assert json.loads(encode_priorities({})) == []
    assert json.loads(encode_priorities({0: []})) == []
