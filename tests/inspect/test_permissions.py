from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kube.fakeapi import Exchange, FakeApi
from webhook.inspect.permissions import accounts_there, lacking_permissions

BASE = Path(__file__).parents[2] / "manifests/base"


def granted(file: str) -> set[tuple[str, str, str, str, str]]:
    """Return (kind of role, verb, group, resource, name) of all that the roles in a manifest grant."""
    documents: list[dict[str, Any]] = list(yaml.safe_load_all((BASE / file).read_text()))
    return {
        (role["kind"], verb, group, resource, name)
        for role in documents
        if role.get("kind") in ("Role", "ClusterRole")
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }


def asked(*, serves_files: bool = False, absent: str = "nobody") -> list[dict[str, Any]]:
    """Return the reviews that are asked for, where everything is allowed and the account `absent` isn't there."""

    def allow(exchange: Exchange) -> None:
        if exchange.path.endswith(f"/{absent}"):
            exchange.refuse(404)
        else:
            exchange.reply(200, {"status": {"allowed": True}} if exchange.method == "POST" else {})

    with FakeApi(allow) as api:
        client = api.client()
        there = accounts_there(client, "ours")
        assert list(lacking_permissions(client, "ours", there, serves_files=serves_files)) == []
    return [each.json["spec"] for each in api.exchanges if each.method == "POST"]


def needed(reviews: list[dict[str, Any]], account: str) -> set[tuple[str, str, str, str, str]]:
    """Return what is asked of an account, as `granted` has it."""
    found = set()
    for spec in reviews:
        if spec["user"] == f"system:serviceaccount:ours:{account}":
            wanted = spec["resourceAttributes"]
            resource = "/".join(filter(None, (wanted["resource"], wanted["subresource"])))
            kind = "Role" if wanted["namespace"] else "ClusterRole"
            found.add((kind, wanted["verb"], wanted["group"], resource, wanted["name"]))
    return found


@pytest.mark.parametrize(
    ("account", "file"),
    [("custom-scheduler", "webhook-rbac.yaml"), ("custom-scheduler-binder", "binder-rbac.yaml")],
)
def test_what_is_needed_is_what_the_manifests_grant(account: str, file: str) -> None:
    assert needed(asked(), account) == granted(file)


def test_no_other_manifest_of_the_base_grants_anything() -> None:
    granting = {file.name for file in BASE.glob("*.yaml") if granted(file.name)}

    assert granting == {"webhook-rbac.yaml", "binder-rbac.yaml"}


def test_where_the_binder_has_no_account_its_needs_are_asked_of_the_webhooks() -> None:
    reviews = asked(absent="custom-scheduler-binder")

    assert needed(reviews, "custom-scheduler") == granted("webhook-rbac.yaml") | granted("binder-rbac.yaml")


def test_nothing_is_asked_of_the_binder_for_a_webhook_that_has_no_account() -> None:
    reviews = asked(absent="custom-scheduler")

    assert {spec["user"] for spec in reviews} == {"system:serviceaccount:ours:custom-scheduler-binder"}
    assert needed(reviews, "custom-scheduler-binder") == granted("binder-rbac.yaml")


def test_a_webhook_that_serves_files_is_asked_for_nothing() -> None:
    assert {spec["user"] for spec in asked(serves_files=True)} == {
        "system:serviceaccount:ours:custom-scheduler-binder"
    }


def test_what_is_not_allowed_is_told_with_the_account() -> None:
    def script(exchange: Exchange) -> None:
        if exchange.method == "GET":
            exchange.reply(200, {}) if exchange.path.endswith("-binder") else exchange.refuse(404)
            return
        wanted = exchange.json["spec"]["resourceAttributes"]
        exchange.reply(200, {"status": {"allowed": wanted["subresource"] != "binding"}})

    with FakeApi(script) as api:
        client = api.client()
        lacking = list(lacking_permissions(client, "ours", accounts_there(client, "ours")))

    assert lacking == [("custom-scheduler-binder", "create pods/binding")]
