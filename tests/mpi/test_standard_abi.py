"""Programs of the standard ABI, with the runtime that was built for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench

# Programs, their arguments, and how many of their broadcasts are planned at least.
PROGRAMS: dict[str, tuple[list[str], int]] = {
    "shapes": ([], 16),
    "many": (["100", "500000", "3"], 5),
    "communicators": (["20"], 61),
    "errors": ([], 1),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_the_standard_abi(abi_bench: Bench, program: str) -> None:
    arguments, least = PROGRAMS[program]
    run = abi_bench.check(3, program, *arguments)
    assert run.stats is not None
    assert run.stats["planned"] >= least
    assert run.reports == []
