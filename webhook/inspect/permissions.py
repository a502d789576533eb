"""Whether our ServiceAccounts may do what they have to, asked of the API server's authorizer."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from webhook.errors import ApiError
from webhook.kube.transport import KubeClient
from webhook.policy.names import CA_SECRET, CONFIGURATIONS
from webhook.scheduling.kinds import KINDS

__all__ = ["accounts_there", "lacking_permissions"]

_WEBHOOK, _BINDER = "custom-scheduler", "custom-scheduler-binder"
_ADMISSION, _COORDINATION, _EVENTS = "admissionregistration.k8s.io", "coordination.k8s.io", "events.k8s.io"

_FOLLOW_AND_PATCH = ("get", "list", "watch", "patch")


class _Need(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an account has to be allowed; `own` means in our namespace alone."""

    verbs: tuple[str, ...]
    resource: str
    group: str = ""
    subresource: str = ""
    name: str = ""
    own: bool = False


def _group(api: str) -> str:
    """Return the group of `/apis/apps/v1`; `/api/v1` has the empty one."""
    return api.split("/")[2] if api.startswith("/apis/") else ""


# A test holds that manifests/base grants these, and nothing else.
_NEEDS: dict[str, tuple[_Need, ...]] = {
    _WEBHOOK: (
        *(
            _Need(verbs=_FOLLOW_AND_PATCH, resource=resource, group=_ADMISSION, name=CONFIGURATIONS)
            for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
        ),
        _Need(verbs=("get", "list", "watch", "update"), resource="secrets", name=CA_SECRET, own=True),
        _Need(verbs=("create",), resource="secrets", own=True),
        _Need(verbs=("create", "list", "patch", "delete"), resource="leases", group=_COORDINATION, own=True),
    ),
    _BINDER: (
        *(_Need(verbs=("list", "watch"), resource=kind.plural, group=_group(kind.api)) for kind in KINDS),
        _Need(verbs=("list",), resource="nodes", group="metrics.k8s.io"),
        _Need(verbs=("create",), resource="pods", subresource="binding"),
        _Need(verbs=("patch",), resource="pods", subresource="status"),
        _Need(verbs=("create",), resource="events", group=_EVENTS),
        _Need(
            verbs=("get", "update"),
            resource="leases",
            group=_COORDINATION,
            name="custom-scheduler",
            own=True,
        ),
        _Need(verbs=("create",), resource="leases", group=_COORDINATION, own=True),
    ),
}


class _Status(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _Status = _Status()


def accounts_there(client: KubeClient, namespace: str) -> list[str]:
    """Return those of our ServiceAccounts that are there; raises ClusterError."""
    return [account for account in _NEEDS if _exists(client, namespace, account)]


def lacking_permissions(
    client: KubeClient, namespace: str, there: Collection[str], *, serves_files: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield (ServiceAccount, what it may not do) for each need that isn't granted to the accounts; raises ClusterError.

    Where the binder has no account, the webhook's has to have its rights: the overlay `single` has one for both. A
    webhook that serves files needs none of its own.
    """
    for role, needs in _NEEDS.items():
        account = role if role in there else _WEBHOOK
        if account not in there or (role == _WEBHOOK and serves_files):
            continue
        for need in needs:
            for verb in need.verbs:
                if not _may(client, namespace, account, verb, need):
                    yield account, _described(verb, need)


def _exists(client: KubeClient, namespace: str, account: str) -> bool:
    try:
        client.request("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}")
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True


def _may(client: KubeClient, namespace: str, account: str, verb: str, need: _Need) -> bool:
    attributes = {
        "verb": verb,
        "group": need.group,
        "resource": need.resource,
        "subresource": need.subresource,
        "name": need.name,
        "namespace": namespace if need.own else "",
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": [
                "system:serviceaccounts",
                f"system:serviceaccounts:{namespace}",
                "system:authenticated",
            ],
            "resourceAttributes": attributes,
        },
    }
    raw = client.request(
        "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body=msgspec.json.encode(review)
    )
    return msgspec.json.decode(raw, type=_Review).status.allowed


def _described(verb: str, need: _Need) -> str:
    resource = f"{need.resource}/{need.subresource}" if need.subresource else need.resource
    resource = f"{resource}.{need.group}" if need.group else resource
    return f"{verb} {resource}" + (f" {need.name}" if need.name else "")
