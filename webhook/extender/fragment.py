"""What an admin adds to the configuration of kube-scheduler, so that it asks us."""

from __future__ import annotations

import yaml

__all__ = ["kube_scheduler_fragment"]

_FOLDER = "/etc/kubernetes/custom-scheduler"


def kube_scheduler_fragment(url: str) -> str:
    """Return a KubeSchedulerConfiguration with an extender at this URL, as YAML.

    Without a CA, kube-scheduler would not verify the certificate at all (pkg/scheduler/extender.go, makeTransport).
    """
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        # Else, of thousands of nodes we would be asked about a tenth, which may hold none that we let pass.
        "percentageOfNodesToScore": 100,
        "extenders": [
            {
                "urlPrefix": url,
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "weight": 1,
                # Only names are sent: we know the nodes ourselves.
                "nodeCacheCapable": True,
                # Pods are placed without us while we are away.
                "ignorable": True,
                "httpTimeout": "1s",
                "enableHTTPS": True,
                "tlsConfig": {
                    "caFile": f"{_FOLDER}/ca.crt",
                    "certFile": f"{_FOLDER}/client.crt",
                    "keyFile": f"{_FOLDER}/client.key",
                },
            }
        ],
    }
    return yaml.safe_dump(configuration, sort_keys=False)
