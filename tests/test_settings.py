from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from certs.context import TLS_FLOOR
from webhook.errors import ConfigurationError
from webhook.settings import ExtenderSettings, ServerSettings, ServeSettings, own_namespace


def checked(**given: Any) -> ServeSettings:
    return ServeSettings.checked(
        **{
            "policy": Path("p.yaml"),
            "namespace": "custom-scheduler",
            "cert_mode": None,
            "binder": None,
            **given,
        }
    )


PAIR = {"tls_cert": Path("tls.crt"), "tls_key": Path("tls.key")}


def test_a_certificate_pair_implies_files_mode() -> None:
    assert checked(**PAIR).cert_mode == "files"


def test_without_a_pair_the_certificate_is_self_signed() -> None:
    assert checked().cert_mode == "self-signed"


def test_the_binder_runs_where_there_is_a_cluster() -> None:
    assert checked().binder
    assert not checked(offline=True, **PAIR).binder
    assert not checked(binder=False).binder


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"tls_cert": Path("tls.crt")}, "--tls-key"),
        ({"tls_key": Path("tls.key")}, "--tls-cert"),
        ({"cert_mode": "files"}, "--tls-cert"),
        ({"cert_mode": "self-signed", **PAIR}, "--cert-mode"),
        ({"offline": True}, "--offline"),
        ({"offline": True, "binder": True, **PAIR}, "--binder"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        checked(**given)


@pytest.mark.parametrize("name", ["drain_seconds", "ca_settle_seconds", "leaf_hours"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_of_seconds_or_hours_that_is_none_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match=f"^--{name.replace('_', '-')} is {value}: give a number$"):
        checked(**{name: value})


def test_the_extender_too_refuses_a_drain_that_is_no_number() -> None:
    with pytest.raises(ConfigurationError, match="--drain-seconds"):
        ExtenderSettings(
            tls_cert=Path("tls.crt"),
            tls_key=Path("tls.key"),
            client_ca=Path("ca.crt"),
            drain_seconds=math.nan,
        )


def test_the_namespace_given_wins_over_the_pods_own(tmp_path: Path) -> None:
    in_cluster = tmp_path / "namespace"
    in_cluster.write_text("from-the-pod\n")

    assert own_namespace("given", in_cluster=in_cluster) == "given"
    assert own_namespace(None, in_cluster=in_cluster) == "from-the-pod"
    assert own_namespace(None, in_cluster=tmp_path / "absent") == "custom-scheduler"


@pytest.mark.parametrize("name", ["../../x", "a/b", "Team A", "a\n", "-a", "a" * 64])
def test_what_is_no_namespaces_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="--namespace"):
        own_namespace(name)


def test_the_floor_of_tls_versions_is_the_one_of_the_library() -> None:
    assert ServerSettings().tls_min_version == TLS_FLOOR
