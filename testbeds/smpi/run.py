#!/usr/bin/env python3
"""Runs a real MPI program in simulated time, under SimGrid's SMPI.

    python testbeds/smpi/run.py PLATFORM [--hosts FILE] [-n RANKS] [--bcast NAME] -- PROGRAM ARGUMENTS

PLATFORM is a Broadleaf platform or a SimGrid XML file (then with --hosts). PROGRAM is a C source, compiled
with smpicc, or a program that smpicc built. Debian: apt-get install libsimgrid-dev.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import broadleaf as bl
from broadleaf import smpi
from broadleaf.formats.simgrid import write_simgrid


def run(arguments: argparse.Namespace, folder: Path) -> str:
    platform: Path = arguments.platform
    if platform.suffix == ".xml":
        if arguments.hosts is None:
            raise smpi.SmpiError(f"{platform} needs --hosts FILE with one of its hosts a line")
        if arguments.rates is not None:
            raise smpi.SmpiError(
                f"--rates {arguments.rates} is for platform JSON; give {platform} profiles of its own"
            )
        xml, hosts = platform, arguments.hosts
    else:
        network = bl.Platform.load(platform)
        rates = smpi.read_rates(arguments.rates) if arguments.rates else None
        profiles = smpi.profiles_of(network, rates, folder) if rates is not None else None
        xml, hosts = write_simgrid(network, folder, profiles)
        hosts = arguments.hosts or hosts
    program = list(arguments.program)
    if program[0].endswith(".c"):
        source = Path(program[0])
        program[0] = str(smpi.plain_program(source, folder / source.stem))
    for entry in arguments.cfg:
        if ":" not in entry:
            raise smpi.SmpiError(f"--cfg {entry} is no setting; write KEY:VALUE")
    settings = dict(entry.split(":", 1) for entry in arguments.cfg)
    if arguments.bcast:
        settings["smpi/bcast"] = arguments.bcast
    return smpi.simulate(
        *(xml, hosts, program),
        ranks=arguments.ranks,
        settings=settings,
        timeout_s=arguments.timeout,
        errors=sys.stderr,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs an MPI program under SimGrid's SMPI.")
    parser.add_argument("platform", type=Path, help="platform JSON, or SimGrid XML")
    parser.add_argument("--hosts", type=Path, help="one host a line, in the order of ranks")
    parser.add_argument(
        "--rates", type=Path, help="shared resources' rates over time, JSON (broadleaf.smpi.profiles)"
    )
    parser.add_argument("-n", "--ranks", type=int, help="default: one a host")
    parser.add_argument("--bcast", help="SMPI's algorithm for MPI_Bcast, e.g. mpich")
    parser.add_argument(
        "--cfg", action="append", default=[], metavar="KEY:VALUE", help="a setting of SimGrid's"
    )
    parser.add_argument("--timeout", type=float, default=smpi.TIMEOUT_S, help="seconds of real time")
    parser.add_argument("program", nargs="+", help="after --: a C source or a program, and its arguments")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="broadleaf-smpi-") as folder:
            sys.stdout.write(run(arguments, Path(folder)))
    except (smpi.SmpiError, smpi.RatesError, bl.PlatformError, OSError) as error:
        print(f"smpi: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
