"""Generated pods, policies and reviews; names come from small sets, so that they meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.admission.nodematch import PREFERRED, REQUIRED
from tests.admission.reviews import DAEMON_SET_CONTROLLER, NODE
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
from webhook.policy.pattern import Pattern

KEYS = st.sampled_from(["custom", "disk", "zone", "x.io/a-b"])
VALUES = st.sampled_from(["", "a", "b", "ssd", "5", "7"])
NODE_NAMES = st.sampled_from(["n1", "n2"])

node_labels = st.dictionaries(KEYS, VALUES)
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _requirement(key: str, operator: str, values: list[str], number: str) -> dict[str, Any]:
    chosen = {"In": values, "NotIn": values, "Gt": [number], "Lt": [number]}.get(operator)
    return {"key": key, "operator": operator, **({"values": chosen} if chosen else {})}


requirements = st.builds(
    _requirement,
    KEYS,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(VALUES, min_size=1, max_size=3, unique=True),
    st.sampled_from(["4", "6"]),
)


def maybe(value: st.SearchStrategy[Any], *keys: str) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping in which each of `keys` is absent, null, or has `value`."""
    return st.fixed_dictionaries({}, optional={key: st.none() | value for key in keys})


def _merged(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(
        lambda mappings: {key: value for part in mappings for key, value in part.items()}
    )


node_fields = st.builds(
    lambda operator, name: {"key": "metadata.name", "operator": operator, "values": [name]},
    st.sampled_from(["In", "NotIn"]),
    NODE_NAMES,
)
terms = _merged(
    maybe(st.lists(requirements, max_size=3), "matchExpressions"),
    maybe(st.lists(node_fields, max_size=2), "matchFields"),
)
selectors = maybe(st.lists(terms, max_size=3), "nodeSelectorTerms")
preferences = st.fixed_dictionaries({"weight": st.sampled_from([1, 100]), "preference": terms})
node_affinities = _merged(maybe(selectors, REQUIRED), maybe(st.lists(preferences, max_size=2), PREFERRED))
affinities = _merged(maybe(node_affinities, "nodeAffinity"), maybe(anything, "podAffinity"))
tolerations = _merged(
    maybe(KEYS, "key"),
    maybe(st.sampled_from(["Equal", "Exists", ""]), "operator"),
    maybe(VALUES, "value"),
    maybe(st.sampled_from(["", "NoSchedule", "NoExecute"]), "effect"),
    maybe(st.sampled_from([0, 60]), "tolerationSeconds"),
)

opt_in_labels = st.sampled_from(["true", "true", "true", "false", "yes"])
labels = _merged(
    st.fixed_dictionaries({}, optional={"custom-scheduler.io/opt-in": opt_in_labels}),
    st.dictionaries(KEYS, VALUES),
)
pod_annotations = st.dictionaries(
    st.sampled_from(["a", "b/c~d", "custom-scheduler.io/placed-by"]), st.sampled_from(["generated", "x"])
)
specs = _merged(
    maybe(
        st.sampled_from(["", "default-scheduler", "default-scheduler", "ours", "volcano"]), "schedulerName"
    ),
    maybe(affinities, "affinity"),
    maybe(st.lists(tolerations, max_size=3), "tolerations"),
    maybe(anything, "futureField"),
)
pods = st.fixed_dictionaries(
    {
        "kind": st.just("Pod"),
        "metadata": _merged(
            st.just({"name": "web-1"}), maybe(labels, "labels"), maybe(pod_annotations, "annotations")
        ),
        "spec": specs,
    }
)
users = st.sampled_from(
    [{"username": "alice", "groups": None}, {"username": "bob"}, NODE, DAEMON_SET_CONTROLLER]
)

policy_requirements = requirements.map(
    lambda written: NodeSelectorRequirement(**{**written, "values": tuple(written.get("values", ()))})
)
policy_preferences = st.builds(
    lambda weight, one: PreferredRequirement(
        weight=weight, key=one.key, operator=one.operator, values=one.values
    ),
    st.sampled_from([1, 100]),
    policy_requirements,
)
policy_tolerations = st.builds(
    Toleration,
    key=KEYS,
    operator=st.sampled_from(["Equal", "Exists"]),
    value=st.just(""),
    effect=st.sampled_from(["", "NoSchedule", "NoExecute"]),
    toleration_seconds=st.none(),
)
rules = st.builds(
    RequiredLabel,
    key=KEYS,
    allowed_values=st.just(()) | st.just(("a", "b")),
    pattern=st.none() | st.just(Pattern("[a-z]+")),
    action=st.sampled_from(["Deny", "Warn", "Audit"]),
)


def _distinct(values: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=size, unique=True).map(tuple)


policies = st.builds(
    Policy,
    name=st.just("generated"),
    required_labels=_distinct(rules, 3),
    workloads=st.sampled_from(["Deny", "Warn", "Off"]),
    exempt=st.just(Exempt()) | st.just(Exempt(users=frozenset({"bob"}))),
    placement=st.builds(
        Placement,
        scheduler_name=st.sampled_from(["ours", "default-scheduler"]),
        other_scheduler=st.sampled_from(["Respect", "Override", "Deny"]),
        node_affinity=st.builds(
            NodeAffinity,
            required=_distinct(policy_requirements, 2),
            preferred=_distinct(policy_preferences, 2),
        ),
        tolerations=_distinct(policy_tolerations, 2),
        verify=st.sampled_from(["Deny", "Warn", "Off"]),
    ),
)
