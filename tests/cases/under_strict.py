"""A policy that uses every field, and denies where it can."""

from __future__ import annotations

from typing import Any

from tests.cases.builders import (
    DAEMON_SET_CONTROLLER,
    ON_NODE_1,
    OPT_IN,
    PREFERRED,
    ZONE_A,
    owned,
    pod,
    required,
    requirement,
    term,
    workload,
)
from tests.cases.case import Case, Json, Placement, User

TEAM = 'Which team? metadata.labels.team is missing. Allowed: batch, web, "". '
TIER = 'A "tier" like a-1 or \\x is needed: metadata.labels[acme.io/tier] is '
STRICT = {"team": "web", "acme.io/tier": "a-1", "cost-center": "1", "audited": "1"}
STRICT_TERM = (requirement("disk", "In", "ssd", "nvme"), requirement("cores", "Gt", "8"))
IN_ZONE_A = {"weight": 5, "preference": term(requirement("zone", "In", "a"))}
NO_SPOT = {"weight": 100, "preference": term(requirement("spot", "DoesNotExist"))}
DEDICATED = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}
FLAKY = {"key": "flaky", "value": "yes", "effect": "NoExecute", "tolerationSeconds": 60}


def strict(name: str, obj: Json, **others: Any) -> Case:
    return Case(name=f"strict {name}", policy="strict", object=obj, **others)


def steered_strictly(
    *terms: Json, preferred: tuple[Json, ...] = (), tolerations: tuple[Json, ...] = (DEDICATED, FLAKY)
) -> Placement:
    return Placement(
        scheduler="ours",
        affinity=required(
            *(terms or [term(*STRICT_TERM)]), **{PREFERRED: list(preferred or (IN_ZONE_A, NO_SPOT))}
        ),
        tolerations=tolerations,
        placed_by="strict",
    )


def opted_in(**spec: Any) -> Json:
    return pod({**STRICT, OPT_IN: "true"}, **spec)


def without(*keys: str, **changed: str) -> Json:
    return {key: value for key, value in {**STRICT, **changed}.items() if key not in keys}


