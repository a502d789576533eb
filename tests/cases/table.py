"""The table: every case runs in process, over TLS, through the webhooks on an API server, and as CEL in one.

What is denied and warned of is told in the table by its beginning, and must be the same text everywhere.
"""

from __future__ import annotations

from typing import Any

from tests.cases.case import Case, Json, Placement, User

OPT_IN = "custom-scheduler.io/opt-in"
PLACED_BY = "custom-scheduler.io/placed-by"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

NODE = User("system:node:node-1", ("system:nodes",))
DAEMON_SET_CONTROLLER = User("system:serviceaccount:kube-system:daemon-set-controller")
CONTROLLER_MANAGER = User("system:kube-controller-manager")

MISSING = "Pod must have custom label: metadata.labels.custom is missing. Allowed: any value. "
MISSING_SUMMARY = "Pod must have custom label: metadata.labels.custom is missing"
LABELLED = {"custom": "web"}
OPTED_IN = {"custom": "web", OPT_IN: "true"}


def pod(labels: Json | None = None, *, annotations: Json | None = None, **spec: Any) -> Json:
    metadata: Json = {"labels": labels or {}, "annotations": annotations or {}}
    defaults = {"containers": [{"name": "main", "image": "nginx"}], "schedulerName": "default-scheduler"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**defaults, **spec}}


def owned(obj: Json, kind: str, name: str) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "1", "controller": True}
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}}


