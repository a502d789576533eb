from __future__ import annotations

import msgspec

from tests.admission.reviews import apply
from webhook.admission.patch import Add, pointer


def test_pointer_escapes_tilde_before_slash() -> None:
    assert pointer("metadata", "labels", "x.io/a~b") == "/metadata/labels/x.io~1a~0b"
    assert pointer("~1") == "/~01"


def test_pointer_counts_lists() -> None:
    assert pointer("terms", 0, "-") == "/terms/0/-"


def test_operation_is_written_as_rfc_6902() -> None:
    assert msgspec.json.decode(msgspec.json.encode(Add(path="/a", value={"b": 1}))) == {
        "op": "add",
        "path": "/a",
        "value": {"b": 1},
    }


def test_escaped_pointer_reaches_the_key_and_no_other() -> None:
    labels = {"x.io": {"a~b": "untouched"}, "x.io/a~b": "old"}

    added = {"op": "add", "path": pointer("x.io/a~b"), "value": "new"}

    assert apply(labels, [added]) == {"x.io": {"a~b": "untouched"}, "x.io/a~b": "new"}
