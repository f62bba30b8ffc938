"""Sizes as users write them."""

from __future__ import annotations

import doctest

import pytest

import broadleaf.units
from broadleaf.units import parse_size


def test_examples() -> None:
    assert doctest.testmod(broadleaf.units).failed == 0
    assert doctest.testmod(broadleaf.units).attempted > 0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("1B", 1),
        ("64KiB", 65536),
        ("64kib", 65536),
        ("1MB", 10**6),
        ("4 GiB", 4 << 30),
        ("1.5 KiB", 1536),
        ("2TB", 2 * 10**12),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "0", "0MiB", "-1", "1.0001 KiB", "64K", "lots", "1e6", "8 EiB", "9999999TiB"]
)
def test_refused_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="byte"):
        parse_size(text)
