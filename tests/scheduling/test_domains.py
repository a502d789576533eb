from __future__ import annotations

import numpy as np

from webhook.scheduling.columns import InternedColumn
from webhook.scheduling.domains import Domains

VALUES = InternedColumn([None, "a", "b", "a", ""]).values(None)
COUNTS = np.array([16, 1, 2, 4, 8])


def test_sums_are_per_domain_and_put_back_where_the_nodes_are() -> None:
    domains = Domains(VALUES)

    assert domains.labelled.tolist() == [False, True, True, True, True]
    assert domains.at(domains.sum(COUNTS)).tolist() == [16, 5, 2, 5, 8]


def test_only_the_nodes_asked_for_are_summed() -> None:
    domains = Domains(VALUES)

    some = domains.sum(COUNTS, np.array([True, True, False, False, True]))

    assert domains.at(some).tolist() == [16, 1, 0, 1, 8]


def test_sizes_count_the_nodes_given_by_a_mask_or_by_rows() -> None:
    domains = Domains(VALUES)

    by_mask = domains.at(domains.sizes(np.array([True, True, False, True, False])))
    by_rows = domains.at(domains.sizes(np.array([0, 1, 3])))

    assert by_mask.tolist() == by_rows.tolist() == [1, 2, 0, 2, 0]


def test_a_value_that_no_node_has_any_more_is_no_domain() -> None:
    column: InternedColumn[str | None] = InternedColumn(["a", "b"])
    column.set(0, "b")

    sizes = Domains(column.values(None)).sizes(np.array([True, True]))

    assert sorted(sizes.tolist()) == [0, 2]


def test_nodes_without_the_label_can_share_the_domain_of_the_empty_value() -> None:
    domains = Domains(VALUES, unlabelled_too=True)

    assert domains.labelled.tolist() == [False, True, True, True, True]
    assert domains.at(domains.sum(COUNTS)).tolist() == [24, 5, 2, 5, 24]
