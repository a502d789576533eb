from __future__ import annotations

import json
from typing import Any

import pytest

from tests.admission.reviews import NODE, OPTED_IN, UID, Json, answer, body, operations, pod, review
from webhook.admission.mutate import mutate
from webhook.admission.objects import KubernetesObject
from webhook.admission.review import MalformedReview, decode_review, encode_response
from webhook.admission.validate import validate
from webhook.policy.model import Policy

POLICY = Policy(name="default")


def changed(**request: Any) -> bytes:
    return body(pod(), **request)


def without(key: str) -> bytes:
    envelope = json.loads(body(pod()))
    del envelope["request"][key]
    return json.dumps(envelope).encode()


def test_review_holds_what_decisions_look_at() -> None:
    asked = review(pod({"custom": "a"}), userInfo=NODE, dryRun=True)

    assert asked.uid == UID
    assert asked.group_kind == ("", "Pod")
    assert asked.operation == "CREATE"
    assert asked.namespace == "team-a"
    assert asked.user_info.username == "system:node:n1"
    assert asked.groups == ["system:nodes", "system:authenticated"]
    assert asked.dry_run is True
    assert asked.subject.labels == {"custom": "a"}
    assert asked.replaced is None


@pytest.mark.parametrize("metadata", [None, {}, {"labels": None}, {"labels": {}}])
def test_absent_and_null_maps_read_as_empty(metadata: Json | None) -> None:
    asked = review({"kind": "Pod", "metadata": metadata, "spec": None})

    assert asked.subject.labels == {}
    assert asked.subject.annotations == {}
    assert asked.subject.controller is None
    assert not asked.subject.is_terminating


def test_absent_user_and_groups_read_as_nobody() -> None:
    assert decode_review(without("userInfo")).groups == []
    assert review(pod(), userInfo={"groups": None}).groups == []


@pytest.mark.parametrize(
    ("obj", "request_name", "shown"),
    [
        (pod(), "web-1", "web-1"),
        (pod(), None, "web-1"),
        ({"kind": "Pod", "metadata": {"generateName": "web-"}}, None, "web-*"),
        # What a validating webhook gets: the name is generated after the request's was taken.
        ({"kind": "Pod", "metadata": {"generateName": "web-", "name": "web-x7k2p"}}, None, "web-*"),
        ({"kind": "Pod", "metadata": {"generateName": "web-", "name": "mine"}}, "mine", "mine"),
        ({"kind": "Pod", "metadata": {}}, None, ""),
        ({"kind": "Pod"}, None, ""),
        ({"kind": "Pod"}, "web-1", "web-1"),
    ],
)
def test_name_for_people_is_the_request_s_or_a_prefix(
    obj: Json, request_name: str | None, shown: str
) -> None:
    assert review(obj, name=request_name).display_name == shown


def test_deleted_object_gives_its_name() -> None:
    assert review(None, operation="DELETE", oldObject=pod()).display_name == "web-1"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"", "$: is not JSON: Input data was truncated"),
        (b"apiVersion: v1", "$: is not JSON: JSON is malformed: invalid character (byte 0)"),
        (b"[]", "$: Expected `object`, got `array`"),
        (b"null", "$: Expected `object`, got `null`"),
        (b"{}", "$: Object missing required field `apiVersion`"),
        (
            body(pod()).replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1", 1),
            "$.apiVersion: expected admi",
        ),
        (body(pod()).replace(b"AdmissionReview", b"Pod", 1), "$.kind: expected AdmissionReview, got 'Pod'"),
        (
            b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
            "$: Object missing required field `req",
        ),
        (
            body(pod()).replace(b'"request": {', b'"request": null, "x": {', 1),
            "$.request: Expected `object`, got `n",
        ),
        (without("uid"), "$.request: Object missing required field `uid`"),
        (without("kind"), "$.request: Object missing required field `kind`"),
        (without("operation"), "$.request: Object missing required field `operation`"),
        (changed(uid=""), "$.request.uid: Expected `str` of length >= 1"),
        (changed(uid=7), "$.request.uid: Expected `str`, got `int`"),
        (changed(operation="PATCH"), "$.request.operation: Invalid enum value 'PATCH'"),
        (changed(kind={"group": ""}), "$.request.kind: Object missing required field `kind`"),
        (changed(userInfo=None), "$.request.userInfo: Expected `object`, got `null`"),
        (changed(userInfo={"groups": [1]}), "$.request.userInfo.groups[0]: Expected `str`, got `int`"),
        (changed(object=None), "$.request.object: expected an object, got null"),
        (without("object"), "$.request.object: expected an object, got null"),
        (changed(object=[]), "$.request.object: Expected `object | null`, got `array`"),
        (body(pod({"custom": 1})), "$.request.object.metadata.labels[...]: Expected `str`, got `int`"),
        (body(pod({"custom": None})), "$.request.object.metadata.labels[...]: Expected `str`, got `null`"),
        (
            body(pod(spec={"nodeName": {}})),
            "$.request.object.spec.nodeName: Expected `str | null`, got `object`",
        ),
        (
            changed(operation="UPDATE", oldObject=3),
            "$.request.oldObject: Expected `object | null`, got `int`",
        ),
        (body(pod()).replace(b'"nginx"', b"NaN"), "$: is not JSON: JSON is malformed: invalid character"),
        (body(pod()) + b"x", "$: is not JSON: JSON is malformed: trailing characters"),
        (b"\xef\xbb\xbf" + body(pod()), "$: is not JSON: JSON is malformed: invalid character (byte 0)"),
        (body(pod({"custom": "X"})).replace(b"X", b"\xff"), "$: is not JSON: Invalid UTF-8 encoded string"),
        (body(pod({"custom": "X"})).replace(b"X", b"\\ud800"), "$: is not JSON: "),
        (
            body(pod({"custom": "X"})).replace(b"X", b"\xed\xa0\x80"),
            "$: is not JSON: Invalid UTF-8 encoded string",
        ),
        (body(pod()).replace(b'"nginx"', b"[" * 100_000), "$: is nested too deeply"),
        (body(pod()).replace(b'"nginx"', b'{"a":' * 100_000), "$: is nested too deeply"),
        (b"[" * 100_000, "$: Expected `object`, got `array`"),
    ],
)
def test_what_is_no_admission_review_names_the_json_path(text: bytes, fault: str) -> None:
    with pytest.raises(MalformedReview) as raised:
        decode_review(text)

    assert str(raised.value).startswith(fault)


