"""The policy in force, followed through changes of its file."""

from __future__ import annotations

import logging
from pathlib import Path

from webhook.errors import PolicyError
from webhook.policy.handover import Handover
from webhook.policy.model import Policy
from webhook.policy.parse import parse_policy, read_policy

__all__ = ["PolicySource"]

log = logging.getLogger("custom_scheduler.policy")


class PolicySource:
    """The last good policy of a file, swapped whole when the file has a new one.

    `current` may be read from any thread; one thread at a time calls `poll`. The constructor raises PolicyError.
    A process that was forked from the one that made this calls `resume` first.
    """

    def __init__(self, path: Path, *, own_namespace: str) -> None:
        self.path = path
        self.refused = 0  # contents of the file that were not taken
        self.problem: str | None = None  # why the file as it stands isn't in force
        self._own_namespace = own_namespace
        self._gone = False
        self._seen: bytes | None = read_policy(path)  # None: the file is missing or empty, and that is known
        self.current = self._parse(self._seen)
        self._handover = Handover()

    def resume(self) -> None:
        """Begin where the process ended whose place this one takes, which may have seen policies since the start."""
        if content := self._handover.get():
            self._seen = content
            self.current = self._parse(content)

    def poll(self) -> bool:
        """Look at the file once; whether another policy came into force.

        Compares content, not times: so an edit within the clock's resolution, a ConfigMap's `..data` symlink that
        points elsewhere and a touch that changes nothing are all seen as what they are. A bad file is refused,
        logged and counted once, and the last good policy stays.
        """
        try:
            content = read_policy(self.path)
        except PolicyError as error:
            self._lost(str(error))
            return False
        if not content.strip():
            self._lost(f"{self.path}: is empty; expected a PlacementPolicy")
            return False
        self._gone = False
        return content != self._seen and self._take(content)

    def _lost(self, problem: str) -> None:
        # Editors truncate or replace a file in two steps: only what lasts until the next look is a fault.
        if self._gone and self._seen is not None:
            self._seen = None
            self._refuse(problem)
        self._gone = True

    def _take(self, content: bytes) -> bool:
        self._seen = content
        try:
            policy = self._parse(content)
        except PolicyError as error:
            self._refuse(str(error))
            return False
        mended, self.problem = self.problem is not None, None
        changed = policy != self.current
        self.current = policy
        self._handover.put(content)
        if changed or mended:
            log.info("policy %s is in force", policy.name, extra={"generation": policy.generation})
        return changed

    def _refuse(self, problem: str) -> None:
        self.refused += 1
        self.problem = problem
        log.error("%s; the last good policy stays", problem, extra={"generation": self.current.generation})

    def _parse(self, content: bytes) -> Policy:
        return parse_policy(content, source=str(self.path), own_namespace=self._own_namespace)
