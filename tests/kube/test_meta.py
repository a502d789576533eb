from __future__ import annotations

import msgspec

from webhook.kube.meta import ListMeta, ObjectMeta, OwnerReference, micro_time


def test_metadata_is_read_under_its_json_names_and_the_rest_is_skipped() -> None:
    raw = b"""{
        "name": "web-1", "namespace": "shop", "uid": "u1", "resourceVersion": "42", "generation": 3,
        "creationTimestamp": null, "deletionTimestamp": "2026-01-02T03:04:05Z", "labels": {"app": "web"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r1", "controller": true}
        ],
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:metadata": {}}}]
    }"""

    meta = msgspec.json.decode(raw, type=ObjectMeta)

    assert meta == ObjectMeta(
        name="web-1",
        namespace="shop",
        uid="u1",
        resource_version="42",
        generation=3,
        deletion_timestamp="2026-01-02T03:04:05Z",
        labels={"app": "web"},
        owner_references=(
            OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="r1", controller=True),
        ),
    )


def test_the_key_of_a_namespaced_object_names_its_namespace() -> None:
    assert ObjectMeta(name="web-1", namespace="shop").key == "shop/web-1"


def test_the_key_of_a_cluster_wide_object_is_its_name() -> None:
    assert ObjectMeta(name="node-1").key == "node-1"


def test_list_metadata_has_the_version_and_the_next_page() -> None:
    raw = b'{"resourceVersion": "7", "continue": "abc", "remainingItemCount": 3}'

    assert msgspec.json.decode(raw, type=ListMeta) == ListMeta(resource_version="7", continue_="abc")


def test_micro_time_has_six_decimals_and_is_utc() -> None:
    assert micro_time(1.5) == "1970-01-01T00:00:01.500000Z"
