"""caBundle: written into entries that others own, and into nothing else."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from typing import Any

import pytest

from devcluster.cluster import DevCluster
from devcluster.installation import Installation
from tests.waiting import eventually
from webhook.errors import ApiError
from webhook.kube.config import connect
from webhook.kube.webhookconfig import WebhookConfigurations

CONFIGURATIONS = ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"]


def read(cluster: DevCluster, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cluster.kubectl("get", kind, "custom-scheduler", "-o", "json").stdout)
    return found


def bundles(cluster: DevCluster, kind: str) -> list[str | None]:
    return [entry["clientConfig"].get("caBundle") for entry in read(cluster, kind)["webhooks"]]


@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_every_entry_carries_the_ca_of_the_secret(
    cluster: DevCluster, installation: Installation, kind: str
) -> None:
    secret = cluster.kubectl("get", "secret", "custom-scheduler-ca", "-n", "custom-scheduler", "-o", "json")
    ca = base64.b64decode(json.loads(secret.stdout)["data"]["ca.crt"])

    found = bundles(cluster, kind)

    assert found
    assert all(bundle is not None and base64.b64decode(bundle).strip() == ca.strip() for bundle in found)


@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_a_wiped_bundle_is_restored_within_seconds(
    cluster: DevCluster, installation: Installation, kind: str
) -> None:
    wipe = '[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]'
    cluster.kubectl("patch", kind, "custom-scheduler", "--type=json", "-p", wipe)

    assert eventually(lambda: all(bundles(cluster, kind)), seconds=10)


def test_applying_the_manifests_again_changes_nothing_of_ours(
    cluster: DevCluster, installation: Installation
) -> None:
    before = bundles(cluster, CONFIGURATIONS[0])

    installation.apply_manifests()

    assert eventually(lambda: bundles(cluster, CONFIGURATIONS[0]) == before, seconds=10)


def test_a_foreign_edit_stays_and_causes_no_write(cluster: DevCluster, installation: Installation) -> None:
    edit = '[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 3}]'
    cluster.kubectl("patch", CONFIGURATIONS[0], "custom-scheduler", "--type=json", "-p", edit)
    edited = read(cluster, CONFIGURATIONS[0])["metadata"]["resourceVersion"]

    # A write of another entry's bundle shows that the edit was looked at.
    wipe = '[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]'
    cluster.kubectl("patch", CONFIGURATIONS[1], "custom-scheduler", "--type=json", "-p", wipe)
    eventually(lambda: all(bundles(cluster, CONFIGURATIONS[1])), seconds=10)

    after = read(cluster, CONFIGURATIONS[0])
    assert after["metadata"]["resourceVersion"] == edited
    assert after["webhooks"][0]["timeoutSeconds"] == 3


def test_a_patch_to_what_others_have_written_meanwhile_is_told_from_one_that_is_no_good(
    cluster: DevCluster, installation: Installation
) -> None:
    stale = [{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}]
    invalid = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Perhaps"}]
    with closing(connect(cluster.kubeconfig)) as client:
        configuration = WebhookConfigurations(client, "custom-scheduler").validating

        assert configuration.patch(stale) is False
        with pytest.raises(ApiError, match="Perhaps"):
            configuration.patch(invalid)
