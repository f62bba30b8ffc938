"""Numbers with their units, read and shown: sizes, times, rates."""

from __future__ import annotations

import math
import re

UNITS = {
    "": 1,
    "b": 1,
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgt", start=1)},
    # Bare letters have the meaning of dd, ls and the MPI benchmarks.
    **{
        prefix + unit: 1024**power for power, prefix in enumerate("kmgt", start=1) for unit in ("", "i", "ib")
    },
}
# Python converts no more than 4,300 digits, and a message that repeats them would be unreadable.
MOST_CHARACTERS = 64
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes of `64KiB`, `1MB`, `4 GiB` or a plain number; raises ValueError for anything else and for 0.

    `64M` is 64 MiB, `64MB` and `64mb` are 64,000,000 bytes.

    >>> parse_size("64KiB"), parse_size("1MB"), parse_size("4 GiB"), parse_size("17"), parse_size("2k")
    (65536, 1000000, 4294967296, 17, 2048)
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"a size of {len(text)} characters; write 64KiB, 1MB, '4 GiB' or plain bytes")
    match = SIZE.fullmatch(text)
    unit = UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise ValueError(f"'{text}' is not a size; write 64KiB, 1MB, '4 GiB' or plain bytes")
    # Whole numbers stay integers: a float would lose the last bytes of a large one.
    size = int(match[1]) * unit if match[1].isdigit() else float(match[1]) * unit
    if size != int(size):
        raise ValueError(f"'{text}' is not a whole number of bytes")
    if size < 1:
        raise ValueError(f"'{text}' is no bytes at all; a message has at least 1 byte")
    if size >= 2**63:
        raise ValueError(f"'{text}' is more than any message has; write at most 2^63 - 1 bytes")
    return int(size)


def seconds(value: float | None) -> str:
    """A time with four significant digits in the unit that suits it.

    >>> seconds(0.00123456), seconds(75.0), seconds(None)
    ('1.235 ms', '75 s', '-')
    """
    if value is None:
        return "-"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(value) >= factor or unit == "us":
            return f"{value / factor:.4g} {unit}"
    raise AssertionError("the last unit takes every value")


def interval(value: tuple[float, float] | None) -> str:
    """Two times in the unit that suits the longer one.

    >>> interval((0.0009, 0.00123456)), interval((3.0, 3.0)), interval(None)
    ('0.9 ... 1.235 ms', '3 ... 3 s', '-')
    """
    if value is None:
        return "-"
    low, high = value
    number, unit = seconds(high).split()
    factor = {"s": 1.0, "ms": 1e-3, "us": 1e-6}[unit]
    return f"{low / factor:.4g} ... {number} {unit}"


def size(value: int | None) -> str:
    """A size in the unit, binary or decimal, that gives the shortest whole number.

    >>> size(67108864), size(64000000), size(1000), size(1536), size(1048576000)
    ('64 MiB', '64 MB', '1 kB', '1536 B', '1000 MiB')
    """
    if value is None:
        return "-"
    units = [(1024**power, f"{prefix}iB") for power, prefix in enumerate("KMGT", start=1)]
    units += [(1000**power, f"{prefix}B") for power, prefix in enumerate("kMGT", start=1)]
    whole = [(value // factor, unit) for factor, unit in units if value and value % factor == 0]
    number, unit = min(whole, default=(value, "B"))
    return f"{number} {unit}"


def amount(value: int) -> str:
    """Bytes that were counted, with four significant digits in decimal units.

    >>> amount(1879048192), amount(999)
    ('1.879 GB', '999 B')
    """
    for factor, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value} B"


def rate(value: float | None) -> str:
    """Bytes a second, in decimal units as network rates are.

    >>> rate(1.25e8)
    '125 MB/s'
    """
    if value is None or not math.isfinite(value):
        return "-"
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:.4g} B/s"
