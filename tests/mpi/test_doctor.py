"""`broadleaf doctor`: each obstacle to planning, in a job that has it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import broadleaf as bl
from broadleaf.doctor import Finding, look_at_machine, look_at_program
from broadleaf.doctor.processes import images
from broadleaf.mpi import launch_command
from broadleaf.mpi.find import RUNTIMES

if TYPE_CHECKING:
    from conftest import Bench

HERE = Path(__file__).resolve().parent


@pytest.fixture
def job(each_kind: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A launcher and its options, as a user has them in a job script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    argv, environment = launch_command(each_kind.mpi, 3, ["program"])
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return argv[: argv.index("env")]


def found(findings: list[Finding], subject: str) -> Finding:
    (finding,) = (finding for finding in findings if finding.subject == subject)
    return finding


def obstacles(findings: list[Finding]) -> list[str]:
    return [finding.subject for finding in findings if finding.remedy]


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_nothing_in_the_way(each_kind: Bench, job: list[str]) -> None:
    program = str(each_kind.build("beside", [HERE / "programs" / "beside.c"]))
    command = [sys.executable, "-m", "broadleaf", "doctor", "--json", "--", *job, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    # The program's output is not in the document.
    assert "ok" in done.stderr.splitlines()
    document = json.loads(done.stdout)
    assert document["ok"]
    rows = {row["subject"]: row["found"] for row in document["findings"]}
    assert rows["runtime"] == f"{each_kind.runtime.name} in 3 of 3 processes with MPI"
    assert rows["MPI"].endswith("(linked)")
    assert "MPI_Bcast is reached on 3 ranks: " in rows["calls"]
    assert "tool" not in rows
    assert [path.name for path in Path().iterdir()] == []


def test_an_mpi_that_came_with_a_plugin(each_kind: Bench, job: list[str]) -> None:
    plugin = each_kind.build(
        "beside_plugin.so", [HERE / "programs/beside.c"], "-shared", "-fPIC", "-Dmain=run"
    )
    load = f"import ctypes, os, sys; sys.exit(ctypes.CDLL({str(plugin)!r}, os.RTLD_LOCAL).run(0, None))"
    findings = look_at_program([*job, sys.executable, "-c", load], None)
    assert found(findings, "MPI").found.endswith("(by a plugin)")
    # The MPI is unknown beforehand; the launcher is MPICH's.
    assert ("runtime" in obstacles(findings)) == each_kind.runtime.stem.endswith("_abi")


@pytest.mark.parametrize("each_kind", ["openmpi", "mpich"], indirect=True)
def test_a_program_that_calls_by_address(each_kind: Bench, job: list[str]) -> None:
    assert each_kind.mpi.library_dir is not None
    (library, *_) = sorted(each_kind.mpi.library_dir.glob("libmpi.so.*"))
    call = (
        f"import ctypes, os; mpi = ctypes.CDLL({str(library)!r}, os.RTLD_LOCAL); mpi.MPI_Init(None, None); "
    )
    findings = look_at_program([*job, sys.executable, "-c", call + "mpi.MPI_Finalize()"], None)
    assert "by addresses from dlsym must be linked with it" in (found(findings, "calls").remedy or "")


@pytest.mark.parametrize("order", ["before", "after", "linked"])
def test_a_tool_is_named(order: str, bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    linked = [HERE / "tools/counter.c"] if order == "linked" else []
    program = str(
        bench.build(
            "-".join(["beside", *(path.stem for path in linked)]), [HERE / "programs/beside.c", *linked]
        )
    )
    tool = bench.build("libcounter.so", [HERE / "tools/counter.c"], "-shared", "-fPIC", "-ldl")
    preloaded = {"before": [tool, bench.runtime], "after": [bench.runtime, tool], "linked": [bench.runtime]}[
        order
    ]
    monkeypatch.setenv("LD_PRELOAD", ":".join(map(str, preloaded)))
    argv, environment = launch_command(bench.mpi, 2, ["program"])
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    findings = look_at_program([*argv[: argv.index("env")], program], None)
    assert obstacles(findings) == []
    expected = "one that is linked into the program" if order == "linked" else str(tool)
    assert found(findings, "tool").found == f"{expected} wraps calls of MPI"


def test_a_runtime_of_another_mpi(each_kind: Bench, job: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    program = str(each_kind.build("beside", [HERE / "programs/beside.c"]))
    other = next(path for path in sorted(RUNTIMES.glob("*.so")) if path.name != each_kind.runtime.name)
    monkeypatch.setenv("LD_PRELOAD", str(other))
    findings = look_at_program([*job, program], None)
    runtime = found(findings, "runtime")
    assert other.name in runtime.found
    assert runtime.remedy is not None
    assert each_kind.runtime.name in runtime.remedy


def test_a_launcher_of_another_mpi(each_kind: Bench, job: list[str]) -> None:
    other = "mpich" if each_kind.mpi.flavour == "openmpi" else "openmpi"
    impostor = script(
        Path("mpiexec"),
        {"openmpi": "echo mpiexec '(Open MPI)' 5.0.0", "mpich": "echo HYDRA; echo Version: 4.0.0"}[other]
        + '; [ "$1" = --version ] && exit; shift 2; exec "$@"',
    )
    findings = look_at_program([str(Path(impostor).resolve()), "-n", "1", each_kind.compile("repeats")], None)
    assert "launcher" in obstacles(findings)
    assert f"starts a program of {each_kind.mpi.flavour}" in found(findings, "launcher").found


def test_processes_that_do_not_find_each_other(each_kind: Bench, job: list[str]) -> None:
    # Starts two ranks without any server.
    flux = script(
        Path("flux"), '[ "$1" = --version ] && exec echo libflux-core: 0.88.0; shift; "$@"; exec "$@"'
    )
    program = str(each_kind.build("beside", [HERE / "programs/beside.c"]))
    findings = look_at_program([str(Path(flux).resolve()), "run", program], None)
    launcher = found(findings, "launcher")
    assert launcher.found.startswith("flux run: its 2 processes do not find each other")
    assert launcher.remedy is not None
    assert {"openmpi": "-opmi=pmix", "mpich": "-opmi=simple"}[each_kind.mpi.flavour] in launcher.remedy
    alone = look_at_program([*job, program], None)
    assert "launcher" not in obstacles(alone)


@pytest.mark.parametrize(
    ("way", "subject", "words"),
    [("unset LD_PRELOAD", "runtime", "3 of 3 processes with MPI lack it"), ("all", "runtime", "drops them")],
)
def test_a_launcher_that_drops_variables(
    way: str, subject: str, words: str, each_kind: Bench, job: list[str]
) -> None:
    program = str(each_kind.build("beside", [HERE / "programs/beside.c"]))
    keep = 'env -i HOME="$HOME" PATH="$PATH" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1'
    launcher = script(
        Path("mpiexec"), f'{way}\nexec {job[0]} "$@"' if way != "all" else f'exec {keep} {job[0]} "$@"'
    )
    findings = look_at_program([str(Path(launcher).resolve()), *job[1:], program], None)
    assert subject in obstacles(findings)
    assert words in found(findings, subject).found


def test_processes_on_hosts_that_do_not_share_the_folder(
    each_kind: Bench, job: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # There the loader cannot open its file. The programs that a shell starts are unknown beforehand.
    monkeypatch.setenv("LD_PRELOAD", str(each_kind.runtime))
    program = str(each_kind.build("beside", [HERE / "programs/beside.c"]))
    away = 'LD_DEBUG_OUTPUT=/no/such/folder/x; export LD_DEBUG_OUTPUT; exec "$@"'
    findings = look_at_program([*job, "sh", "-c", away, "sh", program], None)
    assert obstacles(findings) == []
    assert "3 of 3 processes" in found(findings, "runtime").found


def test_programs_that_nothing_can_be_preloaded_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compiling = ["cc", "-static", "-x", "c", "-", "-o", "static"]
    if subprocess.run(
        compiling, input="int main(void) { return 0; }", text=True, capture_output=True
    ).returncode:
        pytest.skip("no static libc")
    (finding,) = look_at_program(["./static"], None)
    assert "linked statically" in finding.found
    privileged = shutil.copy("/bin/true", "privileged")
    Path(privileged).chmod(0o4755)
    (finding,) = look_at_program(["./privileged"], None)
    assert "is set-user-id" in finding.found
    assert finding.remedy is not None


def test_a_program_without_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    findings = look_at_program(["/bin/true"], None)
    assert found(findings, "MPI").found == "none: true ran and loaded no MPI's library"
    assert obstacles(findings) == ["MPI"]


def test_a_platform_of_other_hosts(two_names: str, host: str) -> None:
    finding = found(look_at_machine(two_names), "platform")
    assert finding.found == f"{two_names} has no node for {host}; its hosts are far, farther"
    assert finding.remedy is not None


@pytest.fixture
def two_names(tmp_path: Path) -> str:
    """A platform of two hosts that are not here."""
    link = {"from": "far", "to": "farther", "both_ways": True, "bandwidth_bytes_per_s": 1e9}
    document: dict[str, Any] = {"format": "broadleaf-platform/1", "name": "p", "port_model": "one-port"}
    document |= {"nodes": [{"id": "far"}, {"id": "farther"}], "links": [link]}
    bl.Platform.from_dict(document).save(tmp_path / "net.json")
    return str(tmp_path / "net.json")


def test_a_machine_without_an_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broadleaf.mpi.find.CHECKOUT_MPIS", tmp_path)
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROADLEAF_MPIEXEC", raising=False)
    finding = found(look_at_machine(None), "MPI")
    assert (finding.found, finding.remedy is None) == ("no mpiexec of Open MPI or MPICH", False)


@pytest.mark.parametrize(
    "command", [["/no/such/launcher"], ["mpiexec", "-n", "2"], ["mpiexec", "-n", "2", "./none"]]
)
def test_what_cannot_be_started_is_one_line(command: list[str], bench: Bench) -> None:
    named = [str(bench.mpi.mpiexec), *command[1:]] if command[0] == "mpiexec" else command
    done = subprocess.run(
        [sys.executable, "-m", "broadleaf", "doctor", "--", *named],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("broadleaf: ")
    assert done.stderr.count("\n") == 1


def test_a_process_that_becomes_another_program_is_two() -> None:
    first = ["file=libc.so.6 [0];  generating link map", "calling init: /x/libbroadleaf_mpi_ompi.so"]
    second = ["file=libc.so.6 [0];  generating link map", "calling init: /m/libmpi.so.40.40.7"]
    lines = [
        *first,
        "initialize program: sh",
        *second,
        "initialize program: ./p",
        "calling init: /t/plugin.so",
    ]
    shell, program = images(f"     12:\t{line}\n" for line in lines)
    assert (shell.program, shell.runtimes, shell.mpi) == ("sh", ["ompi"], None)
    assert (program.program, program.runtimes) == ("./p", [])
    assert program.mpi is not None
    assert program.mpi.soname == "libmpi.so.40"
