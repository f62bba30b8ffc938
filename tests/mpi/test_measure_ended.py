"""A measurement that is ended early keeps a platform if it has one, and reports the missing results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import broadleaf as bl
from broadleaf.measuring import MeasureInterrupted, measure

if TYPE_CHECKING:
    from conftest import Bench

TIMEOUT_S = 240
RANKS = 4
# The command itself, with its progress in lines on standard output.
COMMAND = """
import contextlib, sys
import broadleaf.cli, broadleaf.cli.measure

@contextlib.contextmanager
def shown():
    yield lambda *step: print(*step, flush=True)

broadleaf.cli.measure.shown = shown
broadleaf.cli.main(sys.argv[1:])
"""


def words_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def processes(name: str, program: str) -> list[int]:
    """The processes of a program that have the probe's settings of that name among their arguments."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [
        pid
        for pid in sorted(pids)
        if (words := words_of(pid)) and program in Path(words[0]).name and f'"{name}"' in " ".join(words)
    ]


def probe_ranks(name: str) -> list[int]:
    return processes(name, "broadleaf-probe")


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def begun(bench: Bench, folder: Path, name: str) -> subprocess.Popen[str]:
    """A long measurement, all of its ranks there."""
    argv = [sys.executable, "-c", COMMAND, "measure", "-n", str(RANKS), "--time", "60"]
    argv += ["--largest", "32MiB", "-o", f"{name}.json", "--mpiexec", str(bench.mpi.mpiexec)]
    job = subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(probe_ranks(name)) == RANKS or job.poll() is not None)
    return job


def wait_for_a_platform(job: subprocess.Popen[str]) -> None:
    """Until a table is there, which is that of all pairs for now, and the probe has said so."""
    assert job.stdout is not None
    for line in job.stdout:
        stage, done, _ = line.split()
        if stage == "tables" and int(done) >= 1:
            time.sleep(1.0)
            return
    raise AssertionError("ended before there was a table")


def said_of_the_end(err: str) -> str:
    """Standard error without the line on more ranks than cores, which comes first."""
    start, *_ = err.splitlines(keepends=True) or [""]
    return err.removeprefix(start) if f"broadleaf: {RANKS} ranks on " in start else err


def assert_kept(job: subprocess.Popen[str], folder: Path, name: str, code: int, *facts: str) -> None:
    """One line, that exit code, a platform in which every pair has a link, and no process left."""
    _, err = job.communicate(timeout=TIMEOUT_S)
    err = said_of_the_end(err)
    # After the ^C that a terminal shows, the line begins on a new one.
    assert (job.returncode, err.lstrip("\n").count("\n")) == (code, 1), err
    for fact in (f"{name}.json has what was measured by then, missing: ", "the search for", *facts):
        assert fact in err
    platform = bl.Platform.load(folder / f"{name}.json")
    assert [len(platform.successors(node)) for node in platform.nodes] == [RANKS - 1] * RANKS
    assert bl.plan(platform, platform.nodes[0], 1 << 20, planner="chain").makespan_s
    wait_for(lambda: not probe_ranks(name), 30)


def test_an_interrupt_keeps_what_there_is(bench: Bench, tmp_path: Path) -> None:
    number = signal.SIGINT if bench.mpi.flavour == "openmpi" else signal.SIGTERM
    name = f"net-interrupted-{os.getpid()}"
    job = begun(bench, tmp_path, name)
    wait_for_a_platform(job)
    job.send_signal(number)
    assert_kept(job, tmp_path, name, 130, "broadleaf: interrupted; ")


@pytest.mark.parametrize("program", ["broadleaf-probe", "mpiexec"])
def test_a_rank_or_a_launcher_that_dies(bench: Bench, tmp_path: Path, program: str) -> None:
    name = f"net-dying-{os.getpid()}"
    job = begun(bench, tmp_path, name)
    wait_for_a_platform(job)
    # Some launchers are links to programs of another name.
    victims = probe_ranks(name) if program == "broadleaf-probe" else children_of(job.pid)
    os.kill(victims[-1], signal.SIGKILL)
    assert_kept(job, tmp_path, name, 2, "the probe ended early", "measure again")


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def test_too_early_for_a_platform(bench: Bench, tmp_path: Path) -> None:
    name = f"net-early-{os.getpid()}"
    job = begun(bench, tmp_path, name)
    job.send_signal(signal.SIGINT)
    _, err = job.communicate(timeout=TIMEOUT_S)
    assert job.returncode == 130
    err = said_of_the_end(err)
    assert err.startswith("\nbroadleaf: interrupted; nothing was written, missing: ")
    assert err.count("\n") == 2
    assert list(tmp_path.iterdir()) == []
    wait_for(lambda: not probe_ranks(name), 30)


def test_an_interrupt_in_python(bench: Bench, tmp_path: Path) -> None:
    def interrupt_at_pipes(stage: str, done: int, total: int) -> None:
        if stage == "pipes":
            raise KeyboardInterrupt

    with pytest.raises(
        MeasureInterrupted, match=r"missing: .*the search for a shared pipe in 1 place"
    ) as caught:
        measure(
            4,
            mpi=bench.mpi,
            budget_s=3,
            largest_bytes=64 << 10,
            samples=tmp_path / "raw.jsonl",
            progress=interrupt_at_pipes,
        )
    platform = caught.value.platform
    assert platform is not None
    assert [len(platform.successors(node)) for node in platform.nodes] == [3, 3, 3, 3]
    assert '"late_receive_bytes"' in (tmp_path / "raw.jsonl").read_text()
