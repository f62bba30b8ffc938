"""Networks with laws of their own, jitter, loss, shared cores, other programs, and ranks on each of them.

The settings are described in intervals.py."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import broadleaf as bl
from broadleaf.benchmarks import BenchError
from broadleaf.benchmarks.namespaces import DEFAULT_PLATFORM, LUMP
from broadleaf.mpi import Mpi, launch_command
from broadleaf.mpi.launch import with_variables

BED = Path(__file__).resolve().parents[1] / "testbeds/namespaces"
sys.path.insert(0, str(BED))
from launch import command_of, launcher_words, on_first_host, write_agent  # noqa: E402
from network import Disturbance, Network, rates_of  # noqa: E402

TIMEOUT_S = 300.0
LOCAL_RANKS = 4


@dataclass(frozen=True)
class Setting:
    """Ranks on one network."""

    mpi: Mpi
    ranks: int
    # How `broadleaf measure` and `run` start them.
    words: list[str]
    # Runs `broadleaf` with some arguments, and returns its standard output.
    broadleaf: Callable[[Sequence[str]], str]
    # Runs a program on the ranks, without Broadleaf's runtime, with some variables.
    plain: Callable[[Sequence[str], Mapping[str, str]], str]
    # The shaped network, where there is one.
    bed: Network | None = None


Made = Callable[[Mpi, Path], AbstractContextManager[Setting]]


def called(command: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise BenchError(f"{shlex.join(command)} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


@contextmanager
def namespaces(mpi: Mpi, folder: Path, disturbance: Disturbance | None = None) -> Iterator[Setting]:
    platform, prefix = bl.Platform.load(str(DEFAULT_PLATFORM)), mpi.mpiexec.parent.parent
    ranks, listed = len(platform.hosts), folder / "hosts"
    listed.write_text("\n".join(platform.hosts))
    with Network(f"blival{os.getpid()}", rates_of(platform), LUMP, disturbance) as bed:
        agent = write_agent(bed, folder)

        def broadleaf(arguments: Sequence[str]) -> str:
            command, environment = on_first_host(prefix, bed, [sys.executable, "-m", "broadleaf", *arguments])
            return called(command, {**environment, "TMPDIR": str(folder)})

        def plain(program: Sequence[str], variables: Mapping[str, str]) -> str:
            found = {"LD_LIBRARY_PATH": str(prefix / "lib"), **variables}
            line = with_variables(program, found)
            command, environment = command_of(prefix, bed, agent, ranks, [], line)
            return called(command, {**environment, "TMPDIR": str(folder)})

        words = shlex.join(launcher_words(prefix, agent))
        launcher = ["--launcher", str(mpi.mpiexec), f"--launcher-args={words}"]
        words = ["-n", str(ranks), "--hosts", str(listed), *launcher]
        yield Setting(mpi, ranks, words, broadleaf, plain, bed)


@contextmanager
def local(mpi: Mpi, folder: Path) -> Iterator[Setting]:
    def broadleaf(arguments: Sequence[str]) -> str:
        return called([sys.executable, "-m", "broadleaf", *arguments], os.environ)

    def plain(program: Sequence[str], variables: Mapping[str, str]) -> str:
        return called(*launch_command(mpi, LOCAL_RANKS, program, variables=variables))

    yield Setting(mpi, LOCAL_RANKS, ["-n", str(LOCAL_RANKS), "--mpi", mpi.flavour], broadleaf, plain)


@contextmanager
def busy(mpi: Mpi, folder: Path) -> Iterator[Setting]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinning:
        try:
            with local(mpi, folder) as here:
                yield here
        finally:
            spinning.kill()


NAMESPACES: dict[str, Made] = {
    "namespaces": namespaces,
    "jitter": partial(namespaces, disturbance=Disturbance(jitter_s=3e-4)),
    "loss": partial(namespaces, disturbance=Disturbance(loss=1 / 2000)),
}
SETTINGS: dict[str, Made] = {**NAMESPACES, "local": local, "busy": busy}
