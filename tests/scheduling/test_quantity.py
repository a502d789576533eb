from __future__ import annotations

import pytest

from webhook.scheduling.objects import Quantity
from webhook.scheduling.quantity import InvalidQuantity, ceil_milli, ceil_units, parse_nanos


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("0", 0),
        ("12", 12),
        ("+5", 5),
        ("1.5Gi", 1_610_612_736),
        ("1Ki", 1024),
        ("2Mi", 2_097_152),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1k", 1000),
        ("3M", 3_000_000),
        ("1G", 10**9),
        ("1e3", 1000),
        ("2E2", 200),
        ("1.5e3", 1500),
        ("5E", 2**56),
        ("1E", 2**56),
        ("1e-3", 1),
        ("100m", 1),
        ("1001m", 2),
        (".5", 1),
        ("5.", 5),
        (7, 7),
        (1.5, 2),
    ],
)
def test_a_quantity_has_gos_value_rounded_up(text: Quantity, units: int) -> None:
    assert ceil_units(parse_nanos(text)) == units


@pytest.mark.parametrize(
    ("text", "milli"),
    [
        ("100m", 100),
        ("0.1", 100),
        ("1", 1000),
        ("2.5", 2500),
        ("1u", 1),
        ("1n", 1),
        ("0.0001", 1),
        ("1500u", 2),
    ],
)
def test_cpu_is_counted_in_thousandths_rounded_up(text: str, milli: int) -> None:
    assert ceil_milli(parse_nanos(text)) == milli


def test_what_is_finer_than_a_nano_rounds_away_from_zero() -> None:
    assert parse_nanos("0.0000000001") == 1
    assert parse_nanos("-0.0000000001") == -1


def test_absurd_exponents_are_capped_and_cheap() -> None:
    assert ceil_units(parse_nanos("1e999999999999")) == 2**56
    assert ceil_units(parse_nanos("1e-999999999999")) == 1


@pytest.mark.parametrize(
    "text", ["", "m", "1Kii", "1 Gi", "one", "1e", "--1", ".", "1mi", "٣", "0x10", "nan"]
)
def test_other_text_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="is not a quantity"):
        parse_nanos(text)
