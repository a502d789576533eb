from __future__ import annotations

import pytest

from webhook.policy.syntax import is_dns_label, is_dns_subdomain, is_label_key, is_label_value

A63 = "a" * 63


@pytest.mark.parametrize("key", ["a", "A.b_c-1", A63, f"x.io/{A63}", "a/b", "1.2/3", f"{'a.' * 126}a/b"])
def test_qualified_name_is_a_label_key(key: str) -> None:
    assert is_label_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/",
        "a/",
        "/a",
        "a/b/c",
        "-a",
        "a-",
        "_a",
        "a b",
        "é",
        f"{A63}a",
        "X.io/a",
        "x_y/a",
        "x..y/a",
        "a\n",
    ],
)
def test_anything_else_is_no_label_key(key: str) -> None:
    assert not is_label_key(key)


def test_prefix_of_a_label_key_has_at_most_253_characters() -> None:
    assert is_label_key(f"{'a' * 253}/b")
    assert not is_label_key(f"{'a' * 254}/b")


@pytest.mark.parametrize("value", ["", "a", "A.b_c-1", A63, "0"])
def test_short_name_is_a_label_value(value: str) -> None:
    assert is_label_value(value)


@pytest.mark.parametrize("value", ["-a", "a-", ".", "a/b", "a b", f"{A63}a", "a\n", "ä"])
def test_anything_else_is_no_label_value(value: str) -> None:
    assert not is_label_value(value)


def test_namespace_name_has_no_dots() -> None:
    assert is_dns_label("kube-system")
    assert not is_dns_label("a.b")
    assert not is_dns_label("A")
    assert not is_dns_label(f"{A63}a")


def test_object_name_may_have_dots() -> None:
    assert is_dns_subdomain("a.b-c.d")
    assert not is_dns_subdomain("a..b")
    assert not is_dns_subdomain("a_b")
    assert not is_dns_subdomain("")
