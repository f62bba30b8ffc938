"""Programs that follow an advisor: its plans take effect; if it fails, they go on and are right.

One machine stands for several hosts (`several_hosts.c`), so that messages are sent and links timed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.advise import State

if TYPE_CHECKING:
    from conftest import Bench, Run

PROGRAMS = Path(__file__).resolve().parent / "programs"
RANKS = 4
BYTES = 400_000
# In the name of a plan for the next job's communicators.
NOBODYS = "-0000000000000000-"
# Seconds, more than any step here takes on two busy cores.
LONGEST_S = 60


def library(bench: Bench, name: str) -> str:
    path = bench.folder / f"{name}.so"
    if not path.exists():
        assert bench.mpi.mpicc is not None
        flags = ["-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([bench.mpi.mpicc, *flags, PROGRAMS / f"{name}.c", "-o", path, "-ldl"], check=True)
    return str(path)


@pytest.fixture
def hosts_of(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("LD_PRELOAD", library(bench, "several_hosts"))
    return bench


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    """Four hosts alike. The program begins with a flat tree, which anything segmented beats by far."""
    document = {
        "format": "broadleaf-platform/1",
        "name": "four",
        "port_model": "one-port",
        "nodes": [{"id": f"n{host}", "host": f"host{host}"} for host in range(RANKS)],
        "meshes": [
            {
                "nodes": [f"n{host}" for host in range(RANKS)],
                "link": {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e8},
            }
        ],
    }
    path = tmp_path / "net.json"
    path.write_text(json.dumps(document))
    return path


class Advisor:
    """`broadleaf advise`, and its output."""

    def __init__(self, state: Path, *options: str | Path) -> None:
        argv = [sys.executable, "-m", "broadleaf", "advise", "--state", str(state), *map(str, options)]
        # Libraries are preloaded into the ranks only.
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self.process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=environment)
        deadline = time.monotonic() + 30
        while "process" not in self.lock(state) and self.process.poll() is None:
            assert time.monotonic() < deadline, "the advisor does not start"
            time.sleep(0.02)

    @staticmethod
    def lock(state: Path) -> str:
        path = state / "lock"
        return path.read_text() if path.exists() else ""

    def end(self, number: int = signal.SIGTERM) -> list[str]:
        """Its lines, after it has ended."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, said = self.process.communicate(timeout=30)
        return said.splitlines()


@contextmanager
def advised(state: Path, *options: str | Path) -> Iterator[Advisor]:
    advisor = Advisor(state, *options)
    try:
        yield advisor
    finally:
        advisor.end()


def steady(bench: Bench, state: Path, platform: Path, seconds: float = 2.0, end: Path | None = None) -> Run:
    """Broadcasts for a while, or until `end` is there; every byte is compared."""
    run = bench.run(
        RANKS,
        [bench.compile("steady"), str(BYTES), str(seconds), *([str(end)] if end else [])],
        advice=state,
        platform=platform,
        planner="flat",
        test_ranks_per_host="1",
        min_bytes="4KiB",
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[-1].startswith("ok "), run.stdout + run.stderr
    assert len(lines) == 1, run.stdout
    return run


def plans(state: Path) -> dict[str, int]:
    """The advisor's plans for communicators of programs, and when each was written."""
    found = (state / "plans").glob("*.json")
    return {path.name: path.stat().st_mtime_ns for path in found if NOBODYS not in path.name}


def end_after_plan(state: Path, before: dict[str, int], end: Path) -> None:
    """Ends the program some time after a new plan.

    A busy machine takes seconds to start an advisor, to tell it of the calls, and for its plan.
    """
    deadline = time.monotonic() + LONGEST_S
    while plans(state) == before and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2.0)
    end.touch()


def version(run: Run) -> int:
    (row,) = run.rows(bytes=BYTES)
    assert row["planned"] == row["intercepted"]
    return int(row["plan_version"])


def wait_until_read(state: Path) -> None:
    """The last notes come as the program ends; the advisor reads them in its own time.

    After 30 s it removes one that was still being written.
    """
    until = time.monotonic() + 40.0
    while any((state / "inbox").iterdir()) and time.monotonic() < until:
        time.sleep(0.05)


def test_the_advisors_plan_takes_effect(hosts_of: Bench, tmp_path: Path, platform: Path) -> None:
    state, end = tmp_path / "advice", tmp_path / "end"
    with advised(state) as advisor:
        watching = threading.Thread(target=end_after_plan, args=(state, {}, end))
        watching.start()
        run = steady(hosts_of, state, platform, 2 * LONGEST_S, end)
        watching.join()
        assert version(run) >= 1, advisor.end()
        wait_until_read(state)
    (row,) = run.rows(bytes=BYTES)
    assert row["planner"] != "flat"
    assert run.reports == []
    assert list((state / "inbox").iterdir()) == []
    assert advisor.end() == []