def workload(kind: str, labels: Json | None = None) -> Json:
    template: Json = {
        "metadata": {"labels": {"app": "web", **(labels or {})}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    }
    selector = {"matchLabels": {"app": "web"}}
    job: Json = {"template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}}
    group, spec = {
        "Deployment": ("apps/v1", {"replicas": 0, "selector": selector, "template": template}),
        "ReplicaSet": ("apps/v1", {"replicas": 0, "selector": selector, "template": template}),
        "StatefulSet": (
            "apps/v1",
            {"replicas": 0, "selector": selector, "serviceName": "web", "template": template},
        ),
        "DaemonSet": ("apps/v1", {"selector": selector, "template": template}),
        "Job": ("batch/v1", {"suspend": True, **job}),
        "CronJob": ("batch/v1", {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": job}}),
        "ReplicationController": ("v1", {"replicas": 0, "selector": {"app": "web"}, "template": template}),
    }[kind]
    return {"apiVersion": group, "kind": kind, "metadata": {}, "spec": spec}


def required(*terms: Json, **others: Any) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}, **others}}


def term(*expressions: Json, **others: Any) -> Json:
    return {"matchExpressions": list(expressions), **others}


def requirement(key: str, operator: str = "Exists", *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


CUSTOM = requirement("custom")
ZONE_A, ZONE_B = requirement("zone", "In", "a"), requirement("zone", "In", "b")
ON_NODE_1 = {"matchFields": [requirement("metadata.name", "In", "node-1")]}


def by_default(affinity: Json | None = None, **others: Any) -> Placement:
    return Placement(
        scheduler="custom-scheduler",
        affinity=affinity or required(term(CUSTOM)),
        placed_by="default",
        **others,
    )


LABELS = [
    Case(
        name="pod without the label", object=pod(), denied=f"{MISSING}Set metadata.labels.custom in the pod's"
    ),
    Case(name="pod with the label", object=pod(LABELLED)),
    Case(name="pod with an empty label", object=pod({"custom": ""})),
    Case(name="pod that warns", namespace="cases-warn", object=pod(), warned=(MISSING_SUMMARY,)),
    Case(name="pod that nobody asked for", namespace="cases-free", object=pod()),
    Case(name="pod of kube-system", namespace="kube-system", object=pod()),
    Case(
        name="pod with a generated name",
        object={**pod(), "metadata": {"generateName": "web-", "labels": {"app": "web"}}},
        denied=MISSING,
    ),
    Case(
        name="pod of a ReplicaSet",
        object=owned(pod(), "ReplicaSet", "web-5d4"),
        denied=f"{MISSING}Set metadata.labels.custom in the pod template behind ReplicaSet web-5d4",
    ),
    Case(
        name="update that removes the label",
        old=pod(LABELLED),
        object=pod(),
        denied=f"{MISSING}Keep it: kubectl label pod update-that-removes-the-label -n cases-deny --overwrite custom=web",
    ),
    Case(
        name="update that removes an empty label",
        old=pod({"custom": ""}),
        object=pod(),
        denied=f"{MISSING}Keep it: kubectl label pod update-that-removes-an-empty-label -n cases-deny --overwrite custom=''",
    ),
    Case(name="update of another label", old=pod(LABELLED), object=pod({"custom": "web", "a": "b"})),
    Case(name="update of a pod without the label", old=pod(), object=pod({"a": "b"})),
    Case(
        name="update that removes the label and warns",
        namespace="cases-warn",
        old=pod(LABELLED),
        object=pod(),
        warned=(MISSING_SUMMARY,),
    ),
    Case(name="terminating pod that loses its label", old=pod(LABELLED), object=pod(), terminating=True),
    Case(
        name="mirror pod of a kubelet",
        user=NODE,
        object=pod(annotations={"kubernetes.io/config.mirror": "1"}, nodeName="node-1"),
    ),
    Case(
        name="mirror pod of a user",
        object=pod(annotations={"kubernetes.io/config.mirror": "1"}, nodeName="node-1"),
        denied=MISSING,
    ),
    Case(
        name="mirror pod of a node's name without its group",
        user=User("system:node:node-1"),
        object=pod(annotations={"kubernetes.io/config.mirror": "1"}, nodeName="node-1"),
        denied=MISSING,
    ),
]

WORKLOADS = [
    *(
        Case(
            name=f"{kind} without the label",
            object=workload(kind),
            warned=(
                f"Pod must have custom label: {path}.metadata.labels.custom is missing in {kind} {kind.lower()}-",
            ),
        )
        for kind, path in {
            "Deployment": "spec.template",
            "ReplicaSet": "spec.template",
            "StatefulSet": "spec.template",
            "DaemonSet": "spec.template",
            "Job": "spec.template",
            "CronJob": "spec.jobTemplate.spec.template",
            "ReplicationController": "spec.template",
        }.items()
    ),
    Case(name="Deployment with the label", object=workload("Deployment", LABELLED)),
    Case(name="CronJob with the label", object=workload("CronJob", LABELLED)),
    Case(name="Deployment that nobody asked for", namespace="cases-free", object=workload("Deployment")),
    Case(
        name="Deployment with a generated name",
        object={**workload("Deployment"), "metadata": {"generateName": "web-"}},
        warned=(
            "Pod must have custom label: spec.template.metadata.labels.custom is missing in Deployment web-",
        ),
    ),
    Case(name="ReplicaSet of a Deployment", object=owned(workload("ReplicaSet"), "Deployment", "web")),
    Case(
        name="update that breaks a Deployment",
        old=workload("Deployment", LABELLED),
        object=workload("Deployment"),
        warned=("Pod must have custom label: spec.template.metadata.labels.custom is missing",),
    ),
    Case(
        name="update of a broken Deployment",
        old=workload("Deployment"),
        object=workload("Deployment", {"a": "b"}),
    ),
    Case(
        name="update that breaks a CronJob",
        old=workload("CronJob", LABELLED),
        object=workload("CronJob"),
        warned=(
            "Pod must have custom label: spec.jobTemplate.spec.template.metadata.labels.custom is missing",
        ),
    ),
    Case(
        name="terminating Deployment that breaks",
        old=workload("Deployment", LABELLED),
        object=workload("Deployment"),
        terminating=True,
    ),
]

STEERING = [
    Case(name="pod that opted in", namespace="cases-free", object=pod(OPTED_IN), placed=by_default()),
    Case(name="pod that opted in and is enforced", object=pod(OPTED_IN), placed=by_default()),
    Case(
        name="pod of a namespace that opted in", namespace="cases-opted-in", object=pod(), placed=by_default()
    ),
    Case(
        name="pod that opted in twice",
        namespace="cases-opted-in",
        object=pod({OPT_IN: "true"}),
        placed=by_default(),
    ),
    Case(
        name="pod that said something else",
        namespace="cases-opted-in",
        object=pod({OPT_IN: "yes"}),
        placed=by_default(),
    ),
    Case(name="pod that said no", namespace="cases-opted-in", object=pod({OPT_IN: "false"})),
    Case(name="pod of kube-system that opted in", namespace="kube-system", object=pod(OPTED_IN)),
    Case(
        name="pod that is steered already",
        namespace="cases-free",
        object=pod(
            OPTED_IN,
            annotations={PLACED_BY: "default"},
            schedulerName="custom-scheduler",
            affinity=required(term(CUSTOM)),
        ),
    ),
    Case(
        name="pod with an annotation",
        namespace="cases-free",
        object=pod(OPTED_IN, annotations={"a/b": "c", PLACED_BY: "another"}),
        placed=by_default(),
    ),
    Case(
        name="pod with two terms",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required(term(ZONE_A), term(ZONE_B, CUSTOM))),
        placed=by_default(required(term(ZONE_A, CUSTOM), term(ZONE_B, CUSTOM))),
    ),
    Case(
        name="pod with a term of fields",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required(ON_NODE_1, term(ZONE_A))),
        placed=by_default(required(term(CUSTOM, **ON_NODE_1), term(ZONE_A, CUSTOM))),
    ),
    Case(
        name="pod with an empty term",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required({}, term(ZONE_A))),
        placed=by_default(required({}, term(ZONE_A, CUSTOM))),
    ),
    Case(
        name="pod with an empty term alone",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required({})),
        placed=by_default(required({})),
    ),
    Case(
        name="pod with an empty affinity",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity={}),
        placed=by_default(),
    ),
    Case(
        name="pod with an empty node affinity",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity={"nodeAffinity": {}}),
        placed=by_default(),
    ),
    Case(
        name="pod with another operator on the key",
        namespace="cases-free",
        object=pod(OPTED_IN, affinity=required(term(requirement("custom", "In", "a")))),
        placed=by_default(required(term(requirement("custom", "In", "a"), CUSTOM))),
    ),
    Case(
        name="pod of another scheduler", namespace="cases-free", object=pod(OPTED_IN, schedulerName="volcano")
    ),
    Case(
        name="pod of a DaemonSet",
        namespace="cases-opted-in",
        user=DAEMON_SET_CONTROLLER,
        object=owned(pod(affinity=required(ON_NODE_1)), "DaemonSet", "agent"),
    ),
    Case(
        name="pod of a DaemonSet where controllers have one account",
        namespace="cases-opted-in",
        user=CONTROLLER_MANAGER,
        object=owned(pod(affinity=required(ON_NODE_1)), "DaemonSet", "agent"),
    ),
    Case(
        name="pod of a Job where controllers have one account",
        namespace="cases-opted-in",
        user=CONTROLLER_MANAGER,
        object=owned(pod(), "Job", "once"),
        placed=by_default(),
    ),
    Case(
        name="pod that forges a DaemonSet",
        namespace="cases-opted-in",
        object=owned(pod(), "DaemonSet", "agent"),
        placed=by_default(),
    ),
    Case(
        name="pod with a node",
        namespace="cases-free",
        object=pod(OPTED_IN, nodeName="node-1"),
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    Case(
        name="pod with a node in an opted-in namespace",
        namespace="cases-opted-in-deny",
        object=pod(LABELLED, nodeName="node-1"),
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    Case(
        name="mirror pod of a user that opted in",
        namespace="cases-free",
        object=pod(OPTED_IN, annotations={"kubernetes.io/config.mirror": "1"}, nodeName="node-1"),
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    Case(
        name="mirror pod of a kubelet that opted in",
        namespace="cases-free",
        user=NODE,
        object=pod(OPTED_IN, annotations={"kubernetes.io/config.mirror": "1"}, nodeName="node-1"),
    ),
    Case(
        name="pod without the label with a node",
        object=pod({OPT_IN: "true"}, nodeName="node-1"),
        denied=MISSING,
        warned=('Pod opted in but is not steered: spec.nodeName is "node-1"',),
    ),
    Case(
        name="update of a pod that is not steered",
        namespace="cases-opted-in-deny",
        old=pod(LABELLED),
        object=pod({"custom": "web", OPT_IN: "true"}),
    ),
]

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

UNDER_OVERRIDE = [
    Case(
        name="override pod of another scheduler",
        policy="override",
        namespace="cases-opted-in",
        object=pod(schedulerName="volcano"),
        placed=Placement(
            scheduler="custom-scheduler",
            affinity={"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term(CUSTOM)}]}},
            placed_by="override",
        ),
    ),
    Case(
        name="override pod that nothing steers",
        policy="override",
        namespace="cases-opted-in",
        object=pod(schedulerName="volcano"),
        mutators=False,
        denied='Pod opted in but is not steered: spec.schedulerName is "volcano". Allowed: custom-scheduler. Remove it',
    ),
    Case(
        name="override pod without two labels that warn",
        policy="override",
        object=pod(),
        warned=(MISSING_SUMMARY, "Pod must have owner label: metadata.labels.owner is missing"),
    ),
    Case(
        name="override Deployment without two labels that warn",
        policy="override",
        object=workload("Deployment", {"custom": "web"}),
        warned=("Pod must have owner label: spec.template.metadata.labels.owner is missing",),
    ),
]

UNDER_LAX = [
    Case(name="lax pod without the label", policy="lax", object=pod()),
    Case(name="lax Deployment without the label", policy="lax", object=workload("Deployment")),
    Case(
        name="lax pod that opted in",
        policy="lax",
        object=pod(OPTED_IN),
        placed=Placement(scheduler="custom-scheduler", placed_by="lax"),
    ),
    Case(name="lax pod with a node", policy="lax", object=pod(OPTED_IN, nodeName="node-1")),
]

CASES = [*LABELS, *WORKLOADS, *STEERING, *UNDER_STRICT, *UNDER_OVERRIDE, *UNDER_LAX]
