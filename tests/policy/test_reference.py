"""docs/policy.md holds each field of the model, and its examples are policies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import yaml

from tests.policy.files import OWN_NAMESPACE, parse, parse_spec
from webhook.policy import model
from webhook.policy.model import Policy

REFERENCE = (Path(__file__).parents[2] / "docs/policy.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", REFERENCE, re.MULTILINE | re.DOTALL)
POLICIES = [text for text in EXAMPLES if "kind: PlacementPolicy" in text]
SPECS = [text for text in EXAMPLES if text.startswith("spec:")]

SECTIONS = {
    "### `spec.requiredLabels`": model.RequiredLabel,
    "### `spec.exempt`": model.Exempt,
    "### `spec.placement`": model.Placement,
    "### `spec.placement.nodeAffinity`": model.NodeAffinity,
    "An expression is what Kubernetes calls": model.PreferredRequirement,
    "### `spec.placement.tolerations`": model.Toleration,
}
CHOICES = {
    "action": model.Action,
    "otherScheduler": model.OtherScheduler,
    "verify": model.Mode,
    "effect": model.TaintEffect,
}


def rows(heading: str) -> dict[str, str]:
    """Return the rows of the first table after a heading, by the field that each is about."""
    table = re.search(r"(^\|.*\n)+", REFERENCE[REFERENCE.index(f"\n{heading}") :], re.MULTILINE)
    assert table
    return dict(re.findall(r"^\| `(\w+)` (\|.*)$", table[0], re.MULTILINE))


@pytest.mark.parametrize(("heading", "part"), SECTIONS.items())
def test_a_table_has_each_field_and_no_other(heading: str, part: type[msgspec.Struct]) -> None:
    assert set(rows(heading)) == {field.encode_name for field in msgspec.structs.fields(part)}


def test_each_field_of_the_spec_has_a_section() -> None:
    sections = set(re.findall(r"^### `spec\.(\w+)`$", REFERENCE, re.MULTILINE))

    assert sections == {field.encode_name for field in msgspec.structs.fields(Policy)} - {"name"}


@pytest.mark.parametrize(("field", "allowed"), CHOICES.items())
def test_each_choice_is_told(field: str, allowed: object) -> None:
    told = next(rows(heading)[field] for heading in SECTIONS if field in rows(heading))

    assert all(f"`{choice}`" in told for choice in get_args(allowed))


@pytest.mark.parametrize("operator", get_args(model.NodeSelectorOperator))
def test_each_operator_is_told(operator: str) -> None:
    assert f"`{operator}`" in rows("An expression is what Kubernetes calls")["operator"]


@pytest.mark.parametrize("text", POLICIES)
def test_the_whole_policy_is_the_default_one(text: str) -> None:
    assert parse(text) == parse_spec("{}")
    assert parse(text).exempt.namespaces == {"kube-system", OWN_NAMESPACE}


def test_the_whole_policy_writes_out_each_default() -> None:
    (text,) = POLICIES
    spec = yaml.safe_load(text)["spec"]

    assert set(spec) == {field.encode_name for field in msgspec.structs.fields(Policy)} - {"name"}
    for name, part in (("exempt", model.Exempt), ("placement", model.Placement)):
        assert set(spec[name]) == {field.encode_name for field in msgspec.structs.fields(part)}


@pytest.mark.parametrize("text", SPECS)
def test_each_example_of_a_spec_is_one(text: str) -> None:
    assert parse_spec(f"\n{text.removeprefix('spec:')}") != parse_spec("{}")


def test_every_other_example_is_yaml() -> None:
    others = [yaml.safe_load(text)["kind"] for text in EXAMPLES if text not in (*POLICIES, *SPECS)]

    assert (len(POLICIES), len(SPECS), others) == (1, 2, ["Application"])
