from __future__ import annotations

from pathlib import Path

import pytest

from tests.policy.files import DEFAULT, HEADER, OWN_NAMESPACE, parse, parse_spec
from webhook.errors import PolicyError
from webhook.policy.model import (
    Exempt,
    NodeAffinity,
    NodeSelectorRequirement,
    Placement,
    Policy,
    PreferredRequirement,
    RequiredLabel,
    Toleration,
)
from webhook.policy.parse import load_policy
from webhook.policy.pattern import Pattern

ALWAYS_EXEMPT = Exempt(namespaces=frozenset({"kube-system", OWN_NAMESPACE}))


def test_defaults_written_out_are_the_defaults() -> None:
    assert parse(DEFAULT) == parse_spec("{}") == Policy(name="default", exempt=ALWAYS_EXEMPT)


def test_every_field_is_read() -> None:
    policy = parse(f"""\
{HEADER}
spec:
  requiredLabels:
  - key: example.com/team
    allowedValues: [a, b, ""]
    message: Say which team
    action: Warn
  - key: tier
    pattern: "[a-z]+"
    action: Audit
  workloads: Off
  exempt:
    namespaces: [ci]
    users: [oncall]
    groups: [break-glass]
  placement:
    schedulerName: other
    otherScheduler: Override
    nodeAffinity:
      required:
      - {{key: disk, operator: In, values: [ssd]}}
      - {{key: cores, operator: Gt, values: ["8"]}}
      preferred:
      - {{weight: 100, key: zone, operator: NotIn, values: [a, b]}}
    tolerations:
    - {{key: dedicated, value: batch, effect: NoExecute, tolerationSeconds: -1}}
    - {{operator: Exists}}
    verify: Deny
""")

    assert policy == Policy(
        name="default",
        required_labels=(
            RequiredLabel(
                key="example.com/team", allowed_values=("a", "b", ""), message="Say which team", action="Warn"
            ),
            RequiredLabel(key="tier", pattern=Pattern("[a-z]+"), action="Audit"),
        ),
        workloads="Off",
        exempt=Exempt(
            namespaces=frozenset({"ci", "kube-system", OWN_NAMESPACE}),
            users=frozenset({"oncall"}),
            groups=frozenset({"break-glass"}),
        ),
        placement=Placement(
            scheduler_name="other",
            other_scheduler="Override",
            node_affinity=NodeAffinity(
                required=(
                    NodeSelectorRequirement(key="disk", operator="In", values=("ssd",)),
                    NodeSelectorRequirement(key="cores", operator="Gt", values=("8",)),
                ),
                preferred=(
                    PreferredRequirement(weight=100, key="zone", operator="NotIn", values=("a", "b")),
                ),
            ),
            tolerations=(
                Toleration(key="dedicated", value="batch", effect="NoExecute", toleration_seconds=-1),
                Toleration(operator="Exists"),
            ),
            verify="Deny",
        ),
    )


def test_json_is_yaml_too() -> None:
    policy = parse(
        '{"apiVersion": "custom-scheduler.io/v1alpha1", "kind": "PlacementPolicy", "metadata": {"name": "x"}, "spec": {}}'
    )

    assert policy.name == "x"


def test_rules_and_affinity_can_be_turned_off_by_empty_lists() -> None:
    policy = parse_spec("{requiredLabels: [], placement: {nodeAffinity: {required: []}}}")

    assert policy.required_labels == ()
    assert policy.placement.node_affinity == NodeAffinity(required=())


def test_kube_system_and_own_namespace_are_exempt_whatever_the_file_says() -> None:
    assert parse_spec("{exempt: {namespaces: [ci]}}").exempt.namespaces == {
        "ci",
        "kube-system",
        OWN_NAMESPACE,
    }


def test_message_names_the_key_unless_it_is_given() -> None:
    policy = parse_spec("{requiredLabels: [{key: custom}, {key: a.io/team}]}")

    assert [rule.message for rule in policy.required_labels] == [
        "Pod must have custom label",
        "Pod must have a.io/team label",
    ]


def test_groups_that_hold_people_can_be_exempt() -> None:
    policy = parse_spec('{exempt: {groups: ["system:masters", "oidc:sre"]}}')

    assert policy.exempt.groups == {"system:masters", "oidc:sre"}


