from __future__ import annotations

from xml.etree import ElementTree as ET

from webhook.inspect.check import check
from webhook.inspect.forecast import Surroundings
from webhook.inspect.junit import junit
from webhook.inspect.manifests import read_manifests
from webhook.policy.model import Policy, RequiredLabel

MANIFESTS = """\
{apiVersion: v1, kind: Pod, metadata: {name: good, labels: {custom: web, tier: a}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: bad, labels: {tier: a}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: "odd\\u0001<&>", labels: {custom: web}}}
---
a: [
"""
POLICY = Policy(
    name="default", required_labels=(RequiredLabel(key="custom"), RequiredLabel(key="tier", action="Warn"))
)


def parsed() -> ET.Element:
    report = check(read_manifests(MANIFESTS, source="m.yaml"), POLICY, Surroundings())
    return ET.fromstring(junit(report).encode())  # noqa: S314 (what we wrote ourselves)


def test_a_denial_is_a_failure_a_warning_is_output_and_a_fault_an_error() -> None:
    cases = parsed().findall("./testsuite/testcase")

    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["system-out"], ["error"]]
    assert [case.get("line") for case in cases] == ["1", "3", "5", "7"]
    failure = cases[1].find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("Pod must have custom label")
    assert (failure.text or "").startswith("m.yaml:3: ")


def test_the_numbers_add_up() -> None:
    root = parsed()
    (suite,) = root

    for element in (root, suite):
        assert [element.get(name) for name in ("tests", "failures", "errors")] == ["4", "1", "1"]


def test_what_xml_cannot_hold_is_replaced() -> None:
    names = [case.get("name") for case in parsed().iter("testcase")]

    assert names == ["Pod good", "Pod bad", "Pod odd\ufffd<&>", "input"]
