"""A policy as ValidatingAdmissionPolicies, a MutatingAdmissionPolicy and their bindings.

What a fault leads to is said by a binding, so there is a policy for each action. A policy has one validation, whose
message joins the faults: the API server tells a user the first validation that fails, and no other.
Source: k8s.io/apiserver pkg/admission/plugin/policy/validating/dispatcher.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

import yaml

from webhook.policy.cel import registration, subject
from webhook.policy.cel.affinity import TERMS
from webhook.policy.cel.expression import Expression, Variable, listed, literal
from webhook.policy.cel.labels import POD_VARIABLES, WORKLOAD_VARIABLES, pod_faults, workload_faults
from webhook.policy.cel.limits import refuse_long_expressions, refuse_what_cel_cannot_take
from webhook.policy.cel.placement import other_scheduler_fault, placement_variables
from webhook.policy.cel.registration import Json, Selection
from webhook.policy.cel.steering import CAN_BE_STEERED, steering_conditions, steering_patch
from webhook.policy.model import Action, Policy
from webhook.policy.names import OPT_IN_LABEL, OPTED_IN

__all__ = ["LABELS", "admission_policies", "export_cel"]

LABELS = {"app.kubernetes.io/name": "custom-scheduler", "app.kubernetes.io/component": "exported-policy"}
_EXPORTED_FROM = "custom-scheduler.io/exported-from"
_API_VERSION = "admissionregistration.k8s.io/v1"
_VALIDATING = "ValidatingAdmissionPolicy"
_MUTATING = "MutatingAdmissionPolicy"


def export_cel(policy: Policy) -> str:
    """The exported objects as a stream of YAML documents. Raises PolicyError for what CEL can't take."""
    return yaml.dump_all(
        admission_policies(policy),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        explicit_start=True,
        width=2**20,
    )


def admission_policies(policy: Policy) -> list[Json]:
    """The exported objects: each policy, followed by its bindings. Raises PolicyError for what CEL can't take."""
    refuse_what_cel_cannot_take(policy)
    export = _Export(policy)
    return [
        *export.label_policies(),
        *export.verification(),
        *export.other_scheduler(),
        *export.steering(),
    ]


