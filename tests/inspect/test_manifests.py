from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from webhook.inspect import manifests
from webhook.inspect.manifests import Broken, Manifest, read_manifests, read_text

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: n}\n"


def objects(text: str) -> list[Manifest]:
    found = list(read_manifests(text, source="m.yaml"))
    assert all(isinstance(part, Manifest) for part in found), found
    return [part for part in found if isinstance(part, Manifest)]


def broken(text: str) -> Broken:
    (found,) = (part for part in read_manifests(text, source="m.yaml") if isinstance(part, Broken))
    return found


def test_documents_are_told_apart_with_their_lines() -> None:
    text = f"# first\n{POD}---\n{POD}--- # third\n{POD}"

    assert [found.line for found in objects(text)] == [2, 6, 10]


def test_windows_line_ends_and_a_byte_order_mark_make_no_difference(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + f"{POD}---\n{POD}".replace("\n", "\r\n").encode())

    text = read_text(file, io.BytesIO())

    assert isinstance(text, str)
    assert [(found.line, found.name) for found in objects(text)] == [(1, "a"), (5, "a")]


@pytest.mark.parametrize("separator", ["---\n", "---\r\n"])
def test_each_of_several_files_in_one_pipe_may_have_a_byte_order_mark(separator: str) -> None:
    found = objects(f"{POD}{separator}\ufeff{POD}")

    assert [(each.line, each.name) for each in found] == [(1, "a"), (5, "a")]


def test_a_chart_that_is_not_rendered_is_told_how_to_be() -> None:
    found = broken("apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}}\n")

    assert found.line == 3
    assert found.fault.endswith("helm template . | custom-scheduler check -")


def test_a_byte_order_mark_before_json_makes_no_difference() -> None:
    text = read_text(
        Path("-"),
        io.BytesIO(b'\xef\xbb\xbf{"apiVersion": "v1", "kind": "Pod"}{"apiVersion": "v1", "kind": "Node"}'),
    )

    assert isinstance(text, str)
    assert [found.kind for found in objects(text)] == ["Pod", "Node"]


def test_json_and_yaml_may_stand_in_one_text() -> None:
    text = f'{POD}---\n{{"apiVersion": "v1", "kind": "Pod"}}\n{{"apiVersion": "v1", "kind": "Node"}}\n'

    assert [(found.kind, found.line) for found in objects(text)] == [("Pod", 1), ("Pod", 5), ("Node", 6)]


def test_yaml_in_flow_style_is_not_taken_for_broken_json() -> None:
    assert [found.kind for found in objects("{apiVersion: v1, kind: Pod}")] == ["Pod"]


def test_json_that_ends_too_early_is_told_as_json() -> None:
    assert "is not JSON" in broken('{"apiVersion": "v1",\n "kind": ').fault


def test_lists_are_taken_apart() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a}}
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {generateName: b-}}
"""

    assert [(found.group_kind, found.display_name, found.line) for found in objects(text)] == [
        (("", "Pod"), "a", 4),
        (("apps", "Deployment"), "b-*", 8),
    ]


def test_the_items_of_a_typed_list_get_its_kind() -> None:
    text = json.dumps(
        {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{"metadata": {"name": "a"}}]}
    )

    assert [found.group_kind for found in objects(text)] == [("apps", "Deployment")]


def test_a_list_without_items_is_an_object_of_that_kind() -> None:
    assert [found.kind for found in objects("apiVersion: example.com/v1\nkind: PriceList\n")] == ["PriceList"]


def test_lists_inside_of_lists_have_an_end() -> None:
    text = "{apiVersion: v1, kind: List, items: [" * 6 + "]}" * 6

    assert "List inside of a List" in broken(text).fault


@pytest.mark.parametrize(
    "text", ["replicas: 2\n", "- a\n", "text\n", "kind: Pod\n", "apiVersion: v1\nkind: 5\n"]
)
def test_what_is_no_object_is_told(text: str) -> None:
    assert broken(text).fault == "is no Kubernetes object: it needs an apiVersion and a kind"


def test_a_broken_document_takes_no_other_with_it() -> None:
    found = list(read_manifests(f"{POD}---\na: [\n---\n{POD}", source="m.yaml"))

    assert [type(part) for part in found] == [Manifest, Broken, Manifest]
    assert isinstance(found[2], Manifest)
    assert found[2].line == 7


def test_a_field_has_the_line_of_its_value_or_of_what_should_hold_it() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata:
  labels:
    app: web
    example.com/tier: x
spec:
  containers:
  - name: a
  - name: b
"""
    (found,) = objects(text)

    assert found.line_of("metadata.labels[example.com/tier]") == 6
    assert found.line_of("metadata.labels.absent") == 5
    assert found.line_of("spec.containers[1].name") == 10
    assert found.line_of("spec.containers[7].name") == 9
    assert found.line_of("nothing.like.that") == 1


def test_standard_input_is_read_for_a_dash() -> None:
    assert read_text(Path("-"), io.BytesIO(b"a: 1")) == "a: 1"


def test_a_folder_is_told_with_what_to_do(tmp_path: Path) -> None:
    told = read_text(tmp_path, io.BytesIO())

    assert isinstance(told, Broken)
    assert f"kustomize build {tmp_path} | custom-scheduler check -" in told.fault


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = read_text(tmp_path / "absent", io.BytesIO())

    assert isinstance(told, Broken)
    assert "No such file or directory" in told.fault


def test_other_encodings_are_told() -> None:
    told = read_text(Path("-"), io.BytesIO("a: ä".encode("utf-16")))

    assert isinstance(told, Broken)
    assert told.fault == "byte 0 is not UTF-8; save the file as UTF-8"


def test_a_text_that_is_too_large_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_BYTES", 10)
    stdin = io.BytesIO(b"x" * 100)

    told = read_text(Path("-"), stdin)

    assert isinstance(told, Broken)
    assert "is larger than" in told.fault
    assert stdin.tell() == 11
