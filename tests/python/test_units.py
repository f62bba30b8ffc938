"""Sizes as users write them."""

from __future__ import annotations

import doctest

import pytest

import broadleaf.units
from broadleaf.units import parse_size, size


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
        # A bare letter is binary, as dd and the MPI benchmarks have it; with a B it is decimal.
        ("64M", 64 << 20),
        ("64k", 64 << 10),
        ("64mb", 64 * 10**6),
        ("64 MiB", 64 << 20),
        ("2Gi", 2 << 30),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "0", "0MiB", "-1", "1.0001 KiB", "64X", "lots", "1e6", "8 EiB", "9999999TiB"]
)
def test_refused_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="byte"):
        parse_size(text)


@pytest.mark.parametrize("text", ["64 MiB", "64 MB", "1 kB", "1000 MiB", "1536 B", "3 TB", "17 B"])
def test_a_size_is_shown_as_it_is_asked_for(text: str) -> None:
    assert size(parse_size(text)) == text
