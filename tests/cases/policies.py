"""The policies that the table's cases run under, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.waiting import eventually
from webhook.policy.model import Policy
from webhook.policy.parse import parse_policy

OWN_NAMESPACE = "custom-scheduler"

SPECS = {
    "default": "{}",
    "strict": r"""
  requiredLabels:
  - {key: team, allowedValues: [batch, web, ""], message: Which team?}
  - {key: acme.io/tier, pattern: '[a-z]+-\d{1,2}|x', message: 'A "tier" like a-1 or \x is needed'}
  - {key: cost-center, action: Warn}
  - {key: audited, action: Audit}
  workloads: Deny
  exempt:
    namespaces: [cases-exempt]
    users: [root, 'o"brien\n', breaker]
    groups: [on-call]
  placement:
    schedulerName: ours
    otherScheduler: Deny
    nodeAffinity:
      required:
      - {key: disk, operator: In, values: [ssd, nvme]}
      - {key: cores, operator: Gt, values: ["8"]}
      preferred:
      - {weight: 5, key: zone, operator: In, values: [a]}
      - {weight: 100, key: spot, operator: DoesNotExist}
    tolerations:
    - {key: dedicated, operator: Exists, effect: NoSchedule}
    - {key: flaky, value: "yes", effect: NoExecute, tolerationSeconds: 60}
    verify: Deny
""",
    "override": """
  requiredLabels:
  - {key: custom, action: Warn}
  - {key: owner, action: Warn}
  placement:
    otherScheduler: Override
    nodeAffinity:
      required: []
      preferred: [{weight: 1, key: custom, operator: Exists}]
    verify: Deny
""",
    "lax": """
  requiredLabels: [{key: custom, action: Audit}]
  workloads: 'Off'
  placement:
    nodeAffinity: {required: []}
    verify: 'Off'
""",
}


def written(name: str) -> str:
    """The policy as an admin writes it."""
    return (
        "apiVersion: custom-scheduler.io/v1alpha1\nkind: PlacementPolicy\n"
        f"metadata: {{name: {name}}}\nspec: {SPECS[name]}\n"
    )


POLICIES: dict[str, Policy] = {
    name: parse_policy(written(name), source=name, own_namespace=OWN_NAMESPACE) for name in SPECS
}


def put_in_force(name: str, file: Path, ops: Callable[[str], tuple[int, str]]) -> None:
    """Write a policy into the file that a program follows, and return when its ops port says so."""
    new = file.with_suffix(".new")
    new.write_text(written(name))
    new.replace(file)
    line = re.compile(r"^custom_scheduler_policy_generation (\S+)$", re.MULTILINE)

    def is_in_force() -> bool:
        found = line.search(ops("/metrics")[1])
        return found is not None and float(found[1]) == POLICIES[name].generation

    eventually(is_in_force, f"policy {name} in force")
