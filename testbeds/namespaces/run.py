#!/usr/bin/env python3
"""Runs a real MPI program over real TCP between shaped network namespaces of this machine.

    python testbeds/namespaces/run.py run PLATFORM --mpi PREFIX [-n RANKS] -- PROGRAM ARGUMENTS
    python testbeds/namespaces/run.py up PLATFORM --name NAME [--delay S] [--jitter S] [--loss P]
    python testbeds/namespaces/run.py down --name NAME

`run` builds the network, runs the program, and always removes the network again. PLATFORM is a Broadleaf
platform, PREFIX the folder of an Open MPI 5 or MPICH 5 as pip installs it, PROGRAM a C source or a program.
With --delay, --jitter or --loss, which `run` takes as well, cables delay and lose packets. Needs root.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

from launch import command_of, write_agent
from network import Disturbance, Network, TestbedError, down, rates_of

import broadleaf as bl

HERE = Path(__file__).parent
DEFAULT_PLATFORM = HERE / "two-clusters.json"
TIMEOUT_S = 120.0


def build(source: Path, prefix: Path, folder: Path) -> Path:
    """The program that the MPI's compiler builds from a C source."""
    program = folder / source.stem
    command = [str(prefix / "bin/mpicc"), "-O2", str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or ["no message"]
        raise TestbedError(f"mpicc cannot build {source}: {lines[0].strip()}")
    return program


def run(arguments: argparse.Namespace) -> int:
    """The program's exit code."""
    rates = rates_of(bl.Platform.load(arguments.platform))
    prefix: Path = arguments.mpi.absolute()
    ranks = arguments.ranks or len(rates.hosts)
    name = arguments.name or f"bl{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="broadleaf-ns-", ignore_cleanup_errors=True) as folder:
        program = list(arguments.program)
        if program[0].endswith(".c"):
            program[0] = str(build(Path(program[0]), prefix, Path(folder)))
        with Network(name, rates, arguments.lump, disturbance_of(arguments)) as network:
            agent = write_agent(network, Path(folder))
            command, environment = command_of(prefix, network, agent, ranks, arguments.option, program)
            # A killed MPI leaves files in its session folder, which is inside this one.
            return bounded(command, {**environment, "TMPDIR": folder}, arguments.timeout)


def disturbance_of(arguments: argparse.Namespace) -> Disturbance | None:
    if arguments.delay == arguments.jitter == arguments.loss == 0:
        return None
    return Disturbance(arguments.delay, arguments.jitter, arguments.loss)


def bounded(command: list[str], environment: dict[str, str], timeout_s: float) -> int:
    # A separate session, so that the time limit ends mpiexec's local children with it.
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            return process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise TestbedError(f"the program still runs after {timeout_s:g} s; give it more time") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def stop(number: int, _: FrameType | None) -> None:
    # As an exception, so that the network is removed on the way out.
    raise SystemExit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs an MPI program between shaped network namespaces.")
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("run", "up"):
        sub = commands.add_parser(command)
        sub.add_argument(
            "platform", type=Path, nargs="?" if command == "up" else None, default=DEFAULT_PLATFORM
        )
        sub.add_argument(
            "--name", default=None if command == "run" else "broadleaf", help="of the namespaces"
        )
        sub.add_argument("--delay", type=float, default=0.0, help="of each cable, seconds")
        sub.add_argument(
            "--jitter", type=float, default=0.0, help="mean of an exponentially distributed delay, seconds"
        )
        sub.add_argument("--loss", type=float, default=0.0, help="probability that a cable loses a packet")
        if command == "run":
            sub.add_argument(
                "--mpi", type=Path, required=True, metavar="PREFIX", help="folder with bin/mpiexec"
            )
            sub.add_argument("-n", "--ranks", type=int, help="default: one a host")
            sub.add_argument("--option", action="append", default=[], help="one more word for mpiexec")
            sub.add_argument("--lump", type=int, default=1, help="packets that may pass a shaper as one")
            sub.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds")
            sub.add_argument(
                "program", nargs="+", help="after --: a C source or a program, and its arguments"
            )
    commands.add_parser("down").add_argument("--name", default="broadleaf")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        if arguments.command == "run":
            return run(arguments)
        if arguments.command == "up":
            rates = rates_of(bl.Platform.load(arguments.platform))
            Network(arguments.name, rates, disturbance=disturbance_of(arguments)).up()
            print(f"up: {arguments.name}-0 ... on {arguments.name}-switch")
        else:
            print(f"down: {len(down(arguments.name))} namespaces")
    except (TestbedError, bl.PlatformError, OSError) as error:
        print(f"namespaces: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
