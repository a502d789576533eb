from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webhook.inspect.check import Report, check
from webhook.inspect.forecast import Surroundings
from webhook.inspect.manifests import read_manifests
from webhook.policy.model import Policy, RequiredLabel

ENFORCED = Surroundings()
GOOD = "apiVersion: v1\nkind: Pod\nmetadata: {name: good, labels: {custom: web}}\n"
BAD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: bad\n  labels:\n    app: web\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: team-a}
spec:
  template:
    metadata:
      labels:
        custom: wrong
"""
WARNING = Policy(name="default", required_labels=(RequiredLabel(key="custom", action="Warn"),))


def report(*documents: str, policy: Policy | None = None) -> Report:
    text = "---\n".join(documents)
    return check(read_manifests(text, source="m.yaml"), policy or Policy(name="default"), ENFORCED)


def test_each_object_gets_its_verdict_and_other_kinds_are_counted() -> None:
    found = report(GOOD, BAD, SERVICE)

    assert [(result.title, result.outcome) for result in found.results] == [
        ("Pod good", "allow"),
        ("Pod bad", "deny"),
    ]
    assert found.other_kinds == 1


def test_a_finding_has_the_line_of_its_field() -> None:
    policy = Policy(name="default", required_labels=(RequiredLabel(key="custom", allowed_values=("batch",)),))

    (result,) = report(DEPLOYMENT, policy=policy).results

    assert [(finding.line, finding.field) for finding in result.findings] == [
        (8, "spec.template.metadata.labels.custom")
    ]


def test_the_exit_code_is_that_of_the_worst() -> None:
    assert report(GOOD, SERVICE).exit_code == 0
    assert report(BAD, policy=WARNING).exit_code == 0
    assert report(GOOD, BAD).exit_code == 1
    assert report(BAD, "a: [").exit_code == 2


def test_whose_creation_would_fail_is_told() -> None:
    (workload,) = report(DEPLOYMENT).results
    (pod,) = report(BAD).results
    (refused,) = report(DEPLOYMENT, policy=Policy(name="default", workloads="Deny")).results

    assert (workload.affects, pod.affects, refused.affects) == ("pods", "object", "object")


def test_an_object_that_stands_twice_is_told_with_its_first_place() -> None:
    found = report(GOOD, GOOD, GOOD.replace("{name: good", "{name: good, namespace: b"))

    assert [result.repeats for result in found.results] == [None, "m.yaml:1", None]


def test_generated_names_are_never_the_same() -> None:
    found = report(*[GOOD.replace("name: good", "generateName: good-")] * 2)

    assert [result.repeats for result in found.results] == [None, None]


def test_a_label_that_is_no_string_is_told_with_its_line_and_cure() -> None:
    (broken,) = report(BAD.replace("app: web", "app: web\n    a.io/custom: yes\n    more: 1")).broken

    assert broken.line == 7
    assert broken.fault == (
        "Pod bad: metadata.labels[a.io/custom]: Expected `str`, got `bool`; put it in quotes"
    )


def test_a_name_that_is_no_string_is_told_with_its_line_and_cure() -> None:
    (broken,) = report(BAD.replace("name: bad", "name: 0x10")).broken

    assert (broken.line, broken.fault.endswith("put it in quotes")) == (4, True)


def test_in_a_list_the_item_is_the_place() -> None:
    text = '{"apiVersion": "v1", "kind": "List", "items": [\n{"apiVersion": "v1", "kind": "Pod", "metadata": {}}]}'

    (result,) = report(text).results

    assert (result.line, result.outcome) == (2, "deny")


PIECES = st.sampled_from(
    [
        GOOD,
        BAD,
        DEPLOYMENT,
        "---\n",
        "- ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "&a ",
        "*a",
        "<<: ",
        "!x ",
        "|\n",
        "\n",
        " ",
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join))
def test_whatever_the_input_is_the_answer_is_a_report(text: str) -> None:
    found = report(text)

    assert all(broken.line and broken.line <= len(text.splitlines()) + 1 for broken in found.broken)
    assert all("\n" not in broken.fault for broken in found.broken)
