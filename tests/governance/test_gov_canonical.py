"""Canonical JSON: one value, one byte string (POL-01)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.canonical import canonical, digest

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_canonical_is_json_that_says_the_same(value: Any) -> None:
    assert json.loads(canonical(value).decode("utf-8")) == value


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_canonical_knows_no_order_of_keys(value: dict[str, int]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


def test_canonical_bytes_are_exactly_these() -> None:
    assert canonical({"b": (1, 2.5), "a": "é\n", "c": None}) == '{"a":"é\\n","b":[1,2.5],"c":null}'.encode()
    assert digest({}) == "sha256:" + hashlib.sha256(b"{}").hexdigest()


@given(st.text(st.characters(categories=["Cs", "Ll", "Po"])), st.text(st.characters(categories=["Cs", "Ll", "Po"])))
def test_names_that_are_no_utf8_stay_apart(first: str, second: str) -> None:
    assert (canonical(first) == canonical(second)) == (first == second)
    joined = first.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(canonical(first).decode("utf-8")) == joined


@rows("value", [float("nan"), float("inf"), {1: 2}, {None: 1}, {1, 2}, b"bytes"])
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        canonical(value)