UNDER_STRICT = [
    strict("pod with all labels", pod(STRICT)),
    strict("pod with an empty value that is allowed", pod(without(team=""))),
    strict(
        "pod without any label",
        pod(),
        denied=f"{TEAM}Set metadata.labels.team in the pod's manifest; {TIER}missing. Allowed: a value that matches",
        warned=("Pod must have cost-center label: metadata.labels.cost-center is missing",),
    ),
    strict(
        "pod that warns",
        pod(),
        namespace="cases-warn",
        warned=(
            "Which team? metadata.labels.team is missing",
            f"{TIER}missing",
            "Pod must have cost-center label: metadata.labels.cost-center is missing",
        ),
    ),
    strict(
        "pod without a label that only warns",
        pod(without("cost-center")),
        warned=("Pod must have cost-center label: metadata.labels.cost-center is missing",),
    ),
    strict("pod without a label that is only audited", pod(without("audited"))),
    strict(
        "pod of a team that is not allowed",
        pod(without(team="none")),
        denied='Which team? metadata.labels.team is "none". Allowed: batch, web, "". Set metadata.labels.team in',
    ),
    *(
        strict(
            f"pod whose tier is {value}",
            pod({**STRICT, "acme.io/tier": value}),
            denied=f'{TIER}"{value}". Allowed: a value that matches [a-z]+-\\d{{1,2}}|x. ',
        )
        for value in ("a-123", "xx", "A-1", "0a-1")
    ),
    *(
        strict(f"pod with the tier {value}", pod({**STRICT, "acme.io/tier": value}))
        for value in ("ab-12", "x")
    ),
    strict(
        "update from good to bad",
        pod({**STRICT, "acme.io/tier": "none"}),
        old=pod(STRICT),
        denied=f'{TIER}"none". Allowed: a value that matches [a-z]+-\\d{{1,2}}|x. Keep it: kubectl label pod '
        "strict-update-from-good-to-bad -n cases-deny --overwrite acme.io/tier=a-1",
    ),
    strict(
        "update from bad to worse",
        pod(without("acme.io/tier", team="none")),
        old=pod(without(team="no", **{"acme.io/tier": "none"})),
    ),
    strict("pod of an exempt user", pod(), user=User("root")),
    strict("pod of an exempt user with odd characters", pod(), user=User('o"brien\\n')),
    strict("pod of an exempt group", pod(), user=User("alice", ("dev", "on-call"))),
    strict(
        "pod of a group of an exempt user's name",
        pod(without("team")),
        user=User("alice", ("root",)),
        denied=TEAM,
    ),
    strict("pod of an exempt namespace", pod(), namespace="cases-exempt"),
    strict("opted-in pod of an exempt user", opted_in(), user=User("root"), namespace="cases-free"),
    strict(
        "Deployment without any label",
        workload("Deployment"),
        denied="Which team? spec.template.metadata.labels.team is missing in Deployment strict-deployment-without-any-label. "
        'Allowed: batch, web, "". Set spec.template.metadata.labels.team in Deployment '
        'strict-deployment-without-any-label; A "tier" like',
        warned=("Pod must have cost-center label: spec.template.metadata.labels.cost-center is missing",),
    ),
    strict(
        "CronJob without a tier",
        workload("CronJob", without("acme.io/tier")),
        denied='A "tier" like a-1 or \\x is needed: spec.jobTemplate.spec.template.metadata.labels[acme.io/tier] is',
    ),
    strict("Deployment of an exempt user", workload("Deployment"), user=User("breaker")),
    strict("pod that opted in", opted_in(), namespace="cases-free", placed=steered_strictly()),
    strict(
        "pod with half of it",
        opted_in(
            affinity=required(
                term(requirement("disk", "In", "nvme", "ssd"), ZONE_A),
                ON_NODE_1,
                **{
                    PREFERRED: [
                        {**IN_ZONE_A, "weight": 6},
                        {"weight": 5, "preference": {**term(ZONE_A), **ON_NODE_1}},
                        NO_SPOT,
                    ]
                },
            ),
            tolerations=[{**FLAKY, "tolerationSeconds": 61}, DEDICATED],
        ),
        namespace="cases-free",
        placed=steered_strictly(
            term(requirement("disk", "In", "nvme", "ssd"), ZONE_A, STRICT_TERM[1]),
            term(*STRICT_TERM, **ON_NODE_1),
            preferred=(
                {**IN_ZONE_A, "weight": 6},
                {"weight": 5, "preference": {**term(ZONE_A), **ON_NODE_1}},
                NO_SPOT,
                IN_ZONE_A,
            ),
            tolerations=({**FLAKY, "tolerationSeconds": 61}, DEDICATED, FLAKY),
        ),
    ),
    strict(
        "pod of another scheduler",
        opted_in(schedulerName="volcano"),
        namespace="cases-free",
        denied='Pod opted in but names another scheduler: spec.schedulerName is "volcano". Allowed: ours. Remove',
    ),
    strict(
        "pod of another scheduler in an opted-in namespace",
        owned(pod(STRICT, schedulerName="volcano"), "Job", "once"),
        namespace="cases-opted-in",
        denied='Pod opted in but names another scheduler: spec.schedulerName is "volcano". Allowed: ours. Remove '
        "spec.schedulerName from the pod template behind Job once, or",
    ),
    strict("pod of another scheduler that did not opt in", pod(STRICT, schedulerName="volcano")),
    strict(
        "pod of another scheduler of a DaemonSet",
        owned(pod(STRICT, schedulerName="volcano"), "DaemonSet", "agent"),
        user=DAEMON_SET_CONTROLLER,
        namespace="cases-opted-in",
    ),
    strict(
        "pod with a node",
        opted_in(nodeName="node-1"),
        namespace="cases-free",
        denied='Pod opted in but is not steered: spec.nodeName is "node-1". Remove it from the pod\'s manifest, for ours',
    ),
    strict(
        "pod with a node and another scheduler",
        opted_in(nodeName="node-1", schedulerName="volcano"),
        namespace="cases-free",
        denied='Pod opted in but is not steered: spec.nodeName is "node-1"',
    ),
    strict(
        "pod with a node of a long name",
        opted_in(nodeName="n" * 70),
        namespace="cases-free",
        denied=f'Pod opted in but is not steered: spec.nodeName is "{"n" * 63}…". Remove it',
    ),
    strict(
        "pod with a node in a namespace that warns",
        opted_in(nodeName="node-1"),
        namespace="cases-warn",
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    strict(
        "pod with a node and without a team",
        pod({**without("team"), OPT_IN: "true"}, nodeName="node-1"),
        denied=f"{TEAM}Set metadata.labels.team in the pod's manifest; Pod opted in but is not steered: spec.nodeName",
    ),
    strict(
        "unsteered pod",
        opted_in(),
        namespace="cases-free",
        mutators=False,
        denied='Pod opted in but is not steered: spec.schedulerName is "default-scheduler". Allowed: ours. Create the',
    ),
    strict(
        "unsteered pod without affinity",
        opted_in(schedulerName="ours"),
        namespace="cases-free",
        mutators=False,
        denied="Pod opted in but is not steered: its required node affinity lacks disk In ssd, nvme; cores Gt 8. Needed",
    ),
    strict(
        "unsteered pod of which a term lacks affinity",
        opted_in(schedulerName="ours", affinity=required(term(*STRICT_TERM), term(STRICT_TERM[1]))),
        namespace="cases-free",
        mutators=False,
        denied="Pod opted in but is not steered: its required node affinity lacks disk In ssd, nvme. Needed",
    ),
    strict(
        "pod that steered itself",
        opted_in(schedulerName="ours", affinity=required(term(*STRICT_TERM), {})),
        namespace="cases-free",
        mutators=False,
    ),
]
