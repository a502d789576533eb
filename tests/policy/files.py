"""A policy file for tests, and the one way to read it."""

from __future__ import annotations

from webhook.policy.model import Policy
from webhook.policy.parse import parse_policy

OWN_NAMESPACE = "custom-scheduler"

HEADER = """\
apiVersion: custom-scheduler.io/v1alpha1
kind: PlacementPolicy
metadata: {name: default}
"""

DEFAULT = f"""\
{HEADER}\
spec:
  requiredLabels:
  - key: custom
    message: Pod must have custom label
    action: Deny
  workloads: Warn
  exempt:
    namespaces: [kube-system, custom-scheduler]
    users: []
    groups: []
  placement:
    schedulerName: custom-scheduler
    otherScheduler: Respect
    nodeAffinity:
      required: [{{key: custom, operator: Exists}}]
      preferred: []
    tolerations: []
    verify: Warn
"""


def parse(text: str | bytes) -> Policy:
    """The policy in `text`, as if from policy.yaml in our own namespace."""
    return parse_policy(text, source="policy.yaml", own_namespace=OWN_NAMESPACE)


def parse_spec(spec: str) -> Policy:
    """The policy whose spec is the flow or block YAML `spec`, which starts in line 4."""
    return parse(f"{HEADER}spec: {spec}\n")
