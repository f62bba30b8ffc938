"""Very many broadcasts with flat memory; programs under the sanitizers and Valgrind. Longer in make soak."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench, Run

LONG = bool(os.environ.get("BROADLEAF_SOAK"))
# Not the name alone, which a checkout has in its path, and so in that of its MPIs.
OURS = re.compile(
    r"broadleaf(_mpi|::)|/c/(interpose|transport|comms|datatypes|contiguous|lifecycle|collectives|fortran)\.c"
)

# The runtime calls MPI_Init: memory that the MPI keeps there is not Broadleaf's.
THEIR_INIT = re.compile(r"MPI_Init\w* \(in \S*/libmpi")

# Programs and their arguments.
PROGRAMS: dict[str, list[str]] = {
    "shapes": [],
    "many": ["60", "300000", "3"],
    "communicators": ["6"],
    "errors": [],
    "passed": [],
    "repeats": ["30"],
}


@pytest.mark.parametrize("memory", ["0", "1"])
@pytest.mark.parametrize(("calls", "bytes"), [(1_000_000, 1024), (10_000, 1 << 20)])
def test_memory_stays_flat(bench: Bench, calls: int, bytes: int, memory: str) -> None:
    calls = calls if LONG else calls // 200
    run = bench.check(3, "soak", str(calls), str(bytes), min_bytes="1", shared_memory=memory)
    assert run.stats is not None
    assert run.stats["planned"] == calls
    assert run.reports == []


def test_large_counts(abi_bench: Bench) -> None:
    """In the soak, of more bytes than an int counts."""
    longest = (1 << 31) + 12345 if LONG else (1 << 21) + 12345
    run = abi_bench.check(2, "big_collectives", str(longest), min_bytes="1", collectives="all")
    assert run.reports == []
    total = longest + 1000
    for collective in ("allgather", "scatter"):
        assert [row["planned"] for row in run.rows(collective=collective, bytes=total)] == [1]


@pytest.mark.parametrize("program", PROGRAMS if LONG else ["shapes", "communicators"])
def test_sanitizers_find_nothing_of_ours(
    sanitized: Bench, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    # MPIs leak, and free in another way than they allocate.
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0:alloc_dealloc_mismatch=0:detect_odr_violation=0")
    monkeypatch.setenv("UBSAN_OPTIONS", "print_stacktrace=1")
    run = sanitized.run(3, [sanitized.compile(program), *PROGRAMS[program]])
    assert "Sanitizer" not in run.stderr, run.stderr
    assert "runtime error" not in run.stderr, run.stderr
    assert run.returncode == 0, run.stderr
    assert run.stats is not None
    assert run.stats["planned"] > 0


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no Valgrind: apt-get install valgrind")
@pytest.mark.parametrize("program", PROGRAMS if LONG else ["shapes"])
def test_valgrind_finds_nothing_of_ours(bench: Bench, program: str) -> None:
    logs = bench.folder / f"valgrind-{program}"
    logs.mkdir()
    watch = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", f"--log-file={logs}/%p"]
    run: Run = bench.run(2, [*watch, bench.compile(program), *PROGRAMS[program]])
    assert run.returncode == 0, run.stderr
    assert run.stats is not None
    assert run.stats["planned"] > 0
    found = [entry for log in sorted(logs.iterdir()) for entry in entries(log.read_text(errors="replace"))]
    ours = [entry for entry in found if OURS.search(entry) and not THEIR_INIT.search(entry)]
    assert ours == [], "\n\n".join(ours[:5])


def entries(log: str) -> list[str]:
    """Valgrind's errors, each with its stack."""
    lines = [re.sub(r"^==\d+== ?", "", line) for line in log.splitlines()]
    return [text for text in "\n".join(lines).split("\n\n") if " at 0x" in text]