@pytest.mark.parametrize(
    "text",
    [
        body(pod(OPTED_IN)).replace(b'"nginx"', b"9" * 5000),
        body(pod(OPTED_IN)).replace(b'"nginx"', b"1e999"),
        body(pod(OPTED_IN)).replace(b'"nginx"', b'"\xff"'),
        body(pod(OPTED_IN)).replace(b'"status"', b'"spec": {"schedulerName": "last"}, "status"'),
        changed(request={"uid": 1}, extra={"a": [1]}, options={"kind": 1}),
        changed(
            operation="CONNECT", object={"kind": "PodExecOptions", "command": ["ls"]}, subResource="exec"
        ),
        changed(operation="DELETE", object=None),
    ],
)
def test_odd_but_readable_review_is_decided(text: bytes) -> None:
    asked = decode_review(text)

    assert answer(asked, validate(asked, POLICY))["uid"] == UID
    assert answer(asked, mutate(asked, POLICY, opted_in_by="pod"))["uid"] == UID


def test_nested_text_that_fits_is_decided() -> None:
    deep = body(pod(OPTED_IN)).replace(b'"nginx"', b"[" * 200 + b"]" * 200)

    assert decode_review(deep).subject.labels == OPTED_IN


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "Widget", "metadata": {"name": "a"}, "spec": {"nodeName": 5, "template": "text"}},
        {"kind": "Widget", "spec": "text"},
        {"kind": "Widget", "metadata": {"name": "a"}, "spec": {"affinity": ["a"], "tolerations": 1}},
    ],
)
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_object_of_a_foreign_kind_is_not_read(other: Json, operation: str) -> None:
    asked = review(other, operation=operation, oldObject=other)

    assert asked.object is None
    assert asked.old_object is None
    assert asked.group_kind == ("example.com", "Widget")


def test_subresource_of_a_pod_is_not_read() -> None:
    asked = review({"kind": "Pod", "spec": 5}, subResource="resize", name="web-1")

    assert asked.subject == KubernetesObject()
    assert asked.display_name == "web-1"


def test_fault_elsewhere_is_not_hidden_by_an_unread_object() -> None:
    with pytest.raises(MalformedReview, match=r"\$\.request\.object\.spec: Expected|\$\.request\.dryRun"):
        review({"kind": "Widget", "spec": 5}, dryRun="no")


def test_answer_to_an_allowed_request_is_bare() -> None:
    asked = review(pod({"custom": "a"}))

    assert json.loads(encode_response(asked, validate(asked, POLICY))) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": UID,
            "allowed": True,
            "auditAnnotations": {"verdict": "allow", "policy": "default"},
        },
    }


def test_answer_to_a_denied_request_is_a_forbidden_status() -> None:
    asked = review(pod())

    denial = "Pod must have custom label: metadata.labels.custom is missing"
    whole = f"{denial}. Allowed: any value. Set metadata.labels.custom in the pod's manifest"
    assert answer(asked, validate(asked, POLICY)) == {
        "uid": UID,
        "allowed": False,
        "status": {
            "status": "Failure",
            "message": whole,
            "reason": "Forbidden",
            "code": 403,
            "details": {
                "name": "web-1",
                "kind": "Pod",
                "causes": [
                    {"reason": "FieldValueRequired", "message": whole, "field": "metadata.labels.custom"}
                ],
            },
        },
        "auditAnnotations": {"verdict": "deny", "policy": "default", "rule": "spec.requiredLabels[0]"},
    }


def test_answer_with_a_patch_has_its_type_and_no_status() -> None:
    asked = review(pod(OPTED_IN))

    response = answer(asked, mutate(asked, POLICY, opted_in_by="pod"))

    assert response["patchType"] == "JSONPatch"
    assert "status" not in response
    assert response["auditAnnotations"] == {"verdict": "mutate", "policy": "default"}


def test_answer_without_operations_has_neither_patch_nor_type() -> None:
    asked = review(pod())

    assert operations(asked, mutate(asked, POLICY, opted_in_by="pod")) == []


def test_dry_run_is_answered_alike() -> None:
    for obj in (pod(), pod(OPTED_IN)):
        real, dry = review(obj), review(obj, dryRun=True)

        assert answer(real, validate(real, POLICY)) == answer(dry, validate(dry, POLICY))
        assert operations(real, mutate(real, POLICY, opted_in_by="pod")) == operations(
            dry, mutate(dry, POLICY, opted_in_by="pod")
        )
