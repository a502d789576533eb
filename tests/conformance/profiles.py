"""The configuration of both schedulers: the same profiles, in the words that they share."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.model import Json

__all__ = ["ABSENT", "PROBE", "PROFILES", "kube_scheduler_configuration", "our_configuration"]

# Plugins of kube-scheduler that we don't have and that would act here: preemption deletes pods, and DynamicResources
# ends each message about a claim with a stray "not found" (its PostFilter misses what its PreFilter never stored). All
# other defaults stay on, also what we don't have, so that it shows when that matters to a pod.
ABSENT = ("DefaultPreemption", "DynamicResources")

# No filter, no score: it sees every node that the scheduler knows.
PROBE = "probe"

_FOR_GOOD = 24 * 60 * 60

_RESOURCES = [
    {"name": "cpu", "weight": 2},
    {"name": "memory", "weight": 1},
    {"name": "example.com/gpu", "weight": 3},
]

PROFILES: list[Json] = [
    {"schedulerName": "default-scheduler"},
    {
        "schedulerName": "packing",
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {"scoringStrategy": {"type": "MostAllocated", "resources": _RESOURCES}},
            },
            {
                "name": "NodeResourcesBalancedAllocation",
                "args": {
                    "resources": [
                        {"name": "cpu", "weight": 1},
                        {"name": "memory", "weight": 1},
                        {"name": "example.com/gpu", "weight": 1},
                        {"name": "ephemeral-storage", "weight": 1},
                    ]
                },
            },
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 37}},
        ],
    },
    {
        "schedulerName": "shaped",
        "plugins": {
            "score": {
                "enabled": [{"name": "TaintToleration", "weight": 5}],
                "disabled": [{"name": "ImageLocality"}],
            }
        },
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {
                    "ignoredResources": ["example.com/ignored"],
                    "ignoredResourceGroups": ["group.example.com"],
                    "scoringStrategy": {
                        "type": "RequestedToCapacityRatio",
                        "resources": _RESOURCES,
                        "requestedToCapacityRatio": {
                            "shape": [
                                {"utilization": 0, "score": 1},
                                {"utilization": 37, "score": 10},
                                {"utilization": 100, "score": 3},
                            ]
                        },
                    },
                },
            },
            {"name": "InterPodAffinity", "args": {"ignorePreferredTermsOfExistingPods": True}},
        ],
    },
    {
        "schedulerName": "listed",
        "pluginConfig": [
            {
                "name": "PodTopologySpread",
                "args": {
                    "defaultingType": "List",
                    "defaultConstraints": [
                        {
                            "maxSkew": 2,
                            "topologyKey": "topology.kubernetes.io/zone",
                            "whenUnsatisfiable": "DoNotSchedule",
                        },
                        {
                            "maxSkew": 1,
                            "topologyKey": "kubernetes.io/hostname",
                            "whenUnsatisfiable": "ScheduleAnyway",
                        },
                    ],
                },
            },
        ],
    },
]


def our_configuration() -> Json:
    """Return a SchedulerConfiguration."""
    return {
        "apiVersion": "custom-scheduler.io/v1alpha1",
        "kind": "SchedulerConfiguration",
        "profiles": PROFILES,
    }


def kube_scheduler_configuration(kubeconfig: Path, extender: str) -> Json:
    """Return a KubeSchedulerConfiguration with one extender, at the URL `extender`.

    One goroutine and all nodes, so that nothing depends on chance; no limit on requests that matters; and none of the
    pods that fail by an error, or for want of any node, is tried again because time passes.
    """
    absent = {"multiPoint": {"disabled": [{"name": name} for name in ABSENT]}}
    probing = {
        "multiPoint": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}],
        }
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 1,
        "percentageOfNodesToScore": 100,
        "podInitialBackoffSeconds": _FOR_GOOD,
        "podMaxBackoffSeconds": _FOR_GOOD,
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": False},
        "profiles": [
            *({**profile, "plugins": {**profile.get("plugins", {}), **absent}} for profile in PROFILES),
            {"schedulerName": PROBE, "plugins": probing},
        ],
        "extenders": [
            {
                "urlPrefix": extender,
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "bindVerb": "bind",
                "weight": 1,
                "nodeCacheCapable": True,
                "httpTimeout": "300s",
            }
        ],
    }
