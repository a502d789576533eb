"""The names that decisions turn on: those that the product's contract gives, and those that Kubernetes gives."""

from __future__ import annotations

__all__ = [
    "CA_SECRET",
    "CONFIGURATIONS",
    "CONTROLLER_MANAGER",
    "DAEMON_SET_CONTROLLER",
    "DECLINED",
    "DEFAULT_SCHEDULER",
    "ENFORCE_LABEL",
    "KUBE_SYSTEM",
    "MIRROR_ANNOTATION",
    "NODE_GROUP",
    "NODE_USER_PREFIX",
    "OPTED_IN",
    "OPT_IN_LABEL",
    "PLACED_BY_ANNOTATION",
    "PROBE_ANNOTATION",
    "PROBE_NAMESPACE",
    "SERVICE",
    "WEBHOOK_NAMES",
]

OPT_IN_LABEL = "custom-scheduler.io/opt-in"
OPTED_IN = "true"
DECLINED = "false"
ENFORCE_LABEL = "custom-scheduler.io/enforce"
PLACED_BY_ANNOTATION = "custom-scheduler.io/placed-by"

# Objects that the webhook keeps or writes to.
CA_SECRET = "custom-scheduler-ca"  # noqa: S105 (its name, not what is in it)
CONFIGURATIONS = "custom-scheduler"
SERVICE = "custom-scheduler"

PROBE_NAMESPACE = "custom-scheduler-probe"
PROBE_ANNOTATION = "custom-scheduler.io/probe"

WEBHOOK_NAMES = frozenset(
    f"{name}.custom-scheduler.io"
    for name in (
        "deny.pods",
        "deny.workloads",
        "mutate.namespaces",
        "mutate.pods",
        "verify.namespaces",
        "verify.pods",
        "warn.pods",
        "warn.workloads",
    )
)
"""The entries of webhook configurations that are ours. Whatever else stands in our configurations was put there by
others, with a CA of their own, even under our domain."""

KUBE_SYSTEM = "kube-system"
# The API server fills in this name before admission: k8s.io/kubernetes pkg/apis/core/v1 SetDefaults_PodSpec.
DEFAULT_SCHEDULER = "default-scheduler"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
NODE_USER_PREFIX = "system:node:"
NODE_GROUP = "system:nodes"
DAEMON_SET_CONTROLLER = "system:serviceaccount:kube-system:daemon-set-controller"
# Who acts for all controllers where kube-controller-manager runs without --use-service-account-credentials.
CONTROLLER_MANAGER = "system:kube-controller-manager"
