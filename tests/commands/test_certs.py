"""What the `certs` commands print of a cluster that holds a Secret with a CA, or nothing."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.authority import create_authority
from certs.custody import Custody
from certs.rotation import begin, next_step
from tests.kube.fakeapi import Exchange, FakeApi
from webhook.commands import certs_rotate, certs_show
from webhook.errors import ConfigurationError
from webhook.kube.transport import KubeClient

NOW = datetime.now(UTC)
NAME = "custom-scheduler"
STABLE = Custody(authority=create_authority(NAME, NOW))
PUBLISHED = begin(STABLE, NAME, NOW)

Put = Callable[[Custody], None]


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """Put a CA into a cluster that has nothing, which the commands are connected to."""
    held: list[Custody] = []

    def script(exchange: Exchange) -> None:
        if exchange.path.endswith("/secrets/custom-scheduler-ca") and held:
            data = {key: base64.b64encode(value).decode() for key, value in held[-1].data.items()}
            exchange.reply(200, {"metadata": {"resourceVersion": "1"}, "data": data})
        elif exchange.path.endswith("/leases"):
            exchange.reply(200, {"metadata": {}, "items": []})
        else:
            exchange.refuse(404)

    with FakeApi(script) as api:

        def connect(_kubeconfig: Path | None) -> KubeClient:
            return api.client()

        monkeypatch.setattr(certs_show, "connect", connect)
        monkeypatch.setattr(certs_rotate, "connect", connect)
        yield held.append


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