def test_service_account_can_be_exempt_as_a_user() -> None:
    policy = parse_spec('{exempt: {users: ["system:serviceaccount:ci:deployer"]}}')

    assert policy.exempt.users == {"system:serviceaccount:ci:deployer"}


LONG = "x" * 64

# In each, the fault is in line 4.
FAULTS = [
    ("", "spec is empty; expected a mapping"),
    ("[]", "spec is a list; expected a mapping"),
    ("text", 'spec is "text"; expected a mapping'),
    ("{rules: []}", "spec.rules is not a known key; known: requiredLabels, workloads, exempt, placement"),
    ("{1: a}", "spec.1 is not a known key; known: requiredLabels, workloads, exempt, placement"),
    ("{[a]: b}", "spec.? is not a known key; known: requiredLabels, workloads, exempt, placement"),
    ("{workloads: Warn, workloads: Deny}", "spec.workloads is given twice, first in line 4"),
    (
        "{<<: {workloads: Off}}",
        "spec.<< is not a known key; known: requiredLabels, workloads, exempt, placement",
    ),
    ("{workloads: warn}", 'spec.workloads is "warn"; allowed: Deny, Warn, Off'),
    ("{workloads: off}", "spec.workloads is off; allowed: Deny, Warn, Off"),
    ("{workloads: [Off]}", "spec.workloads is a list; allowed: Deny, Warn, Off"),
    ("{requiredLabels: {key: a}}", "spec.requiredLabels is a mapping; expected a list"),
    ("{requiredLabels: [{}]}", "spec.requiredLabels[0].key is missing"),
    (
        "{requiredLabels: [{key: a}, {key: a}]}",
        "spec.requiredLabels[1] repeats spec.requiredLabels[0]; keep one",
    ),
    ("{requiredLabels: [{key: 1}]}", "spec.requiredLabels[0].key is 1; expected a string: put it in quotes"),
    ("{requiredLabels: [{key: [a]}]}", "spec.requiredLabels[0].key is a list; expected a string"),
    ("{requiredLabels: [{key: a b}]}", 'spec.requiredLabels[0].key is "a b"; expected a label key'),
    (
        "{requiredLabels: [{key: a, action: Of}]}",
        'spec.requiredLabels[0].action is "Of"; allowed: Deny, Warn, Audit',
    ),
    (
        "{requiredLabels: [{key: a, mesage: b}]}",
        "spec.requiredLabels[0].mesage is not a known key; known: key, ",
    ),
    (
        "{requiredLabels: [{key: a, message: ''}]}",
        'spec.requiredLabels[0].message is ""; expected one line of 1 to',
    ),
    (
        "{requiredLabels: [{key: a, message: ' '}]}",
        'spec.requiredLabels[0].message is " "; expected one line of 1 to',
    ),
    (
        '{requiredLabels: [{key: a, message: "a\\nb"}]}',
        r'spec.requiredLabels[0].message is "a\nb"; expected one line',
    ),
    (
        f"{{requiredLabels: [{{key: a, message: {'m' * 257}}}]}}",
        f'spec.requiredLabels[0].message is "{"m" * 80}…"; expected one line of 1 to 256 printable characters',
    ),
    (
        "{requiredLabels: [{key: a, allowedValues: []}]}",
        "spec.requiredLabels[0].allowedValues is an empty list; g",
    ),
    ("{requiredLabels: [{key: a, allowedValues: [-a]}]}", 'allowedValues[0] is "-a"; expected a label value'),
    (
        "{requiredLabels: [{key: a, allowedValues: [yes]}]}",
        "allowedValues[0] is yes; expected a string: put it in quo",
    ),
    (
        f"{{requiredLabels: [{{key: a, allowedValues: [{LONG}]}}]}}",
        f'allowedValues[0] is "{LONG}"; expected a label',
    ),
    (
        "{requiredLabels: [{key: a, allowedValues: [b, b]}]}",
        "allowedValues[1] repeats spec.requiredLabels[0].allo",
    ),
    (
        "{requiredLabels: [{key: a, pattern: (a}]}",
        'spec.requiredLabels[0].pattern is "(a"; RE2 refuses it: missing )',
    ),
    (
        "{requiredLabels: [{key: a, pattern: '(?=a)'}]}",
        'pattern is "(?=a)"; RE2 refuses it: invalid perl operator',
    ),
    ("{requiredLabels: [{key: a, pattern: '(a)\\1'}]}", "RE2 refuses it: invalid escape sequence"),
    (
        '{requiredLabels: [{key: a, pattern: "[a-z]+\\n"}]}',
        r'spec.requiredLabels[0].pattern is "[a-z]+\n"; expected one line of printable characters',
    ),
    ("{requiredLabels: [{key: a, pattern: ''}]}", 'pattern is ""; expected one line of printable characters'),
    (
        "{requiredLabels: [{key: a, pattern: a, allowedValues: [b]}]}",
        "has both allowedValues and pattern; keep one of",
    ),
    (
        "{exempt: {namespaces: [A]}}",
        'spec.exempt.namespaces[0] is "A"; expected a namespace\'s name: up to 63 lower',
    ),
    (
        "{exempt: {namespaces: ['kube-*']}}",
        'spec.exempt.namespaces[0] is "kube-*"; expected a namespace\'s name',
    ),
    ("{exempt: {users: ['']}}", 'spec.exempt.users[0] is ""; expected a user\'s name'),
    ("{exempt: {groups: ['']}}", 'spec.exempt.groups[0] is ""; expected a group\'s name'),
    ("{exempt: {users: ['ci-*']}}", 'spec.exempt.users[0] is "ci-*"; expected a user\'s name in full'),
    ("{exempt: {users: ['alice ']}}", 'spec.exempt.users[0] is "alice "; expected a user\'s name in full'),
    (
        '{exempt: {groups: ["oncall\\n"]}}',
        r'spec.exempt.groups[0] is "oncall\n"; expected a group',
    ),
    (
        "{exempt: {users: ['system:serviceaccount:ci']}}",
        'spec.exempt.users[0] is "system:serviceaccount:ci"; expected system:serviceaccount:NAMESPACE:NAME',
    ),
    (
        "{exempt: {groups: ['system:serviceaccount:ci:deployer']}}",
        'spec.exempt.groups[0] is "system:serviceaccount:ci:deployer"; this is a user: list it in spec.exempt.users',
    ),
    ("{exempt: {users: ~}}", "spec.exempt.users is empty; expected a list"),
    (
        "{placement: {schedulerName: ''}}",
        'spec.placement.schedulerName is ""; expected a name: up to 253 lower-case',
    ),
    (
        "{placement: {schedulerName: A_b}}",
        'spec.placement.schedulerName is "A_b"; expected a name: up to 253',
    ),
    ("{placement: {otherScheduler: Keep}}", 'otherScheduler is "Keep"; allowed: Respect, Override, Deny'),
    ("{placement: {verify: Audit}}", 'spec.placement.verify is "Audit"; allowed: Deny, Warn, Off'),
]

