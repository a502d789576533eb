"""The two questions of kube-scheduler that we answer: which nodes can run a pod, and how good each of them is."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable

import msgspec
import numpy as np
import numpy.typing as npt

from webhook.extender.answers import RecentAnswers
from webhook.extender.node_names import NamedNodes, NodeNames
from webhook.extender.wire import (
    ExtenderArgs,
    MalformedArgs,
    decode_args,
    encode_error,
    encode_filter_result,
    encode_nodes,
    encode_priorities,
)
from webhook.observe.plugin_metrics import FAILURES
from webhook.scheduling.cache import Cache
from webhook.scheduling.containment import PluginError
from webhook.scheduling.framework import Framework
from webhook.scheduling.plugin import Scores
from webhook.scheduling.scheduling_cycle import Search
from webhook.scheduling.status import Code

__all__ = ["Verbs"]

_UNKNOWN = "node(s) are not known to custom-scheduler yet"

_Told = defaultdict[str, list[bytes]]


class Verbs:
    """Answers by a profile's plugins, from any thread; `lock` guards the cache.

    Scores are whole numbers from 0 to `best_score`. kube-scheduler takes 10 for the best, without insisting on it,
    and multiplies by 10 and by the extender's weight.
    """

    def __init__(
        self,
        framework: Framework,
        cache: Cache,
        lock: threading.Lock,
        *,
        clock: Callable[[], float],
        rng: random.Random,
        best_score: int = 10,
    ) -> None:
        self._framework = framework
        self._lock = lock
        self._names = NodeNames(cache.table)
        self._answers = RecentAnswers(cache, clock)
        self._rng = rng
        self._best_score = best_score

    def filter(self, body: bytes) -> bytes:
        """Return the ExtenderFilterResult for an ExtenderArgs; raises MalformedArgs.

        What a plugin does wrong is in its Error.
        """
        args = decode_args(body)
        with self._lock:
            self._answers.forget(args.pod)
            asked = self._find(args)
            try:
                search = self._framework.search(args.pod, asked.nodes)
            except PluginError as error:
                FAILURES.labels(error.plugin).inc()
                return encode_error(str(error))
            failed, unresolvable = self._failures(asked, search)
            feasible = search.feasible
            if len(feasible) == 1:
                # Without rivals it isn't scored.
                self._answers.remember(args.pod, feasible[0].name)
            if args.objects is not None:
                nodes = encode_nodes(args.objects, self._names.quoted(feasible).tolist())
                return encode_filter_result(nodes=nodes, failed=failed, unresolvable=unresolvable)
            names = args.names if not failed and not unresolvable else self._names.list_of(feasible)
            return encode_filter_result(names=names, failed=failed, unresolvable=unresolvable)

    def prioritize(self, body: bytes) -> bytes:
        """Return the HostPriorityList for an ExtenderArgs; raises MalformedArgs and PluginError.

        Of several best nodes one is drawn, and the others told a point less, so that what is remembered of the answer
        is what comes of it.
        """
        args = decode_args(body)
        with self._lock:
            self._answers.forget(args.pod)
            asked = self._find(args)
            if not len(asked.nodes):
                return encode_priorities({0: map(msgspec.json.encode, asked.unknown)})
            total = self._framework.scores(args.pod, asked.nodes)
            best = np.flatnonzero(total == total.max())
            chosen = int(best[self._rng.randrange(len(best))])
            self._answers.remember(args.pod, asked.nodes[chosen].name)
            quoted = self._names.quoted(asked.nodes)
        scores = self._told(total, chosen)
        by_score: dict[int, list[bytes]] = {
            score: quoted[scores == score].tolist() for score in np.flatnonzero(np.bincount(scores)).tolist()
        }
        if asked.unknown:
            by_score[0] = [*by_score.get(0, ()), *map(msgspec.json.encode, asked.unknown)]
        return encode_priorities(by_score)

    def _find(self, args: ExtenderArgs) -> NamedNodes:
        try:
            return self._names.find(args.names)
        except msgspec.DecodeError as error:
            raise MalformedArgs(f"NodeNames: {error}") from error

    def _told(self, total: Scores, chosen: int) -> npt.NDArray[np.int64]:
        best = max(self._framework.highest_score, 1)
        told: npt.NDArray[np.int64] = np.rint(total * (self._best_score / best)).astype(np.int64)
        told[(told == told[chosen]) & (told > 0)] -= 1
        told[chosen] += 1
        return told

    def _failures(self, asked: NamedNodes, search: Search) -> tuple[_Told, _Told]:
        """Return by reason the nodes that aren't feasible: those where preemption may help, and the others."""
        resolvable: _Told = defaultdict(list)
        unresolvable: _Told = defaultdict(list)
        if asked.unknown:
            resolvable[_UNKNOWN] = [msgspec.json.encode(name) for name in asked.unknown]
        if len(search.feasible) == len(asked.nodes):
            return resolvable, unresolvable
        rows = asked.nodes.rows
        names = self._names.quoted(asked.nodes)
        left = np.ones(len(rows), dtype=np.bool_)
        left[np.searchsorted(rows, search.feasible.rows)] = False

        def tell(positions: npt.NDArray[np.intp], reasons: Iterable[str], *, is_final: bool) -> None:
            told = unresolvable if is_final else resolvable
            if len(positions):
                told[", ".join(reasons)] += names[positions].tolist()
                left[positions] = False

        for rejection in search.diagnosis.rejections:
            # Thousands of nodes are refused for a handful of reasons.
            for bits in np.unique(rejection.bits):
                reasons = [reason for index, reason in enumerate(rejection.reasons) if int(bits) >> index & 1]
                tell(
                    np.searchsorted(rows, rejection.rows[rejection.bits == bits]),
                    (reason.text for reason in reasons),
                    is_final=any(reason.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE for reason in reasons),
                )
        # Those that no filter was asked about.
        diagnosis = search.diagnosis
        said = diagnosis.absent if diagnosis.pre_filter is None else diagnosis.pre_filter
        is_final = said.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        tell(np.flatnonzero(left), said.reasons, is_final=is_final)
        return resolvable, unresolvable