class _Export:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def label_policies(self) -> Iterator[Json]:
        """The label rules on pods and workloads, and the final state of pods that carry the opt-in label."""
        for action in get_args(Action):
            faults = pod_faults(self._policy, action)
            variables: tuple[Variable, ...] = POD_VARIABLES
            if self._policy.placement.verify == action:
                faults.append(_PLACEMENT_IF_OPTED_IN)
                variables += placement_variables(self._policy)
            yield from self._label_policy("pods", action, registration.PODS, variables, faults)
            yield from self._label_policy(
                "workloads",
                action,
                registration.WORKLOADS,
                WORKLOAD_VARIABLES,
                workload_faults(self._policy, action),
            )

    def verification(self) -> Iterator[Json]:
        """The final state of the other pods that opted in."""
        mode = self._policy.placement.verify
        if mode == "Off":
            return
        name = "verify"
        yield self._validating(
            name,
            registration.NEW_PODS,
            variables=(*subject.MANIFEST, *placement_variables(self._policy)),
            fault="placement",
        )
        yield self._binding(_VALIDATING, name, registration.NOT_ENFORCED_PODS, mode, of="pods")
        yield self._binding(_VALIDATING, name, registration.UNDECIDED_PODS, mode, of="namespaces")

    def other_scheduler(self) -> Iterator[Json]:
        """The denial of pods that opted in and name another scheduler: a mutating policy can't deny."""
        if self._policy.placement.other_scheduler != "Deny":
            return
        name = "other-scheduler"
        told = other_scheduler_fault(self._policy).expression
        fault = f'{subject.another_scheduler(self._policy)} ? {told} : ""'
        yield self._validating(
            name,
            registration.NEW_PODS,
            variables=(*subject.MANIFEST, Variable(name="fault", expression=fault)),
            fault="fault",
            conditions=CAN_BE_STEERED,
        )
        yield self._binding(_VALIDATING, name, registration.OPTED_IN_PODS, "Deny", of="pods")
        yield self._binding(_VALIDATING, name, registration.OPTED_IN_NAMESPACES, "Deny", of="namespaces")

    def steering(self) -> Iterator[Json]:
        """The steering of pods that opted in."""
        name = "mutate"
        spec: Json = {
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "IfNeeded",
            "matchConstraints": registration.match_constraints(registration.NEW_PODS),
            "matchConditions": self._conditions(steering_conditions(self._policy)),
            "variables": _variables([TERMS]),
            "mutations": [
                {"patchType": "JSONPatch", "jsonPatch": {"expression": steering_patch(self._policy)}}
            ],
        }
        yield self._object(_MUTATING, name, spec)
        yield self._binding(_MUTATING, name, registration.OPTED_IN_PODS, of="pods")
        yield self._binding(_MUTATING, name, registration.OPTED_IN_NAMESPACES, of="namespaces")

    def _label_policy(
        self,
        judged: str,
        action: Action,
        rules: list[Json],
        variables: Sequence[Variable],
        faults: list[Expression],
    ) -> Iterator[Json]:
        if not faults:
            return
        name = f"{judged}-{action.lower()}"
        joined = f'{listed(faults, lines=True)}.filter(f, f != "").join("; ")'
        yield self._validating(
            name,
            rules,
            variables=(*variables, Variable(name="faults", expression=joined)),
            fault="faults",
        )
        if action == "Deny":
            yield self._binding(_VALIDATING, name, registration.DENY, "Deny")
            yield self._binding(_VALIDATING, name, registration.WARN, "Warn", of="as-warning")
        else:
            yield self._binding(_VALIDATING, name, registration.ENFORCED, action)

    def _validating(
        self,
        name: str,
        rules: list[Json],
        *,
        variables: Sequence[Variable],
        fault: str,
        conditions: Mapping[str, str] | None = None,
    ) -> Json:
        spec: Json = {
            "failurePolicy": "Ignore",
            "matchConstraints": registration.match_constraints(rules),
            "matchConditions": self._conditions(conditions or {}),
            "variables": _variables(variables),
            "validations": [
                {
                    "expression": f'variables.{fault} == ""',
                    "messageExpression": f"variables.{fault}",
                    # In place of a message that is longer than the API server takes.
                    "message": f"PlacementPolicy {self._policy.name} is not kept",
                    "reason": "Forbidden",
                }
            ],
        }
        return self._object(_VALIDATING, name, spec)

    def _conditions(self, conditions: Mapping[str, str]) -> list[Json]:
        together = {**subject.not_exempt(self._policy), **conditions}
        return [{"name": name, "expression": expression} for name, expression in together.items()]

    def _binding(
        self, kind: str, name: str, selection: Selection, action: str | None = None, *, of: str = ""
    ) -> Json:
        spec: Json = {"policyName": _full_name(name)}
        if action:
            spec["validationActions"] = [action]
        spec["matchResources"] = registration.match_resources(selection, self._policy)
        return self._object(f"{kind}Binding", f"{name}-{of}" if of else name, spec)

    def _object(self, kind: str, name: str, spec: Json) -> Json:
        refuse_long_expressions(_full_name(name), spec)
        generation = f"{self._policy.generation:012x}"
        return {
            "apiVersion": _API_VERSION,
            "kind": kind,
            "metadata": {
                "name": _full_name(name),
                "labels": LABELS,
                "annotations": {
                    _EXPORTED_FROM: f"PlacementPolicy {self._policy.name}, generation {generation}"
                },
            },
            "spec": {key: value for key, value in spec.items() if value != []},
        }


_PLACEMENT_IF_OPTED_IN = Expression(
    f"({subject.IS_CREATE} && variables.labels[?{literal(OPT_IN_LABEL)}] == optional.of({literal(OPTED_IN)}) "
    '? variables.placement : "")'
)


def _full_name(name: str) -> str:
    return f"custom-scheduler-{name}"


def _variables(variables: Sequence[Variable]) -> list[Json]:
    return [{"name": variable.name, "expression": variable.expression} for variable in variables]


class _Dumper(yaml.SafeDumper):
    """Writes what has several lines as a block, and each value out instead of an alias."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_multi_representer(str, _represent_text)
