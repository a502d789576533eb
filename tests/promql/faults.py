"""What is wrong with the names in expressions, held against series that were really scraped."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tests.promql.engine import Answer, Selector, names_in

__all__ = ["Labels", "name_faults"]

Labels = dict[str, str]


def name_faults(expressions: Sequence[str], scraped: Iterable[Labels]) -> list[str]:
    """Return a line for each metric, label or value that an expression names and no scraped series has."""
    known: defaultdict[str, list[Labels]] = defaultdict(list)
    for labels in scraped:
        known[labels["__name__"]].append(labels)
    return [
        f"{fault} in {expression}"
        for expression, answer in zip(expressions, names_in(expressions), strict=True)
        for fault in _faults(answer, known)
    ]


def _faults(answer: Answer, known: dict[str, list[Labels]]) -> Iterator[str]:
    if answer.error:
        yield answer.error
    for selector in answer.selectors:
        if selector.metric in known:
            yield from _matcher_faults(selector, known[selector.metric])
        else:
            yield f"no metric {selector.metric}"
    for grouping in answer.groupings:
        for metric in grouping.metrics:
            for label in grouping.labels:
                if metric in known and not any(label in labels for labels in known[metric]):
                    yield f"{metric} has no label {label}"


def _matcher_faults(selector: Selector, series: list[Labels]) -> Iterator[str]:
    for label, operator, value in selector.matchers:
        values = {labels[label] for labels in series if label in labels}
        if not values:
            yield f"{selector.metric} has no label {label}"
        # A value that is excluded may well not be there; one that is asked for must be.
        elif operator in ("=", "!=") and value not in values:
            yield f"{selector.metric} has no {label}={value}"
        elif operator == "=~" and not any(re.fullmatch(value, each) for each in values):
            yield f"{selector.metric} has no {label} like {value}"
