"""What already runs against a policy: which owners' pods would be denied when they are next created.

A pod is created again from its owner's template, so the template is judged and not what came of it earlier. A pod
whose owner has no template that we know, or that has no owner, is judged itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast, get_args

import msgspec

from webhook.admission.objects import CRON_JOB, POD, Kind
from webhook.admission.verdict import Verdict
from webhook.inspect.cluster import Item, items, namespace_labels
from webhook.inspect.forecast import Enforcement, Surroundings, forecast
from webhook.kube.transport import KubeClient
from webhook.policy.model import Policy
from webhook.policy.names import ENFORCE_LABEL, MIRROR_ANNOTATION, OPT_IN_LABEL, OPTED_IN

__all__ = ["AuditReport", "DeniedOwner", "NamespaceTally", "audit"]

# Workloads that others are made from, and then those that may be made from them.
_LASTING: tuple[Kind, ...] = (
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    CRON_JOB,
)
_MEMBERS: tuple[Kind, ...] = (("apps", "ReplicaSet"), ("", "ReplicationController"), ("batch", "Job"))

Told = Callable[[str], None]


class NamespaceTally(msgspec.Struct, kw_only=True, rename="camel"):
    """A namespace in numbers; `enforce` is its label, None where it has none that any webhook selects."""

    name: str
    enforce: Enforcement | None
    owners: int = 0
    pods: int = 0
    denied_owners: int = 0
    denied_pods: int = 0


class DeniedOwner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An owner whose pods, `pods` of them now, would be denied; `kind` is Pod where it has none."""

    namespace: str
    enforce: Enforcement | None
    kind: str
    name: str
    pods: int
    rule: str
    message: str


class AuditReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole answer. `denied` holds as many as were asked for, `left_out` says how many more there are."""

    namespaces: list[NamespaceTally]
    exempt: list[str]
    denied: list[DeniedOwner]
    left_out: int


class _Owner(msgspec.Struct, kw_only=True):
    """An owner and the number of its pods; `denial` is None while nothing of it would be denied."""

    namespace: str
    kind: str
    name: str
    pods: int = 0
    denial: Verdict | None = None


def audit(
    client: KubeClient, policy: Policy, *, namespaces: tuple[str, ...], limit: int, tell: Told
) -> AuditReport:
    """Judge what runs in `namespaces` (all, where none are named), telling at most `limit` owners one by one.

    `tell` gets the progress. Raises ConfigurationError for a namespace that isn't there, ClusterError otherwise.
    """
    labels = namespace_labels(client, namespaces)
    looked_at = {name: found for name, found in labels.items() if name not in policy.exempt.namespaces}
    survey = _Survey(policy, looked_at, limit)
    for where in [*looked_at] if namespaces else [None]:
        _read(client, where, survey, tell)
    return survey.report(exempt=sorted(labels.keys() - looked_at.keys()))


def _read(client: KubeClient, namespace: str | None, survey: _Survey, tell: Told) -> None:
    for kinds, take in ((_LASTING, survey.take_owner), (_MEMBERS, survey.take_member)):
        for kind in kinds:
            for item in _items(client, kind, namespace, tell):
                take(item, kind)
    for item in _items(client, POD, namespace, tell):
        survey.take_pod(item)


def _items(client: KubeClient, kind: Kind, namespace: str | None, tell: Told) -> Iterator[Item]:
    for number, item in enumerate(items(client, kind, namespace), start=1):
        tell(f"reading {kind[1]}s: {number:,}")
        yield item


class _Survey:
    """Takes owners before what they own; it holds an entry for each owner, and none for each pod."""

    def __init__(self, policy: Policy, namespaces: Mapping[str, Mapping[str, str]], limit: int) -> None:
        self._policy = policy
        self._limit = limit
        # Asked of each namespace is what would be denied if it denied, whether or not it does by now.
        self._surroundings = {
            name: Surroundings(name=name, opted_in=labels.get(OPT_IN_LABEL) == OPTED_IN)
            for name, labels in namespaces.items()
        }
        self._tallies = {
            name: NamespaceTally(name=name, enforce=_enforce(labels)) for name, labels in namespaces.items()
        }
        self._owners: dict[str, _Owner] = {}  # by the uid of each object that leads to the owner
        self._unseen: set[str] = set()  # uids of owners known only from their pods, which are judged then
        self._alone: list[_Owner] = []  # pods with no owner that would be denied, up to the limit

    def take_owner(self, item: Item, kind: Kind) -> None:
        """Take a workload that no other one of ours manages."""
        if item.metadata.namespace in self._tallies:
            owner = self._owner(item.metadata.uid, item, kind[1], item.metadata.name)
            owner.denial = self._denial(item, kind)

    def take_member(self, item: Item, kind: Kind) -> None:
        """Take what a workload may manage: it is part of its owner where we have that one's template."""
        if item.metadata.namespace not in self._tallies:
            return
        controller = item.controller
        if controller is not None and controller.uid in self._owners:
            self._owners[item.metadata.uid] = self._owners[controller.uid]
        elif not item.is_over:
            # The owner's kind may be one that only its operator knows; its ReplicaSets hold the template.
            uid, of, name = (
                (controller.uid, controller.kind, controller.name)
                if controller
                else (item.metadata.uid, kind[1], item.metadata.name)
            )
            owner = self._owner(uid, item, of, name)
            owner.denial = owner.denial or self._denial(item, kind)
            self._owners[item.metadata.uid] = owner

    def take_pod(self, item: Item) -> None:
        """Take a pod: one more of its owner, or to be judged itself where no template was."""
        metadata = item.metadata
        if metadata.namespace not in self._tallies or item.is_over:
            return
        if MIRROR_ANNOTATION in (metadata.annotations or {}):
            return  # a kubelet's own, which passes
        controller = item.controller
        if controller is None:
            self._take_lone_pod(item)
            return
        owner = self._owners.get(controller.uid)
        if owner is None:
            owner = self._owner(controller.uid, item, controller.kind, controller.name)
            self._unseen.add(controller.uid)
        if controller.uid in self._unseen:
            owner.denial = owner.denial or self._denial(item, POD)
        owner.pods += 1

    def report(self, *, exempt: list[str]) -> AuditReport:
        """Return the answer, after all was taken."""
        owners = list({id(owner): owner for owner in self._owners.values()}.values())
        for owner in owners:
            self._count(owner)
        denied = [owner for owner in (*owners, *self._alone) if owner.denial]
        denied.sort(key=lambda owner: (owner.namespace, -owner.pods, owner.kind, owner.name))
        shown = [self._told(owner, owner.denial) for owner in denied[: self._limit] if owner.denial]
        tallies = sorted(self._tallies.values(), key=lambda tally: tally.name)
        left_out = sum(tally.denied_owners for tally in tallies) - len(shown)
        return AuditReport(namespaces=tallies, exempt=exempt, denied=shown, left_out=left_out)

    def _owner(self, uid: str, item: Item, kind: str, name: str) -> _Owner:
        """Return the owner of that uid, made where there is none yet."""
        if uid not in self._owners:
            self._owners[uid] = _Owner(namespace=item.metadata.namespace, kind=kind, name=name)
        return self._owners[uid]

    def _take_lone_pod(self, item: Item) -> None:
        pod = _Owner(namespace=item.metadata.namespace, kind=POD[1], name=item.metadata.name, pods=1)
        pod.denial = self._denial(item, POD)
        self._count(pod)
        if pod.denial and len(self._alone) < self._limit:
            self._alone.append(pod)

    def _count(self, owner: _Owner) -> None:
        tally = self._tallies[owner.namespace]
        tally.owners += 1
        tally.pods += owner.pods
        if owner.denial:
            tally.denied_owners += 1
            tally.denied_pods += owner.pods

    def _denial(self, item: Item, kind: Kind) -> Verdict | None:
        verdict = forecast(kind, item.anew(), self._policy, self._surroundings[item.metadata.namespace])
        return None if verdict.allowed else verdict

    def _told(self, owner: _Owner, denial: Verdict) -> DeniedOwner:
        return DeniedOwner(
            namespace=owner.namespace,
            enforce=self._tallies[owner.namespace].enforce,
            kind=owner.kind,
            name=owner.name,
            pods=owner.pods,
            rule=denial.rule,
            message=denial.message,
        )


def _enforce(labels: Mapping[str, str]) -> Enforcement | None:
    label = labels.get(ENFORCE_LABEL)
    return cast("Enforcement", label) if label in get_args(Enforcement) else None
