"""The label rules of the default policy, on pods and on workloads."""

from __future__ import annotations

from tests.cases.builders import LABELLED, NODE, owned, pod, workload
from tests.cases.case import Case, User

MISSING = "Pod must have custom label: metadata.labels.custom is missing. Allowed: any value. "
MISSING_SUMMARY = "Pod must have custom label: metadata.labels.custom is missing"

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
