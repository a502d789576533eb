"""An AdmissionReview v1 on the wire: decoded once and in part, and answered."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from webhook.admission.objects import POD, WORKLOADS, Kind, KubernetesObject
from webhook.admission.verdict import Cause, Verdict
from webhook.errors import CustomSchedulerError
from webhook.faults import path_and_fault

__all__ = ["MalformedReview", "Operation", "Review", "UserInfo", "decode_review", "encode_response"]

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]

_OBJECT_PATH = re.compile(r" - at `\$\.request\.(object|oldObject)\b")
_SHOWN_LENGTH = 80


class MalformedReview(CustomSchedulerError):
    """A body that is not an AdmissionReview v1; the text is the JSON path and the fault."""


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    pass


class GroupVersionKind(_Part, frozen=True, kw_only=True):
    """The type of the object under review."""

    kind: str
    group: str = ""
    version: str = ""


class UserInfo(_Part, frozen=True, kw_only=True):
    """Who sent the request."""

    username: str = ""
    groups: list[str] | None = None


class _Request(_Part, frozen=True, kw_only=True):
    uid: Annotated[str, msgspec.Meta(min_length=1)]
    kind: GroupVersionKind
    operation: Operation
    sub_resource: str | None = None
    name: str | None = None
    namespace: str | None = None
    user_info: UserInfo = UserInfo()
    dry_run: bool | None = None

    @property
    def group_kind(self) -> Kind:
        """The API group and kind of the object."""
        return (self.kind.group, self.kind.kind)


class Review(_Request, frozen=True, kw_only=True):
    """One request under review.

    `namespace` is the request's: the object's own may be absent, and is not to be trusted. `object` is there on
    CREATE and UPDATE, `old_object` on UPDATE and DELETE; both are None where no rule looks at the kind and the
    object doesn't have a pod's shape.
    """

    object: KubernetesObject | None = None
    old_object: KubernetesObject | None = None

    @property
    def subject(self) -> KubernetesObject:
        """The object that a CREATE or UPDATE asks for."""
        return self.object or KubernetesObject()

    @property
    def replaced(self) -> KubernetesObject | None:
        """The object as it is before an UPDATE."""
        return self.old_object if self.operation == "UPDATE" else None

    @property
    def groups(self) -> list[str]:
        """The groups of who sent the request."""
        return self.user_info.groups or []

    @property
    def display_name(self) -> str:
        """The object's name for people; `prefix*` while the API server has yet to choose it.

        The request has a name unless it is generated: k8s.io/apiserver pkg/endpoints/handlers/create.go.
        """
        metadata = (self.object or self.old_object or KubernetesObject()).metadata
        if self.name or metadata is None:
            return self.name or ""
        if metadata.generate_name:
            return f"{metadata.generate_name}*"
        return metadata.name or ""


class _Envelope(_Part, frozen=True, kw_only=True):
    api_version: str
    kind: str
    request: Review


class _BareEnvelope(_Part, frozen=True, kw_only=True):
    api_version: str
    kind: str
    request: _Request


_DECODER = msgspec.json.Decoder(_Envelope)
_BARE_DECODER = msgspec.json.Decoder(_BareEnvelope)


def decode_review(body: bytes) -> Review:
    """Return the review in a request's body. Raises MalformedReview."""
    try:
        envelope = _decode(body)
    except msgspec.ValidationError as error:
        path, fault = path_and_fault(error)
        raise MalformedReview(f"{path}: {fault}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedReview(f"$: is not JSON: {error}") from None
    except RecursionError:
        raise MalformedReview("$: is nested too deeply") from None
    for path, expected, found in (
        ("$.kind", KIND, envelope.kind),
        ("$.apiVersion", API_VERSION, envelope.api_version),
    ):
        if found != expected:
            raise MalformedReview(f"{path}: expected {expected}, got {found[:_SHOWN_LENGTH]!r}")
    review = envelope.request
    if review.object is None and _is_judged(review):
        raise MalformedReview("$.request.object: expected an object, got null")
    return review


def encode_response(review: Review, verdict: Verdict) -> bytes:
    """Return the body that answers `review` with `verdict`."""
    response = _Response(
        uid=review.uid,
        allowed=verdict.allowed,
        status=None if verdict.allowed else _status(review, verdict),
        warnings=verdict.warnings,
        audit_annotations=verdict.audit_annotations,
    )
    if verdict.patch and verdict.allowed:
        # Both or neither: k8s.io/apiserver pkg/admission/plugin/webhook/request VerifyAdmissionResponse.
        response.patch = msgspec.json.encode(verdict.patch)
        response.patch_type = "JSONPatch"
    return msgspec.json.encode(_Answer(response=response))


class _Details(_Part, frozen=True, kw_only=True, omit_defaults=True):
    name: str = ""
    group: str = ""
    kind: str
    causes: list[Cause]


class _Status(_Part, frozen=True, kw_only=True):
    message: str
    details: _Details
    status: str = "Failure"
    reason: str = "Forbidden"
    code: int = 403


class _Response(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    uid: str
    allowed: bool
    status: _Status | None = None
    patch: bytes | None = None  # encodes as base64
    patch_type: str | None = None
    warnings: list[str] = []
    audit_annotations: dict[str, str] = {}


class _Answer(_Part, frozen=True, kw_only=True):
    response: _Response
    api_version: str = API_VERSION
    kind: str = KIND


def _status(review: Review, verdict: Verdict) -> _Status:
    return _Status(
        message=verdict.message,
        details=_Details(
            name=review.display_name, group=review.kind.group, kind=review.kind.kind, causes=verdict.causes
        ),
    )


def _decode(body: bytes) -> _Envelope:
    try:
        return _DECODER.decode(body)
    except msgspec.ValidationError as error:
        if not _OBJECT_PATH.search(str(error)):
            raise
        # A rule that is too broad sends objects whose fields have a pod's names and other types. Only the
        # request is decoded then, since such an object is allowed whatever is in it.
        bare = _BARE_DECODER.decode(body)
        if _is_judged(bare.request):
            raise
        request = Review(**msgspec.structs.asdict(bare.request))
        return _Envelope(api_version=bare.api_version, kind=bare.kind, request=request)


def _is_judged(request: _Request) -> bool:
    return (
        request.operation in ("CREATE", "UPDATE")
        and not request.sub_resource
        and (request.group_kind == POD or request.group_kind in WORKLOADS)
    )
