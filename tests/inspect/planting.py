"""Something that goes wrong with an installation, and what doctor has to say to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.inspect.installed import Json, Objects
from webhook.inspect.finding import Finding

__all__ = ["Ailment", "assert_told", "changed", "deleted", "put"]


@dataclass(frozen=True)
class Ailment:
    """One thing that goes wrong, and the finding that tells of it."""

    name: str
    plant: Callable[[Objects], None]
    level: str
    subject: str
    text: str
    fix: str


def assert_told(ailment: Ailment, findings: Sequence[Finding]) -> None:
    """Hold that doctor names this ailment with what mends it, and finds nothing else wrong."""
    told = [
        each
        for each in findings
        if (each.level, each.subject) == (ailment.level, ailment.subject) and ailment.text in each.text
    ]
    assert told, findings
    assert all(ailment.fix in each.fix for each in told)
    assert {each.subject for each in findings if each.level != "ok"} <= {ailment.subject}


def changed(path: str, edit: Callable[[Json], None], cluster: Objects) -> None:
    cluster.change(path, edit)


def deleted(path: str, cluster: Objects) -> None:
    cluster.delete(path)


def put(*keys: str | int, to: object) -> Callable[[Json], None]:
    """Return an edit that sets what is found under these keys."""

    def edit(item: Json) -> None:
        place = item
        for key in keys[:-1]:
            place = place[key]  # type: ignore[index]  # a key of a dict or the index of a list
        place[keys[-1]] = to  # type: ignore[index]  # the same

    return edit
