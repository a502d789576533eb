"""What cert-manager's components make of each overlay that they can go on top of."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.leaf import service_hosts
from tests.kube.fakeapi import FakeApi
from webhook.inspect.certmode import ServedFiles, served_files
from webhook.policy.names import CA_SECRET
from webhook.settings import ServeSettings

MANIFESTS = Path(__file__).parents[2] / "manifests"
KUBECTL = Path(sys.executable).with_name("kubectl")
OVERLAYS = ["base", "overlays/cluster-wide", "overlays/fail", "overlays/other-namespace", "overlays/single"]
NAMESPACE = {"overlays/other-namespace": "placement"}
INJECT = "cert-manager.io/inject-ca-from"

Objects = list[dict[str, Any]]
Build = Callable[[str, str], Objects]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Put a component on top of an overlay as a user would, in a kustomization of their own."""

    def made(overlay: str, component: str) -> Objects:
        shipped = os.path.relpath(MANIFESTS, tmp_path)
        kustomization = {"resources": [f"{shipped}/{overlay}"], "components": [f"{shipped}/{component}"]}
        (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        built = subprocess.run(
            [KUBECTL, "kustomize", tmp_path], check=True, capture_output=True, text=True, timeout=60
        )
        return list(yaml.safe_load_all(built.stdout))

    return made


def of_kind(objects: Objects, *kinds: str) -> Objects:
    return [each for each in objects if each["kind"] in kinds]


def named(objects: Objects, kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in of_kind(objects, kind) if each["metadata"]["name"] == name]
    return found


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_certificate_is_for_the_names_of_the_service(build: Build, overlay: str) -> None:
    objects = build(overlay, "components/cert-manager")
    service = named(objects, "Service", "custom-scheduler")["metadata"]
    serving = named(objects, "Certificate", "custom-scheduler-serving")

    # All but the bare name, which says nothing outside of its namespace.
    expected = service_hosts(service["name"], service["namespace"]) - {service["name"]}
    assert set(serving["spec"]["dnsNames"]) == expected
    assert service["namespace"] == NAMESPACE.get(overlay, "custom-scheduler")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_everything_of_cert_manager_is_in_the_namespace_of_the_service(build: Build, overlay: str) -> None:
    objects = of_kind(build(overlay, "components/cert-manager"), "Issuer", "Certificate")

    assert len(objects) == 4
    assert {each["metadata"]["namespace"] for each in objects} == {NAMESPACE.get(overlay, "custom-scheduler")}


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("component", ["components/cert-manager-authority", "components/cert-manager"])
def test_both_configurations_name_the_certificate_whose_ca_is_injected(
    build: Build, overlay: str, component: str
) -> None:
    objects = build(overlay, component)
    configurations = of_kind(objects, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    serving = named(objects, "Certificate", "custom-scheduler-serving")["metadata"]

    assert [each["metadata"]["annotations"] for each in configurations] == [
        {INJECT: f"{serving['namespace']}/{serving['name']}"}
    ] * 2


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_webhook_serves_the_files_of_the_certificates_secret(build: Build, overlay: str) -> None:
    objects = build(overlay, "components/cert-manager")
    pod = named(objects, "Deployment", "custom-scheduler")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    options = dict(each.lstrip("-").split("=", 1) for each in container["args"] if "=" in each)
    (volume,) = [each for each in pod["volumes"] if each["name"] == "tls"]
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == "tls"]

    assert (
        volume["secret"]["secretName"]
        == named(objects, "Certificate", "custom-scheduler-serving")["spec"]["secretName"]
    )
    mounted = {Path(mount["mountPath"]) / each["path"] for each in volume["secret"]["items"]}
    assert mounted == {Path(options["tls-cert"]), Path(options["tls-key"])}
    settings = ServeSettings.checked(
        cert_mode=options["cert-mode"],
        binder=False,
        policy=Path(options["policy"]),
        namespace="custom-scheduler",
        tls_cert=Path(options["tls-cert"]),
        tls_key=Path(options["tls-key"]),
    )
    assert settings.cert_mode == "files"


@pytest.mark.parametrize("overlay", [each for each in OVERLAYS if each != "overlays/single"])
def test_the_webhook_has_no_right_and_no_token(build: Build, overlay: str) -> None:
    objects = build(overlay, "components/cert-manager")
    account = named(objects, "ServiceAccount", "custom-scheduler")
    pod = named(objects, "Deployment", "custom-scheduler")["spec"]["template"]["spec"]
    subjects = [
        subject["name"]
        for binding in of_kind(objects, "RoleBinding", "ClusterRoleBinding")
        for subject in binding["subjects"]
    ]

    assert "custom-scheduler" not in subjects
    assert account["automountServiceAccountToken"] is False
    assert "automountServiceAccountToken" not in pod


def test_a_webhook_that_runs_the_binder_thread_keeps_the_binders_rights_and_a_token(build: Build) -> None:
    objects = build("overlays/single", "components/cert-manager")
    roles = {
        binding["roleRef"]["name"]
        for binding in of_kind(objects, "RoleBinding", "ClusterRoleBinding")
        for subject in binding["subjects"]
        if subject["name"] == "custom-scheduler"
    }

    assert roles == {"custom-scheduler-binder"}
    pod = named(objects, "Deployment", "custom-scheduler")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is True


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_step_in_between_leaves_the_webhook_as_it_is(build: Build, overlay: str) -> None:
    kinds = ("Deployment", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    with_authority = of_kind(build(overlay, "components/cert-manager-authority"), *kinds)
    plain = subprocess.run(
        [KUBECTL, "kustomize", MANIFESTS / overlay], check=True, capture_output=True, text=True, timeout=60
    )

    assert with_authority == of_kind(list(yaml.safe_load_all(plain.stdout)), *kinds)


def test_no_secret_of_cert_manager_is_the_one_of_the_self_signed_mode(build: Build) -> None:
    certificates = of_kind(build("base", "components/cert-manager"), "Certificate")

    secrets = [each["spec"]["secretName"] for each in certificates]
    assert len(set(secrets)) == len(secrets)
    assert CA_SECRET not in secrets


def test_an_authority_outlives_every_certificate_that_it_signs(build: Build) -> None:
    objects = build("base", "components/cert-manager")
    authority = named(objects, "Certificate", "custom-scheduler-issuer")["spec"]
    serving = named(objects, "Certificate", "custom-scheduler-serving")["spec"]

    hours = {
        name: int(value.removesuffix("h"))
        for name, value in {
            "leaf": serving["duration"],
            "leaf renewed": serving["renewBefore"],
            "left to the CA": authority["renewBefore"],
        }.items()
    }
    assert hours["left to the CA"] > hours["leaf"] > hours["leaf renewed"]


def test_each_renewal_has_a_new_key(build: Build) -> None:
    for certificate in of_kind(build("base", "components/cert-manager"), "Certificate"):
        assert certificate["spec"]["privateKey"] == {
            "algorithm": "ECDSA",
            "size": 256,
            "rotationPolicy": "Always",
        }


def test_the_overlay_is_the_base_with_the_component(build: Build) -> None:
    shipped = subprocess.run(
        [KUBECTL, "kustomize", MANIFESTS / "overlays/cert-manager"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert list(yaml.safe_load_all(shipped.stdout)) == build("base", "components/cert-manager")


def test_the_programs_that_look_find_the_secret_that_is_mounted(build: Build) -> None:
    deployment = named(build("base", "components/cert-manager"), "Deployment", "custom-scheduler")

    with FakeApi(lambda exchange: exchange.reply(200, deployment)) as api:
        found = served_files(api.client(), "custom-scheduler")

    assert found == ServedFiles(secret="custom-scheduler-serving", key="tls.crt")
