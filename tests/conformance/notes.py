"""What kube-scheduler did with each pod, as its extender and its log tell."""

from __future__ import annotations

import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

__all__ = ["Note", "Notes", "OracleError", "TriedAgain"]

_SECONDS = 60.0
_TEXT = r'"([^"]*)"'
_ATTEMPT = re.compile(rf'"Attempting to schedule pod" pod={_TEXT}')
_NO_NODES = re.compile(rf'no nodes are registered to the cluster; waiting" pod={_TEXT}')
_NODE = re.compile(rf'"(Added|Removed) node (?:to|from) NodeTree" node={_TEXT}')
_GIVEN_UP = re.compile(rf'"Pod doesn\'t exist in informer cache" pod={_TEXT}')
_SCORE = re.compile(rf'"Plugin scored node for pod" pod={_TEXT} plugin={_TEXT} node={_TEXT} score=(-?\d+)')
_TOTAL = re.compile(rf'"Calculated node\'s final score for pod" pod={_TEXT} node={_TEXT} score=(-?\d+)')


class OracleError(Exception):
    """The oracle didn't work as it should, so there is no answer to compare with."""


class TriedAgain(OracleError):
    """kube-scheduler tried a pod twice, or one of another scenario, so it can't be told which answers are right."""


@dataclass
class Note:
    """One pod. `feasible` is None until it is known; `given` is what the extender added to a node's total.

    It is given up when an attempt came to nothing after the pod was deleted.
    """

    given_up: bool = False
    feasible: frozenset[str] | None = None
    choice: str = ""
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)


class Notes:
    """The pods by key. The extender, the log's reader and the oracle share it.

    The log alone tells the order of attempts: it is read later than the extender is asked, and the extender isn't asked
    about a pod that fits nowhere.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pods: dict[str, Note] = {}
        self._attempted: list[str] = []
        self._nodes: set[str] = set()
        self._last_lines: deque[str] = deque(maxlen=20)
        self._ended = False

    def clear(self) -> None:
        """Forget all pods."""
        with self._changed:
            self._pods.clear()
            self._attempted.clear()

    def feasible(self, pod: str, nodes: Collection[str]) -> None:
        """Note what the plugins left over."""
        with self._changed:
            self._of(pod).feasible = frozenset(nodes)
            self._changed.notify_all()

    def given(self, pod: str, scores: dict[str, int]) -> None:
        """Note what the extender adds to the totals."""
        with self._changed:
            self._of(pod).given = scores

    def choice(self, pod: str, node: str) -> None:
        """Note where kube-scheduler wants to bind the pod."""
        with self._changed:
            self._of(pod).choice = node
            self._changed.notify_all()

    def read(self, line: str) -> None:
        """Take in a line of the log."""
        with self._changed:
            if found := _SCORE.search(line):
                pod, plugin, node, score = found.groups()
                self._of(pod).scores.setdefault(plugin, {})[node] = int(score)
            elif found := _TOTAL.search(line):
                pod, node, score = found.groups()
                self._of(pod).totals[node] = int(score)
            else:
                self._last_lines.append(line)
                if found := _ATTEMPT.search(line):
                    self._attempted.append(found[1])
                elif found := _NO_NODES.search(line):
                    self._of(found[1]).feasible = frozenset()
                elif found := _GIVEN_UP.search(line):
                    self._of(found[1]).given_up = True
                elif found := _NODE.search(line):
                    (self._nodes.add if found[1] == "Added" else self._nodes.discard)(found[2])
                self._changed.notify_all()

    def log_ended(self) -> None:
        """Note that there will be no more lines."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def until_tried(self, pod: str) -> None:
        """Wait for an attempt on a pod that has feasible nodes or finds a cluster without nodes.

        All that the log told before the attempt is noted by then.
        """

        def tried() -> bool:
            return pod in self._attempted and self._of(pod).feasible is not None

        with self._changed:
            self._wait(tried, f"an attempt to schedule {pod}")

    def until_nodes(self, names: Collection[str]) -> None:
        """Wait until the nodes that kube-scheduler knows are these."""
        with self._changed:
            self._wait(lambda: self._nodes == set(names), f"know the nodes {sorted(names)}")

    def until_bound(self, pods: Collection[str]) -> dict[str, Note]:
        """Wait until of these pods those with a feasible node have been bound.

        Returns those that were attempted, in the order of their attempts.
        """

        def attempted() -> dict[str, Note]:
            return {pod: self._of(pod) for pod in self._attempted if pod in pods}

        def bound() -> bool:
            return all(note.choice for note in attempted().values() if note.feasible)

        with self._changed:
            self._wait(bound, "all bindings")
            return attempted()

    def expect_once(self, pods: Collection[str], *, besides: str) -> None:
        """Raise TriedAgain if one of the pods was tried twice, or a pod that isn't among them.

        Pods whose keys begin with `besides` may be there too.
        """
        with self._changed:
            tried = Counter(pod for pod in self._attempted if not pod.startswith(besides))
        if strange := [pod for pod, times in tried.items() if times > 1 or pod not in pods]:
            raise TriedAgain(
                f"kube-scheduler tried again, or tried still: {', '.join(strange)}; which answers are right?"
            )

    def until_given_up(self, pods: Collection[str]) -> None:
        """Wait until of these pods none is being bound, nor will be again."""

        def given_up() -> bool:
            return all(self._of(pod).given_up for pod in pods)

        with self._changed:
            self._wait(given_up, "giving up all pods that were to be bound")

    def _wait(self, happened: Callable[[], bool], what: str) -> None:
        self._changed.wait_for(lambda: self._ended or happened(), _SECONDS)
        if not happened():
            state = "ended before" if self._ended else f"did not come to within {_SECONDS:.0f} s:"
            raise OracleError("\n".join([f"kube-scheduler {state} {what}; its log ends:", *self._last_lines]))

    def _of(self, pod: str) -> Note:
        return self._pods.setdefault(pod, Note())
