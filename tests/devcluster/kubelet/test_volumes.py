from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from devcluster.errors import PodError
from devcluster.kubelet.objects import Object
from devcluster.kubelet.volumes import Volumes
from tests.devcluster.kubelet.pods import pod


class MemoryConfigs:
    def __init__(self) -> None:
        self.config_maps: dict[str, dict[str, str]] = {}
        self.secrets: dict[str, dict[str, bytes]] = {}
        self.tokens = 0

    def config_map(self, namespace: str, name: str) -> Object | None:
        data = self.config_maps.get(name)
        return None if data is None else {"kind": "ConfigMap", "data": data}

    def secret(self, namespace: str, name: str) -> Object | None:
        data = self.secrets.get(name)
        if data is None:
            return None
        return {
            "kind": "Secret",
            "data": {key: base64.b64encode(each).decode() for key, each in data.items()},
        }

    def token(self, pod: Object, source: Mapping[str, Any]) -> bytes:
        self.tokens += 1
        return b"token of %s" % pod["spec"]["serviceAccountName"].encode()


def of(*volumes: dict[str, Any]) -> Object:
    return pod(volumes=list(volumes))


def test_a_config_map_is_there_as_files_and_follows_its_changes(tmp_path: Path) -> None:
    configs = MemoryConfigs()
    configs.config_maps["policy"] = {"policy.yaml": "one"}
    volumes = Volumes(tmp_path, configs)
    wanted = of({"name": "policy", "configMap": {"name": "policy"}})
    volumes.write(wanted)
    first = (volumes.path("policy") / "policy.yaml").read_text()

    configs.config_maps["policy"] = {"policy.yaml": "two"}
    volumes.write(wanted)

    assert first == "one"
    assert (volumes.path("policy") / "policy.yaml").read_text() == "two"


def test_a_secret_gives_the_keys_that_are_picked_under_their_paths(tmp_path: Path) -> None:
    configs = MemoryConfigs()
    configs.secrets["tls"] = {"tls.crt": b"certificate", "tls.key": b"key"}
    volumes = Volumes(tmp_path, configs)

    picked = {"secretName": "tls", "items": [{"key": "tls.crt", "path": "chain.pem"}]}
    volumes.write(of({"name": "tls", "secret": picked}))

    assert [each.name for each in volumes.path("tls").glob("[!.]*")] == ["chain.pem"]
    assert (volumes.path("tls") / "chain.pem").read_bytes() == b"certificate"


def test_the_projected_volume_of_every_pod_holds_token_authority_and_namespace(tmp_path: Path) -> None:
    configs = MemoryConfigs()
    configs.config_maps["kube-root-ca.crt"] = {"ca.crt": "authority"}
    volumes = Volumes(tmp_path, configs)
    # As plugin/pkg/admission/serviceaccount makes it.
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    wanted = of({"name": "kube-api-access", "projected": {"sources": sources}})

    volumes.write(wanted)
    volumes.write(wanted)

    folder = volumes.path("kube-api-access")
    assert {each.name: each.read_text() for each in folder.glob("[!.]*")} == {
        "token": "token of web",
        "ca.crt": "authority",
        "namespace": "team",
    }
    assert configs.tokens == 1


def test_an_empty_folder_keeps_what_a_container_put_there(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path, MemoryConfigs())
    wanted = of({"name": "tmp", "emptyDir": {}})
    volumes.write(wanted)
    (volumes.path("tmp") / "kept").touch()

    volumes.write(wanted)

    assert (volumes.path("tmp") / "kept").exists()
    assert volumes.path("tmp").stat().st_mode & 0o777 == 0o777


@pytest.mark.parametrize(
    ("volume", "fault"),
    [
        ({"configMap": {"name": "absent"}}, "ConfigMap absent not found"),
        ({"secret": {"secretName": "absent"}}, "Secret absent not found"),
        (
            {"configMap": {"name": "there", "items": [{"key": "b", "path": "b"}]}},
            "ConfigMap there has no key b",
        ),
        ({"hostPath": {"path": "/"}}, "volume v: the process kubelet has no hostPath"),
    ],
)
def test_what_can_not_be_had_is_named(tmp_path: Path, volume: dict[str, Any], fault: str) -> None:
    configs = MemoryConfigs()
    configs.config_maps["there"] = {"a": "1"}

    with pytest.raises(PodError, match=fault):
        Volumes(tmp_path, configs).write(of({"name": "v", **volume}))


def test_what_is_optional_may_be_missing(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path, MemoryConfigs())

    volumes.write(of({"name": "v", "configMap": {"name": "absent", "optional": True}}))

    assert list(volumes.path("v").glob("[!.]*")) == []
