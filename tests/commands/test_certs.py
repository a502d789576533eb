"""What the `certs` commands print of a cluster that holds a Secret with a CA, or nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from certs.authority import create_authority
from certs.custody import Custody
from certs.leaf import sign_leaf
from certs.rotation import begin, next_step
from tests.kube.fakeapi import Exchange, FakeApi
from webhook.commands import certs_rotate, certs_show
from webhook.errors import ConfigurationError
from webhook.kube.transport import KubeClient

NOW = datetime.now(UTC)
NAME = "custom-scheduler"
STABLE = Custody(authority=create_authority(NAME, NOW))
PUBLISHED = begin(STABLE, NAME, NOW)

DEPLOYMENT = "/apis/apps/v1/namespaces/ours/deployments/custom-scheduler"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/ours/leases"

Put = Callable[[Custody], None]


@pytest.fixture
def items() -> dict[str, Any]:
    """What the cluster holds beside the Secret of our CA, by path; a number is the status of a refusal."""
    return {LEASES: {"metadata": {}, "items": []}}


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch, items: dict[str, Any]) -> Iterator[Put]:
    """Put a CA into a cluster that has nothing, which the commands are connected to."""
    held: list[Custody] = []

    def script(exchange: Exchange) -> None:
        if exchange.method == "PUT":
            exchange.reply(200, exchange.json)
        elif exchange.path.endswith("/secrets/custom-scheduler-ca") and held:
            exchange.reply(200, secret(held[-1].data))
        elif isinstance(found := items.get(exchange.path, 404), int):
            exchange.refuse(found)
        else:
            exchange.reply(200, found)

    with FakeApi(script) as api:

        def connect(_kubeconfig: Path | None) -> KubeClient:
            return api.client()

        monkeypatch.setattr(certs_show, "connect", connect)
        monkeypatch.setattr(certs_rotate, "connect", connect)
        yield held.append


def secret(data: Mapping[str, bytes]) -> dict[str, Any]:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"metadata": {"resourceVersion": "1"}, "data": encoded}


def serving_files(*, volume: dict[str, Any]) -> dict[str, Any]:
    """Return a Deployment whose pods serve the certificate in this volume."""
    container = {"args": ["--tls-cert=/tls/tls.crt"], "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}
    pod = {"containers": [container], "volumes": [{"name": "tls", **volume}]}
    return {"spec": {"template": {"spec": pod}}}


def replica_lease(*, renewed_at: datetime) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "custom-scheduler-replica-a",
            "annotations": {"custom-scheduler.io/ca": STABLE.authority.fingerprint},
        },
        "spec": {"renewTime": f"{renewed_at:%Y-%m-%dT%H:%M:%S}.000000Z", "leaseDurationSeconds": 604_800},
    }


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    certs_show.run(kubeconfig=None, namespace="ours", output="text")
    return capsys.readouterr().out


def test_the_next_ca_is_told_of_while_no_rotation_is_under_way(
    put: Put, capsys: pytest.CaptureFixture[str]
) -> None:
    put(STABLE)

    assert "or after: custom-scheduler certs rotate" in shown(capsys)


def test_amid_a_rotation_it_is_told_what_ends_it(put: Put, capsys: pytest.CaptureFixture[str]) -> None:
    put(PUBLISHED)
    published = shown(capsys)
    switched = next_step(PUBLISHED, name=NAME, now=NOW, is_settled=lambda _: True, served=None)
    assert switched is not None
    put(switched)

    assert "certs rotate" not in published
    assert "A rotation is under way: the CA that follows signs once" in published
    assert "A rotation is under way: the CA that goes leaves once no replica serves it" in shown(capsys)


@pytest.mark.usefixtures("put")
def test_without_the_secret_both_say_which_and_what_to_give() -> None:
    with pytest.raises(ConfigurationError) as show:
        certs_show.run(kubeconfig=None, namespace="ours", output="text")
    with pytest.raises(ConfigurationError) as rotate:
        certs_rotate.run(kubeconfig=None, namespace="ours")

    assert str(show.value) == str(rotate.value)
    assert str(show.value).startswith("Secret ours/custom-scheduler-ca: not found")
    assert str(show.value).endswith("give --namespace")


@pytest.mark.usefixtures("put")
def test_in_files_mode_the_certificates_of_the_mounted_secret_are_shown(
    items: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    issuer = create_authority("issuer", NOW)
    items[DEPLOYMENT] = serving_files(volume={"secret": {"secretName": "serving"}})
    served = sign_leaf(issuer, ["example.com"], NOW).certificate_pem
    items["/api/v1/namespaces/ours/secrets/serving"] = secret({"tls.crt": served})
    items["/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/custom-scheduler"] = {
        "metadata": {"resourceVersion": "1"},
        "webhooks": [
            {"name": name, "clientConfig": {"caBundle": base64.b64encode(bundle).decode()}}
            for name, bundle in (
                ("deny.pods.custom-scheduler.io", issuer.bundle),
                ("warn.pods.custom-scheduler.io", STABLE.authority.bundle),
            )
        ],
    }

    text = shown(capsys)
    certs_show.run(kubeconfig=None, namespace="ours", output="json")
    document = json.loads(capsys.readouterr().out)

    assert text.startswith("Certificates of others (files mode), in Secret ours/serving\n")
    assert issuer.certificate.subject.rfc4514_string() in text
    assert "1 of 2 entries carry who issued them in caBundle\n  not yet: warn.pods." in text
    assert (document["certMode"], document["secret"]) == ("files", "ours/serving")
    assert [each["trusts"] for each in document["entries"]] == [True, False]


@pytest.mark.usefixtures("put")
def test_in_files_mode_without_a_secret_it_is_said_where_to_look(items: dict[str, Any]) -> None:
    items[DEPLOYMENT] = serving_files(volume={"csi": {"driver": "secrets-store.csi.k8s.io"}})

    with pytest.raises(ConfigurationError, match=r"files mode.*look where its --tls-cert comes from"):
        certs_show.run(kubeconfig=None, namespace="ours", output="text")


@pytest.mark.usefixtures("put")
def test_where_the_deployment_may_not_be_read_the_missing_secret_is_told(items: dict[str, Any]) -> None:
    items[DEPLOYMENT] = 403

    with pytest.raises(ConfigurationError, match="Secret ours/custom-scheduler-ca: not found"):
        certs_show.run(kubeconfig=None, namespace="ours", output="text")


def rotated(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return what `certs rotate` prints, and what it says beside that."""
    assert certs_rotate.run(kubeconfig=None, namespace="ours") == 0
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_a_rotation_is_left_to_the_replicas_that_live(
    put: Put, items: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    put(STABLE)
    items[LEASES]["items"] = [replica_lease(renewed_at=NOW)]

    out, err = rotated(capsys)

    assert "the running replicas take it from here" in out
    assert err == ""


@pytest.mark.parametrize("leases", [[], [replica_lease(renewed_at=NOW - timedelta(days=8))]])
def test_a_rotation_that_no_living_replica_takes_further_is_warned_of(
    put: Put, items: dict[str, Any], capsys: pytest.CaptureFixture[str], leases: list[dict[str, Any]]
) -> None:
    put(STABLE)
    items[LEASES]["items"] = leases

    out, err = rotated(capsys)

    assert "the running replicas" not in out
    assert err.startswith("Warning: no replica has told that it runs, so the rotation waits until one does: ")
    assert "kubectl get pods -n ours -l app.kubernetes.io/component=webhook" in err


def test_a_rotation_in_files_mode_is_warned_of(
    put: Put, items: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    put(STABLE)
    items[LEASES]["items"] = [replica_lease(renewed_at=NOW)]
    items[DEPLOYMENT] = serving_files(volume={"secret": {"secretName": "serving"}})

    out, err = rotated(capsys)

    assert "the running replicas" not in out
    assert err.startswith(
        "Warning: the webhook serves certificates of others (files mode), and none of this CA: "
    )


def test_a_rotation_whose_replicas_may_not_be_seen_has_begun_all_the_same(
    put: Put, items: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    put(STABLE)
    items[LEASES] = 403

    out, err = rotated(capsys)

    assert "is published beside" in out
    assert err.startswith("Warning: whether a replica runs, to take it from here, can't be looked at (")
