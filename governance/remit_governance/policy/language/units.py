"""Sizes in policy files, without guessing (003 §Unit Specifications)."""

from __future__ import annotations

import re

SIZES = {
    "B": 1,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
}

_QUANTITY = re.compile(r"([0-9]{1,15})([A-Za-z]*)", re.ASCII)


def parse_size(value: str | int) -> int:
    """Bytes of `100KiB`, `5MB`, `512` and the like; a bare number is bytes. Raises ValueError with why and fix."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    number, unit = _split(value, "B KiB MiB GiB KB MB GB")
    if unit and unit not in SIZES:
        raise ValueError(f"unknown unit `{unit}`: use B KiB MiB GiB KB MB GB, case-sensitive")
    return number * (SIZES[unit] if unit else 1)


def _split(value: str | int, units: str) -> tuple[int, str]:
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"`{value}` is no quantity: write a whole number and one of {units}, without a space")
    return int(match.group(1)), match.group(2)
