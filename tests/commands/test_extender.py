"""`extender` up to where it would serve: what its workers are made of, and what is said before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from webhook.commands import extender
from webhook.extender.service import ExtenderService
from webhook.observe.plugin_metrics import usage
from webhook.serving.options import ServingOptions
from webhook.settings import ExtenderSettings

MakeService = Callable[[], ExtenderService]

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: sesame}}]
"""
CONFIGURATION = """\
apiVersion: custom-scheduler.io/v1alpha1
kind: SchedulerConfiguration
pluginSources: [{{directory: {folder}}}]
profiles:
- plugins:
    multiPoint:
      disabled: [{{name: "*"}}]
      enabled: [{{name: PrioritySort}}, {{name: Ponderous}}]
"""
PONDEROUS = """\
import time

from webhook.scheduling.registry import plugin
from webhook.scheduling.status import SUCCESS


@plugin("Ponderous")
class Ponderous:
    def pre_filter(self, pod, nodes):
        time.sleep(0.11)
        return SUCCESS

    def permit(self, pod, node_name):
        return SUCCESS
"""


@pytest.fixture
def settings(tmp_path: Path) -> ExtenderSettings:
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    leaf = authority.issue_cert("localhost", key_type=trustme.KeyType.ECDSA)
    (tmp_path / "tls.pem").write_bytes(leaf.cert_chain_pems[0].bytes())
    (tmp_path / "key.pem").write_bytes(leaf.private_key_pem.bytes())
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/ponderous.py").write_text(PONDEROUS)
    (tmp_path / "scheduler.yaml").write_text(CONFIGURATION.format(folder=tmp_path / "plugins"))
    return ExtenderSettings(
        tls_cert=tmp_path / "tls.pem",
        tls_key=tmp_path / "key.pem",
        client_ca=tmp_path / "ca.pem",
        kubeconfig=tmp_path / "kubeconfig",
        scheduler_config=tmp_path / "scheduler.yaml",
    )


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, settings: ExtenderSettings) -> Callable[[], MakeService]:
    """Run the command, and return what it would have its workers call."""

    made: list[MakeService] = []

    def serve(_options: ServingOptions, make_service: MakeService, **_: object) -> int:
        made.append(make_service)
        return 0

    def run() -> MakeService:
        assert extender.run(settings) == 0
        return made.pop()

    monkeypatch.setattr(extender, "serve", serve)
    return run


def test_a_plugin_that_takes_too_long_is_counted_and_told_of_as_in_the_binder(
    run: Callable[[], MakeService], caplog: pytest.LogCaptureFixture
) -> None:
    service = run()()
    caplog.clear()
    before = usage().get("Ponderous")

    service.app.test_client().post("/filter", json={"Pod": {}, "NodeNames": []})

    assert usage()["Ponderous"].over_budget - (before.over_budget if before else 0) == 1
    assert "in PreFilter, over its budget of 100 ms" in caplog.text


def test_a_method_that_nothing_calls_is_told_of_once_however_many_workers_there_are(
    run: Callable[[], MakeService], caplog: pytest.LogCaptureFixture
) -> None:
    make_service = run()
    for _ in range(2):
        make_service()

    assert caplog.text.count("plugin Ponderous does nothing at Permit here") == 1
