#!/usr/bin/env python3
"""Runs a real MPI program in simulated time, under SimGrid's SMPI.

    python testbeds/smpi/run.py PLATFORM [--hosts FILE] [-n RANKS] [--bcast NAME] -- PROGRAM ARGUMENTS

PLATFORM is a Broadleaf platform or a SimGrid XML file (then with --hosts). PROGRAM is a C source, compiled
with smpicc, or something smpicc has built. Debian: apt-get install libsimgrid-dev.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from profiles import RatesError, profiles_of, read_rates
from simgrid_xml import write_simgrid

import broadleaf as bl

# A transfer takes latency + bytes / rate and nothing else: SMPI's defaults stretch latencies by 2 to 11.6,
# charge for crossing traffic, and bill the program's own computing to simulated time.
CLEAN = {
    "smpi/bw-factor": "0:1",
    "smpi/lat-factor": "0:1",
    "network/weight-S": "0",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "1e12",
    "smpi/wtime": "0",
    "smpi/simulate-computation": "no",
}

# The collectives with which programs start: trees, since SMPI's defaults for them are linear.
START_UP = {"smpi/reduce": "binomial", "smpi/allreduce": "rdb", "smpi/barrier": "ompi_tree"}

TIMEOUT_S = 600.0


class TestbedError(Exception):
    """What keeps a program from running, in one line."""


def need(tool: str) -> str:
    path = shutil.which(tool)
    if path is None:
        raise TestbedError(f"{tool} is missing; install SimGrid (Debian: apt-get install libsimgrid-dev)")
    return path


def build(source: Path, folder: Path, options: list[str]) -> Path:
    """The program that smpicc makes of a C source."""
    program = folder / source.stem
    command = [need("smpicc"), "-O2", str(source), "-o", str(program), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise TestbedError(f"smpicc cannot build {source}: {first_error(done.stderr)}")
    return program


def simulate(
    xml: Path,
    hosts: Path,
    program: list[str],
    *,
    ranks: int | None = None,
    settings: dict[str, str] | None = None,
    variables: dict[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> str:
    """What the program prints when run on the simulated platform, one rank a line of `hosts`.

    `settings` are SimGrid's, and win over the clean model's, e.g. {"smpi/bcast": "mpich"}. `variables` are
    for the program's environment.
    """
    configuration = {**CLEAN, **START_UP, **(settings or {})}
    command = [need("smpirun"), "-platform", str(xml), "-hostfile", str(hosts)]
    command += ["-np", str(ranks)] if ranks else []
    command += ["--log=root.thres:warning", *(f"--cfg={key}:{value}" for key, value in configuration.items())]
    # A session of its own, so that the time limit ends smpirun's children with it.
    with subprocess.Popen(
        [*command, *program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **(variables or {})},
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise TestbedError(f"{program[0]} still runs after {timeout_s:g} s; give it more time") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
    if process.returncode:
        raise TestbedError(f"{program[0]} failed under smpirun: {first_error(err)}")
    # SMPI's MPI_Abort exits with 0, so what the program said is all there is to see of it.
    sys.stderr.write(err)
    return out


def broadcast_algorithms(xml: Path, hosts: Path, program: list[str]) -> list[str]:
    """The names that `smpi/bcast` takes. SMPI lists them only when it refuses one."""
    try:
        simulate(xml, hosts, program, ranks=1, settings={"smpi/bcast": "?"}, timeout_s=60)
    except TestbedError as refusal:
        listed = re.search(r"Valid algorithms: ([^.]*)\.", str(refusal))
        if listed:
            return listed[1].split(", ")
    raise TestbedError("this SMPI does not list its broadcast algorithms; Broadleaf was tried with 3.32")


def first_error(text: str) -> str:
    """The line that says most: the first that speaks of an error, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|CRITICAL|Cannot|No such", line)]
    return (telling or lines or ["no message"])[0]


def run(arguments: argparse.Namespace, folder: Path) -> str:
    platform: Path = arguments.platform
    if platform.suffix == ".xml":
        if arguments.hosts is None:
            raise TestbedError(f"{platform} needs --hosts FILE with one of its hosts a line")
        if arguments.rates is not None:
            raise TestbedError(
                f"--rates {arguments.rates} is for platform JSON; give {platform} profiles of its own"
            )
        xml, hosts = platform, arguments.hosts
    else:
        network = bl.Platform.load(platform)
        profiles = profiles_of(network, read_rates(arguments.rates), folder) if arguments.rates else None
        xml, hosts = write_simgrid(network, folder, profiles)
        hosts = arguments.hosts or hosts
    program = list(arguments.program)
    if program[0].endswith(".c"):
        program[0] = str(build(Path(program[0]), folder, []))
    for entry in arguments.cfg:
        if ":" not in entry:
            raise TestbedError(f"--cfg {entry} is no setting; write KEY:VALUE")
    settings = dict(entry.split(":", 1) for entry in arguments.cfg)
    if arguments.bcast:
        settings["smpi/bcast"] = arguments.bcast
    return simulate(
        xml, hosts, program, ranks=arguments.ranks, settings=settings, timeout_s=arguments.timeout
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs an MPI program under SimGrid's SMPI.")
    parser.add_argument("platform", type=Path, help="platform JSON, or SimGrid XML")
    parser.add_argument("--hosts", type=Path, help="one host a line, in the order of ranks")
    parser.add_argument("--rates", type=Path, help="shared resources' rates over time, JSON (profiles.py)")
    parser.add_argument("-n", "--ranks", type=int, help="default: one a host")
    parser.add_argument("--bcast", help="SMPI's algorithm for MPI_Bcast, e.g. mpich")
    parser.add_argument(
        "--cfg", action="append", default=[], metavar="KEY:VALUE", help="a setting of SimGrid's"
    )
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds of real time")
    parser.add_argument("program", nargs="+", help="after --: a C source or a program, and its arguments")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="broadleaf-smpi-") as folder:
            sys.stdout.write(run(arguments, Path(folder)))
    except (TestbedError, RatesError, bl.PlatformError, OSError) as error:
        print(f"smpi: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
