"""Real MPI: programs compiled by each MPI's own mpicc, started by its own mpiexec, our runtime preloaded."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from broadleaf.mpi import Mpi, find_mpi, launch_command

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
# Open MPI's launcher, of itself, before there is any rank: seen once in a whole run of all tests.
NOT_STARTED = "The PMIx server's listener thread failed to start"
# Stands for ssh, with a namespace a host; by its name a host is down or lacks the runtime.
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "--uts"]
AGENT = """#!/bin/sh
# agent [OPTIONS] HOST COMMAND...; options with a value of their own, as ssh has them.
# Whoever runs the tests is root in the namespace of a host.
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
while [ "${{1#-}}" != "$1" ]; do case $1 in -l|-p|-o) shift ;; esac; shift; done
host=$1; shift
echo "$host" >>{folder}/started
case $host in
    bare*) hide="mount -t tmpfs none {library.parent};" ;;
    down*) exit 255 ;;
esac
exec {namespace} /bin/sh -c "hostname $host; $hide $*"
"""
Completed = subprocess.CompletedProcess[str]
# Far above the time of any of these on two busy cores; a run that hangs ends here.
TIMEOUT_S = 3600 if os.environ.get("BROADLEAF_SOAK") else 240


def descendants(parent: int) -> list[int]:
    """The processes below one, itself first. Those that end meanwhile may be missing."""
    found = [parent]
    for process in found:
        for listed in Path("/proc").glob(f"{process}/task/*/children"):
            with suppress(OSError):
                found += map(int, listed.read_text().split())
    return found


def stack(process: int) -> str:
    """Where the threads of a process are, as far as this machine can tell."""
    words = ["gdb", "--batch", "--pid", str(process), "-ex", "thread apply all backtrace 30"]
    try:
        command = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
        told = Path(f"/proc/{process}/status").read_text()
        if shutil.which("gdb"):
            told = subprocess.run(words, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as failed:
        return f"{process}: {failed}"
    return f"{process}: {command}\n{told}"


def ended(argv: Sequence[str], environment: Mapping[str, str], limit_s: float) -> Completed:
    """Runs a launcher. If its job hangs, says where and ends all of it: ranks that spin on would slow down
    every later test."""
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=environment, stdout=pipe, stderr=pipe, text=True) as job:
        try:
            out, err = job.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            processes = descendants(job.pid)
            stacks = "\n".join(stack(process) for process in processes)
            for process in processes:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            out, err = job.communicate()
            pytest.fail(f"hangs after {limit_s} s: {argv}\n{out}\n{err}\n{stacks}")
    return Completed(argv, job.returncode, out, err)


@dataclass
class Run:
    """The results of a job."""

    returncode: int
    stdout: str
    stderr: str
    stats: dict[str, Any] | None

    @property
    def reports(self) -> list[str]:
        """Our lines on stderr."""
        return [line for line in self.stderr.splitlines() if line.startswith("broadleaf: ")]

    def rows(self, **wanted: object) -> list[dict[str, Any]]:
        """The statistics' rows with these values."""
        assert self.stats is not None, self.stderr
        rows: list[dict[str, Any]] = self.stats["broadcasts"]
        return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


