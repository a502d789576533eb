"""TaintToleration: nodes with taints that the pod doesn't tolerate are out, or less liked."""

from __future__ import annotations

from webhook.scheduling.columns import BoolArray
from webhook.scheduling.events import Action, ClusterEvent, ClusterEventWithHint, Resource
from webhook.scheduling.nodes import Nodes
from webhook.scheduling.normalize import relative_to_highest
from webhook.scheduling.objects import Pod, Taint
from webhook.scheduling.plugin import Local, Scores
from webhook.scheduling.plugins.hints import when_node_lets_in
from webhook.scheduling.status import Code, Reason
from webhook.scheduling.tolerations import excluded_by, tolerates

__all__ = ["TaintToleration"]

_PREFER_NO_SCHEDULE = "PreferNoSchedule"


class TaintToleration:
    """NoSchedule and NoExecute exclude; each untolerated PreferNoSchedule taint lowers the score."""

    local = Local.NODE
    reasons = (Reason(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had untolerated taint(s)"),)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Wait for a node without excluding taints, newly or by then; or for new tolerations."""
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT),
                when_node_lets_in(self.filter),
            ),
            ClusterEventWithHint(ClusterEvent(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION)),
        )

    def filter(self, pod: Pod, nodes: Nodes) -> BoolArray:
        """Return where every excluding taint is tolerated."""
        tolerations = pod.spec.tolerations
        return nodes.taints.where(lambda taints: not excluded_by(taints, tolerations))

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """Return the number of PreferNoSchedule taints that aren't tolerated."""
        tolerations = pod.spec.tolerations

        def disliked(taints: tuple[Taint, ...]) -> int:
            return sum(
                taint.effect == _PREFER_NO_SCHEDULE and not tolerates(tolerations, taint) for taint in taints
            )

        return nodes.taints.count(disliked)

    def normalize_score(self, _pod: Pod, scores: Scores) -> Scores:
        """Give most to the nodes with the fewest."""
        return relative_to_highest(scores, reverse=True)