@pytest.mark.parametrize("bench", ["mpich"], indirect=True)
def test_prepared_plans_serve_the_next_job_from_its_first_call(
    hosts_of: Bench, tmp_path: Path, platform: Path
) -> None:
    state = tmp_path / "advice"
    with advised(state, "--platform", platform):
        deadline = time.monotonic() + 60
        while not list((state / "plans").glob(f"*{NOBODYS}0-18.json")):
            assert time.monotonic() < deadline, "nothing is prepared"
            time.sleep(0.05)
        run = steady(hosts_of, state, platform, 0.2)
    (row,) = run.rows(bytes=BYTES)
    assert row["planner"] != "flat"


def test_killed_and_restarted(hosts_of: Bench, tmp_path: Path, platform: Path) -> None:
    state, end = tmp_path / "advice", tmp_path / "end"
    killed = Advisor(state)
    restarted: list[Advisor] = []

    def restart() -> None:
        killed.end(signal.SIGKILL)
        before = plans(state)
        time.sleep(0.3)
        restarted.append(Advisor(state))
        end_after_plan(state, before, end)

    timer = threading.Timer(0.8, restart)
    timer.start()
    try:
        run = steady(hosts_of, state, platform, 2 * LONGEST_S, end)
    finally:
        timer.join()
        said = restarted[0].end()
    assert version(run) >= 1
    assert run.reports == []
    assert said == []


@pytest.mark.parametrize("bench", ["mpich"], indirect=True)
def test_killed_for_good(hosts_of: Bench, tmp_path: Path, platform: Path) -> None:
    state = tmp_path / "advice"
    advisor = Advisor(state)
    timer = threading.Timer(1.0, lambda: advisor.end(signal.SIGKILL))
    timer.start()
    run = steady(hosts_of, state, platform)
    timer.join()
    assert run.reports == []
    # The notes are no longer read, and they do not fill the disk.
    assert len(list((state / "inbox").iterdir())) < 100 * RANKS


CORRUPT = ["", "{", '"notes"', '{"format": "broadleaf-notes/9"}', "\xff\x00", "[" * 100_000]
WRONG = [
    {"calls": 7, "samples": None},
    {"calls": [None, {}, {"platform": "../../etc/passwd", "age_s": "x"}]},
    {"samples": [{"communicator": "zz"}, {"communicator": "1", "call": 0, "from": -1, "to": 2**70}]},
]


def test_corrupt_records_are_set_aside(hosts_of: Bench, tmp_path: Path, platform: Path) -> None:
    state, end = tmp_path / "advice", tmp_path / "end"
    with advised(state) as advisor:

        def corrupt() -> None:
            # Not before the program has its plan, however busy the machine is.
            deadline = time.monotonic() + 30
            while not plans(state) and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(1.0)
            for number, text in enumerate(CORRUPT):
                (state / "inbox" / f"torn-{number}.json").write_bytes(text.encode("latin-1"))
            for number, fields in enumerate(WRONG):
                document = {"format": "broadleaf-notes/1", "process": "liar-1", **fields}
                (state / "inbox" / f"liar-{number}.json").write_text(json.dumps(document))
            # And a plan that is none, for the program.
            for path in (state / "plans").glob("*.json"):
                path.write_text("{")
            time.sleep(1.0)
            end.touch()

        timer = threading.Thread(target=corrupt)
        timer.start()
        run = steady(hosts_of, state, platform, 2 * LONGEST_S, end)
        timer.join()
        time.sleep(0.3)
        lines = advisor.end()
    assert version(run) >= 1
    assert advisor.process.returncode == 0
    aside = [line for line in lines if "set aside" in line]
    assert len(aside) == len(CORRUPT), lines
    assert all(line.startswith("broadleaf: advise: ") and len(line) < 1000 for line in lines)
    assert len(list((state / "set-aside").iterdir())) == len(CORRUPT)
    assert any("makes no sense" in line for line in lines)
    assert all("stays" in line for line in run.reports)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", "--recursive", folder], check=True)


def keep_full(path: Path, over: threading.Event) -> None:
    """Writes what the disk takes, and again what the advisor frees when it removes files that it has read."""
    with path.open("wb", buffering=0) as ballast:
        while not over.wait(0.005):
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(4096))