class Bench:
    """One MPI with our runtime, and a place to work in."""

    def __init__(self, mpi: Mpi, folder: Path, runtime: Path | None = None) -> None:
        self.mpi = mpi
        self.folder = folder
        self.runtime = runtime or mpi.runtime

    def compile(self, name: str, folder: Path = PROGRAMS) -> str:
        """A program, compiled once."""
        source = folder / f"{name}.c"
        program = self.folder / name
        if not program.exists():
            assert self.mpi.mpicc is not None
            flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-lpthread"]
            subprocess.run([self.mpi.mpicc, source, *flags, "-o", program], check=True)
        return str(program)

    def run(
        self,
        ranks: int,
        program: Sequence[str],
        *,
        preloaded: bool = True,
        launcher: Sequence[str | Path] = (),
        **settings: str | Path,
    ) -> Run:
        """Runs a program, by the MPI's launcher unless `launcher` is another command; `settings` are
        BROADLEAF_… by their lower-case rest."""
        variables = {f"BROADLEAF_{name.upper()}": str(value) for name, value in settings.items()}
        # By itself the runtime leaves shorter messages inside one host, where tests run, to the MPI.
        variables.setdefault("BROADLEAF_MIN_BYTES", "64KiB")
        default = self.folder / "stats.json"
        default.unlink(missing_ok=True)
        file = Path(variables.setdefault("BROADLEAF_STATS", str(default)))
        argv, environment = launch_command(
            self.mpi, ranks, program, variables=variables, preload=self.runtime if preloaded else None
        )
        if launcher:
            argv = [*map(str, launcher), "env", f"LD_PRELOAD={self.runtime}", *program]
            environment = {**os.environ, **variables}
        done = self.launched(argv, environment)
        stats = json.loads(file.read_text()) if file.is_file() else None
        return Run(done.returncode, done.stdout, done.stderr, stats)

    @staticmethod
    def launched(argv: Sequence[str], environment: Mapping[str, str]) -> Completed:
        """Runs the launcher, and once more where it could not start itself."""
        for _ in range(2):
            done = ended(argv, environment, TIMEOUT_S)
            if NOT_STARTED not in done.stderr:
                break
            print("the launcher could not start itself:", done.stderr, file=sys.stderr)
        return done

    def preloading(self, *libraries: Path) -> Bench:
        """The same with these libraries preloaded, in that order, in place of the runtime alone."""
        return Bench(self.mpi, self.folder, Path(":".join(str(library) for library in libraries)))

    def build(self, product: str, sources: Sequence[Path], *options: str) -> Path:
        """A program or library of several sources, compiled once."""
        path = self.folder / product
        if not path.exists():
            assert self.mpi.mpicc is not None
            flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *options]
            subprocess.run([self.mpi.mpicc, *sources, *flags, "-o", path], check=True)
        return path

    def check(self, ranks: int, name: str, *arguments: str, **settings: str | Path) -> Run:
        """Runs one of our programs, which must find everything right."""
        run = self.run(ranks, [self.compile(name), *arguments], **settings)
        assert run.returncode == 0, run.stderr
        assert run.stdout.startswith("ok"), run.stdout + run.stderr
        return run


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    mpi = find_mpi(request.param)
    return Bench(mpi, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def abi_bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The standard ABI, for which MPICH's mpicc_abi compiles."""
    mpich = find_mpi("mpich")
    assert mpich.mpicc is not None
    mpicc = mpich.mpicc.with_name("mpicc_abi")
    if not mpicc.exists():
        pytest.skip("this MPICH has no mpicc_abi")
    runtime = mpich.runtime.with_name("libbroadleaf_mpi_abi.so")
    return Bench(replace(mpich, mpicc=mpicc), tmp_path_factory.mktemp("abi"), runtime)


# Other releases than the wheels', under runtimes that were compiled with the wheels' headers.
DEBIANS = {
    f"debian-{flavour}": launcher
    for flavour in ("openmpi", "mpich")
    if (launcher := Path(f"/usr/bin/mpiexec.{flavour}")).exists()
}


@pytest.fixture(scope="session", params=["openmpi", "mpich", "abi", *DEBIANS])
def each_kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Each kind of MPI that a runtime is built for, and Debian's where they are installed."""
    if request.param == "abi":
        found: Bench = request.getfixturevalue("abi_bench")
        return found
    debian = DEBIANS.get(request.param)
    mpi = find_mpi(mpiexec=debian) if debian else find_mpi(request.param)
    return Bench(mpi, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def sanitized(bench: Bench) -> Bench:
    """The runtime with its C files checked as they run."""
    assert bench.mpi.mpicc is not None
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    archive = target / "release" / "libbroadleaf_mpi.a"
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    if not archive.exists() or not Path(asan.stdout.strip()).is_absolute():
        pytest.skip("no archive in cargo's release folder, or gcc has no sanitizers")
    out = bench.folder / "sanitized"
    script = ROOT / "crates" / "broadleaf-mpi" / "build_runtimes.py"
    command = [sys.executable, script, "--sanitize", "--mpicc", bench.mpi.mpicc, "--out", out]
    subprocess.run([*command, "--staticlib", archive], check=True, capture_output=True)
    runtime = out / bench.mpi.runtime.name
    # The sanitizer must be first; libraries named here go before the programs' own.
    preload = Path(f"{Path(asan.stdout.strip()).resolve()}:{runtime}")
    return Bench(bench.mpi, bench.folder, preload)


@pytest.fixture
def hosts_of(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Ranks with several host names, BROADLEAF_TEST_RANKS_PER_HOST ranks on each."""
    library = bench.folder / "several_hosts.so"
    if not library.exists():
        assert bench.mpi.mpicc is not None
        flags = ["-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
        command = [bench.mpi.mpicc, *flags, PROGRAMS / "several_hosts.c", "-o", library]
        subprocess.run(command, check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    return bench


@pytest.fixture(scope="session")
def host() -> str:
    """This machine, as MPI_Get_processor_name calls it."""
    return socket.gethostname()


@pytest.fixture
def agent(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the stand-in for ssh records the hosts on which it started programs."""
    if subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode:
        pytest.skip("mount namespaces cannot be had here; run as root")
    script = tmp_path / "agent"
    script.write_text(AGENT.format(folder=tmp_path, library=bench.mpi.runtime, namespace=" ".join(NAMESPACE)))
    script.chmod(0o755)
    for prefix in ("PRTE_MCA_plm_ssh", "OMPI_MCA_plm_rsh"):
        monkeypatch.setenv(f"{prefix}_agent", str(script))
    monkeypatch.setenv("HYDRA_LAUNCHER", "ssh")
    monkeypatch.setenv("HYDRA_LAUNCHER_EXEC", str(script))
    return tmp_path
