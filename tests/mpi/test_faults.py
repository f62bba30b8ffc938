"""Shortages and differences on one rank or on all: with Broadleaf a job ends as it does without.

Each case runs without the library first. What a job survives with the MPI alone, it must survive with
Broadleaf, every byte right. What ends it with the MPI alone may end it with Broadleaf as well, but in time.
"""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi import launch_command

if TYPE_CHECKING:
    from conftest import Bench

SOAK = bool(os.environ.get("BROADLEAF_SOAK"))
# Time limit, seconds, of jobs that take one or two.
LIMIT_S = 60

# The system calls that the runtime makes beside the MPI's own, by their numbers on x86-64.
CALLS = {
    "memfd_create": 319,
    "ftruncate": 77,
    "fallocate": 285,
    "madvise": 28,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "pidfd_open": 434,
    "kill": 62,
    "clone": 56,
    "clone3": 435,
    "setpriority": 141,
    "getrandom": 318,
    "sched_getaffinity": 204,
    "sched_yield": 24,
    "prctl": 157,
    "openat": 257,
    "fstat": 5,
    "newfstatat": 262,
}
# `make test` takes those that share memory, start threads or open files; `make soak` all.
SHORT = ["memfd_create", "ftruncate", "process_vm_readv", "clone3", "openat"]


def outcome(bench: Bench, ranks: int, arguments: list[str], *, planned: bool, **settings: str | Path) -> bool:
    """Whether the job ended well; raises where it did not end in time."""
    program = [bench.compile("faults"), *arguments]
    if planned:
        run = bench.run(ranks, program, **settings)
        print(run.stderr)
        # UCX prints its own complaints there as well.
        assert run.returncode != 0 or "\nok " in f"\n{run.stdout}", run.stdout
        return run.returncode == 0
    argv, environment = launch_command(bench.mpi, ranks, program)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    return done.returncode == 0


def compare(bench: Bench, ranks: int, arguments: list[str], **settings: str | Path) -> None:
    if outcome(bench, ranks, arguments, planned=False):
        assert outcome(bench, ranks, arguments, planned=True, **settings)
    else:
        outcome(bench, ranks, arguments, planned=True, **settings)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="system calls have other numbers on this machine")
@pytest.mark.parametrize("whose", ["1", "-1"] if SOAK else ["1"])
@pytest.mark.parametrize("call", CALLS if SOAK else SHORT)
def test_a_system_call_that_is_refused(bench: Bench, call: str, whose: str) -> None:
    compare(bench, 3, ["deny", str(CALLS[call]), whose])


@pytest.mark.parametrize("memory", ["0", "1"])
@pytest.mark.parametrize("whose", ["0", "1", "-1"] if SOAK else ["0", "-1"])
@pytest.mark.parametrize(("what", "value"), [("nofile", "0"), ("fsize", "0"), ("space", "32")])
def test_a_limit_that_is_reached(bench: Bench, what: str, value: str, whose: str, memory: str) -> None:
    compare(bench, 3, [what, value, whose], shared_memory=memory)


@pytest.mark.parametrize("memory", ["0", "1"])
@pytest.mark.parametrize("space", ["0", "8"])
def test_a_job_without_any_memory_left_ends(
    bench: Bench, space: str, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both MPIs end a program where they cannot allocate memory; the call differs."""
    # UCX, which MPICH uses, watches memory that is unmapped. Without memory for its record it logs an error,
    # frees the text, and takes again the lock that it holds: any thread's free() may hang.
    monkeypatch.setenv("UCX_MEM_EVENTS", "n")
    outcome(bench, 3, ["space", space, "-1"], planned=True, shared_memory=memory)


@pytest.mark.parametrize("memory", ["0", "1"])
def test_a_rank_that_is_stopped_for_a_while(bench: Bench, memory: str) -> None:
    compare(bench, 3, ["stop", "2", "1"], shared_memory=memory)


@pytest.mark.parametrize("whose", ["0", "1"] if SOAK else ["1"])
@pytest.mark.parametrize(
    "setting",
    [
        "BROADLEAF_MIN_BYTES=1",
        "BROADLEAF_DISABLE=1",
        "BROADLEAF_SHARED_MEMORY=0",
        "BROADLEAF_PLANNER=chain",
        "BROADLEAF_PLANNER=no-such",
        "BROADLEAF_PLATFORM=/nonexistent.json",
        "BROADLEAF_PLAN_DIR=/nonexistent",
        "BROADLEAF_FIRST_PLAN_MS=0",
        "BROADLEAF_TRACE=/nonexistent/trace.json",
    ],
)
def test_a_setting_that_only_one_rank_has(bench: Bench, setting: str, whose: str) -> None:
    assert outcome(bench, 3, ["setting", setting, whose], planned=True)