REQUIREMENT_FAULTS = [
    ("{operator: Exists}", ".key is missing"),
    ("{key: a}", ".operator is missing"),
    ("{key: a, operator: Is}", '.operator is "Is"; allowed: In, NotIn, Exists, DoesNotExist, Gt, Lt'),
    ("{key: a, operator: In}", " has no values; In needs at least one"),
    ("{key: a, operator: NotIn, values: []}", " has no values; NotIn needs at least one"),
    ("{key: a, operator: Exists, values: [b]}", " has values; Exists takes none"),
    ("{key: a, operator: DoesNotExist, values: [b]}", " has values; DoesNotExist takes none"),
    ("{key: a, operator: Gt}", " has the values []; Gt takes one integer, in quotes"),
    (
        "{key: a, operator: Lt, values: ['1', '2']}",
        " has the values ['1', '2']; Lt takes one integer, in quotes",
    ),
    ("{key: a, operator: Lt, values: [b]}", " has the values ['b']; Lt takes one integer, in quotes"),
    ("{key: a, operator: Lt, values: ['٣']}", '.values[0] is "٣"; expected a label value'),
    (
        "{key: a, operator: Gt, values: ['9223372036854775808']}",
        " has the values ['9223372036854775808']; Gt takes",
    ),
    ("{key: a, operator: Gt, values: ['-5']}", '.values[0] is "-5"; expected a label value'),
    ("{key: a, operator: Gt, values: [5]}", ".values[0] is 5; expected a string: put it in quotes"),
    ("{key: a/b/c, operator: Exists}", '.key is "a/b/c"; expected a label key'),
]

