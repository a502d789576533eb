"""The labels, annotations and namespaces that the product's contract names."""

from __future__ import annotations

__all__ = ["KUBE_SYSTEM", "OPT_IN_LABEL", "PLACED_BY_ANNOTATION"]

OPT_IN_LABEL = "custom-scheduler.io/opt-in"
PLACED_BY_ANNOTATION = "custom-scheduler.io/placed-by"
KUBE_SYSTEM = "kube-system"