@pytest.mark.parametrize("fault", ["full", "read-only", "gone"])
@pytest.mark.parametrize("bench", ["mpich"], indirect=True)
def test_a_directory_that_cannot_be_written(
    fault: str, hosts_of: Bench, tmp_path: Path, platform: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        state = disk / "advice"
        over = threading.Event()
        with advised(state) as advisor:

            def spoil() -> None:
                if fault == "full":
                    keep_full(disk / "ballast", over)
                elif fault == "read-only":
                    # On a separate mount: on the disk itself files are open for writing.
                    subprocess.run(["mount", "--bind", state, state], check=True)
                    subprocess.run(["mount", "-o", "remount,ro,bind", state], check=True)
                else:
                    state.rename(disk / "elsewhere")

            timer = threading.Timer(0.7, spoil)
            timer.start()
            try:
                run = steady(hosts_of, state, platform)
            finally:
                over.set()
                timer.join()
            lines = advisor.end()
        assert advisor.process.returncode == 0, lines
    told = [line for line in run.reports if "the advisor cannot be told" in line]
    assert 1 <= len(told) <= RANKS, run.stderr
    assert told == run.reports
    assert len(lines) <= 3, lines


def test_a_directory_that_was_never_there(hosts_of: Bench, tmp_path: Path, platform: Path) -> None:
    run = steady(hosts_of, tmp_path / "nowhere", platform, 0.5)
    assert version(run) == 0
    assert len(run.reports) <= RANKS
    assert all("the program runs without an advisor" in line for line in run.reports)


def test_clocks_that_jump(
    hosts_of: Bench, tmp_path: Path, platform: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jumping = library(hosts_of, "jumping_clock")
    monkeypatch.setenv("LD_PRELOAD", f"{os.environ['LD_PRELOAD']}:{jumping}")
    state = tmp_path / "advice"
    with advised(state) as advisor:
        # A number of calls, not a time: MPICH's MPI_Wtime is the time of day.
        arguments = [hosts_of.compile("many"), "300", str(BYTES), "1"]
        settings = {"advice": state, "platform": platform, "test_ranks_per_host": "1", "min_bytes": "4KiB"}
        run = hosts_of.run(RANKS, arguments, **settings)
        wait_until_read(state)
        until = time.monotonic() + 10.0
        while not any((state / "plans").iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        assert advisor.end() == []
    assert run.returncode == 0, run.stderr
    # Open MPI's UCX warns of such clocks on standard output.
    assert run.stdout.splitlines()[-1].startswith("ok"), run.stdout
    assert run.reports == []
    assert list((state / "plans").iterdir())
    assert list((state / "inbox").iterdir()) == []


def test_the_second_advisor_refuses(tmp_path: Path) -> None:
    state = tmp_path / "advice"
    with advised(state) as first:
        argv = [sys.executable, "-m", "broadleaf", "advise", "--state", str(state)]
        second = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        assert second.returncode == 2
        (line,) = second.stderr.splitlines()
        assert f"process {first.process.pid} on" in line
        assert line.endswith("or name another directory with --state")
        assert first.process.poll() is None
    # And the next one may.
    with advised(state):
        pass


def test_a_host_that_cannot_be_reached(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("localhost\nnowhere.invalid\n")
    document = {
        "format": "broadleaf-platform/1",
        "name": "two",
        "port_model": "one-port",
        "nodes": [{"id": "a", "host": "localhost"}, {"id": "b", "host": "nowhere.invalid"}],
        "links": [{"from": "a", "to": "b", "both_ways": True, "bandwidth_bytes_per_s": 1e8}],
    }
    (tmp_path / "net.json").write_text(json.dumps(document))
    options = ["--platform", tmp_path / "net.json", "--hosts", tmp_path / "hosts", "--every", "1"]
    options += ["--mpi", bench.mpi.flavour, "--mpiexec", str(bench.mpi.mpiexec), "--share", "1"]
    advisor = Advisor(tmp_path / "advice", *options)
    lines: list[str] = []
    try:
        assert advisor.process.stderr is not None
        reader = threading.Thread(target=lambda: lines.append(advisor.process.stderr.readline()))
        reader.start()
        reader.join(timeout=60)
        assert advisor.process.poll() is None
    finally:
        advisor.process.send_signal(signal.SIGTERM)
        advisor.process.wait(timeout=60)
        assert advisor.process.stderr is not None
        advisor.process.stderr.close()
    assert lines
    assert "the monitor cannot reach nowhere.invalid" in lines[0]


def test_run_adapt_brings_its_advisor_and_takes_it_away(bench: Bench, tmp_path: Path) -> None:
    state = tmp_path / "advice"
    argv = [sys.executable, "-m", "broadleaf", "run", "-n", "2", "--adapt", "--state", str(state), "--json"]
    argv += ["--min-size", "64KiB", "--mpi", bench.mpi.flavour, "--mpiexec", str(bench.mpi.mpiexec), "--"]
    done = subprocess.run(
        [*argv, bench.compile("steady"), str(BYTES), "0.3"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["planned"] > 0
    assert [line for line in done.stderr.splitlines() if line.startswith("broadleaf: ")] == []
    served = State(state)
    assert "process" in Advisor.lock(state)
    deadline = time.monotonic() + 30
    while served.is_served():
        assert time.monotonic() < deadline, "the advisor outlives its programs"
        time.sleep(0.1)


@pytest.mark.parametrize("bench", ["mpich"], indirect=True)
def test_a_program_runs_where_no_advisor_can(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    argv = [sys.executable, "-m", "broadleaf", "run", "-n", "2", "--adapt"]
    argv += ["--state", str(tmp_path / "file" / "advice"), "--mpi", bench.mpi.flavour]
    argv += ["--mpiexec", str(bench.mpi.mpiexec), "--", bench.compile("steady"), str(BYTES), "0.1"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # The last two lines count the planned calls.
    line, _, _ = [line for line in done.stderr.splitlines() if line.startswith("broadleaf: ")]
    assert line.endswith("the program runs without an advisor")