TOLERATION_FAULTS = [
    ("{}", " has no key; only the operator Exists goes without one"),
    ("{value: a}", " has no key; only the operator Exists goes without one"),
    ("{key: a, operator: Exists, value: b}", " has a value; the operator Exists takes none"),
    ("{key: a, operator: Gt, value: '1'}", '.operator is "Gt"; allowed: Equal, Exists'),
    ("{key: a, effect: Never}", '.effect is "Never"; allowed: NoSchedule, PreferNoSchedule, NoExecute'),
    ("{key: a, tolerationSeconds: 1}", " has tolerationSeconds; only the effect NoExecute takes them"),
    (
        "{key: a, effect: NoExecute, tolerationSeconds: 1.5}",
        ".tolerationSeconds is 1.5; expected an integer from",
    ),
    (
        "{key: a, effect: NoExecute, tolerationSeconds: '1'}",
        '.tolerationSeconds is "1"; expected an integer from',
    ),
    ("{key: a, value: b c}", '.value is "b c"; expected a label value'),
    ("{key: a_, value: b}", '.key is "a_"; expected a label key'),
]


@pytest.mark.parametrize(("spec", "fault"), FAULTS)
def test_fault_names_file_line_path_value_and_what_is_allowed(spec: str, fault: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_spec(spec)

    text = str(raised.value)
    assert text.startswith("policy.yaml:4: spec")
    assert fault in text
    assert "\n" not in text


@pytest.mark.parametrize(("requirement", "fault"), REQUIREMENT_FAULTS)
def test_requirement_that_the_api_server_would_refuse_is_a_fault(requirement: str, fault: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_spec(f"{{placement: {{nodeAffinity: {{required: [{requirement}]}}}}}}")

    assert f"policy.yaml:4: spec.placement.nodeAffinity.required[0]{fault}" in str(raised.value)


@pytest.mark.parametrize("weight", ["0", "101", "-1", "'5'", "5.0", "0x10", "1_0", "", "9" * 400])
def test_preferred_weight_is_an_integer_from_1_to_100(weight: str) -> None:
    with pytest.raises(PolicyError, match=r"preferred\[0\]\.weight is .*; expected an integer from 1 to 100"):
        parse_spec(
            f"{{placement: {{nodeAffinity: {{preferred: [{{weight: {weight}, key: a, operator: Exists}}]}}}}}}"
        )


@pytest.mark.parametrize(("toleration", "fault"), TOLERATION_FAULTS)
def test_toleration_that_the_api_server_would_refuse_is_a_fault(toleration: str, fault: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_spec(f"{{placement: {{tolerations: [{toleration}]}}}}")

    assert f"policy.yaml:4: spec.placement.tolerations[0]{fault}" in str(raised.value)


@pytest.mark.parametrize(
    "group",
    [
        "system:serviceaccounts",
        "system:serviceaccounts:kube-system",
        "system:serviceaccounts:ci",
        "system:authenticated",
        "system:unauthenticated",
        "system:nodes",
        "system:kube-controller-manager",
    ],
)
def test_group_that_holds_controllers_nodes_or_everyone_is_refused_with_the_reason(group: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_spec(f'{{exempt: {{groups: [break-glass, "{group}"]}}}}')

    assert f'spec.exempt.groups[1] is "{group}"; a policy can\'t exempt it: it holds ' in str(raised.value)


@pytest.mark.parametrize(
    "user",
    [
        "system:kube-controller-manager",
        "system:serviceaccount:kube-system:replicaset-controller",
        "system:serviceaccount:kube-system:daemon-set-controller",
        "system:serviceaccount:kube-system:job-controller",
    ],
)
def test_user_that_is_a_controller_is_refused_with_the_reason(user: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_spec(f'{{exempt: {{users: [alice, "{user}"]}}}}')

    assert f'spec.exempt.users[1] is "{user}"; a policy can\'t exempt it: it is a controller' in str(
        raised.value
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "policy.yaml: is empty; expected a PlacementPolicy"),
        ("# only a comment\n", "policy.yaml: is empty; expected a PlacementPolicy"),
        ("[]", "policy.yaml:1: the document is a list; expected a mapping"),
        ("spec: {}", "policy.yaml:1: apiVersion is missing"),
        (DEFAULT.replace("kind: PlacementPolicy\n", ""), "policy.yaml:1: kind is missing"),
        (HEADER, "policy.yaml:1: spec is missing"),
        (DEFAULT.replace("{name: default}", "{}"), "policy.yaml:3: metadata.name is missing"),
        (
            DEFAULT.replace("name: default", "name: a/b"),
            'policy.yaml:3: metadata.name is "a/b"; expected a name',
        ),
        (DEFAULT.replace("name: default", "title: a"), "metadata.title is not a known key; known: name"),
        (
            DEFAULT.replace("v1alpha1", "v2"),
            'is "custom-scheduler.io/v2"; allowed: custom-scheduler.io/v1alpha1',
        ),
        (
            DEFAULT.replace("PlacementPolicy", "Policy"),
            'policy.yaml:2: kind is "Policy"; allowed: PlacementPolicy',
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\ndata: {}\n",
            'policy.yaml:1: apiVersion is "v1"; allowed: custom-scheduler.io/v1alpha1',
        ),
        (
            "apiVersion: custom-scheduler.io/v1alpha1\nkind: SchedulerConfiguration\nprofiles: []\n",
            'policy.yaml:2: kind is "SchedulerConfiguration"; allowed: PlacementPolicy',
        ),
        (f"{DEFAULT}status: {{}}\n", "status is not a known key; known: apiVersion, kind, metadata, spec"),
        (
            f"{DEFAULT}---\n{DEFAULT}",
            "policy.yaml:22: starts a second document; keep one PlacementPolicy in a file",
        ),
        ("a: [1", "policy.yaml:2: is not YAML: did not find expected ',' or ']'"),
        ("a: b: c", "policy.yaml:1: is not YAML: mapping values are not allowed in this context"),
        ("a: \x00", "policy.yaml: is not YAML: unacceptable character #x0000"),
        (f"{DEFAULT}a: !!python/object/apply:os.system [x]\n", "a is not a known key"),
        (b"\xff\xfe\x00", "policy.yaml: byte 0 is not UTF-8; save the file as UTF-8"),
        ("a: &x [1]\nb: *x\n", "policy.yaml:2: has the alias *x; write the value out"),
        ("a: &x [*x]\n", "policy.yaml:1: has the alias *x; write the value out"),
        ("[" * 33, "policy.yaml:1: is nested deeper than 32 levels"),
        ("[" * 100_000, "policy.yaml:1: is not YAML: exceeded maximum nesting depth"),
        ("- " * 100_000, "policy.yaml:1: is nested deeper than 32 levels"),
        ("#" * ((1 << 20) + 1), "policy.yaml: is larger than 1048576 bytes"),
    ],
)
def test_text_that_is_no_policy_is_a_fault(text: str | bytes, fault: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse(text)

    assert fault in str(raised.value)


def test_tag_of_another_language_is_no_string() -> None:
    with pytest.raises(PolicyError, match=r"spec\.requiredLabels\[0\]\.key is"):
        parse_spec("{requiredLabels: [{key: !!python/name:os.system custom}]}")


def test_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(DEFAULT)

    policy = load_policy(path, own_namespace="elsewhere")

    assert policy.name == "default"
    assert policy.exempt.namespaces == {"kube-system", "custom-scheduler", "elsewhere"}


def test_fault_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(DEFAULT.replace("Deny", "deny"))

    with pytest.raises(PolicyError) as raised:
        load_policy(path, own_namespace=OWN_NAMESPACE)

    assert str(raised.value) == (
        f'{path}:8: spec.requiredLabels[0].action is "deny"; allowed: Deny, Warn, Audit'
    )


def test_file_that_cannot_be_read_names_the_file_and_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as missing:
        load_policy(tmp_path / "none.yaml", own_namespace=OWN_NAMESPACE)
    with pytest.raises(PolicyError) as directory:
        load_policy(tmp_path, own_namespace=OWN_NAMESPACE)

    assert str(missing.value) == (
        f"{tmp_path}/none.yaml: can't be read (No such file or directory); give a file with a PlacementPolicy"
    )
    assert "can't be read (Is a directory)" in str(directory.value)
