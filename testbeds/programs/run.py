#!/usr/bin/env python3
"""Runs third-party programs without plans, with planned broadcasts, and with all collectives planned.

    python testbeds/programs/run.py [--or-skip] [--list] [NAME...]

Their results must be the same. ScaLAPACK's testers, NWChem and LAMMPS are Debian's, laid over the system in
memory for these processes only, and run with Debian's Open MPI 4.1 and MPICH 4.0. All ranks are on this
machine, but the platform gives each a separate node and the planner is named, so messages of any length
go along its trees. --or-skip: without the packages, print one line and exit without an error.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cases import MPIS, Case, cases, short
from overlay import UnavailableError, folder_in_memory, in_namespaces, install

from broadleaf.mpi import launch_command
from broadleaf.mpi.launchers import start_of

# Debian's MPICH polls without pause: with two ranks a core, testers take minutes.
RANKS = {"openmpi": 4, "mpich": 2}
TIMEOUT_S = 600.0
PLANNER = "chain"
# The only reasons for which a call may be passed through.
ALLOWED = {"one-rank", "zero-bytes", "intercommunicator"}
# By BROADLEAF_COLLECTIVES: the name of the planned calls, and the fewest of them that a program must make.
PLANNED = {"": ("broadcasts", 30), "all": ("collectives", 31)}


class ProgramsError(Exception):
    """One line: what failed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--or-skip", action="store_true", help="no error where the packages cannot be had")
    parser.add_argument("--list", action="store_true", help="only the names")
    known = {case.name: case for case in [*cases(), short()]}
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all but `short`, CI's")
    # For the script's call of itself in namespaces.
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no {' or '.join(unknown)}; --list names what there is")
    names = options.names or [case.name for case in cases()]
    if options.list:
        print(*(options.names or known), sep="\n")
        return 0
    try:
        if options.inside:
            return inside([known[name] for name in names])
        return in_namespaces([__file__, "--inside", *(["--or-skip"] if options.or_skip else []), *names])
    except UnavailableError as error:
        print(f"programs: {'skipped' if options.or_skip else 'unavailable'}: {error}", file=sys.stderr)
        return 0 if options.or_skip else 2


def inside(chosen: list[Case]) -> int:
    with folder_in_memory("programs") as scratch:
        wanted = {package for case in chosen for package in (*MPIS[case.mpi], *case.packages)}
        install(sorted(wanted), scratch)
        return max(report(case) for case in chosen)


def report(case: Case) -> int:
    try:
        print(f"{case.name}: {compare(case)}", flush=True)
    except (ProgramsError, subprocess.TimeoutExpired) as error:
        print(f"{case.name}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def compare(case: Case) -> str:
    """One line; raises ProgramsError where the results differ, or a broadcast was not planned."""
    plain, _ = in_a_folder(case, None)
    counts = []
    for listed, (name, least) in PLANNED.items():
        found, stats = in_a_folder(case, listed)
        if found != plain:
            pairs = zip(plain, found, strict=False)
            differing = next((pair for pair in pairs if pair[0] != pair[1]), None)
            raise ProgramsError(
                f"{len(plain)} lines without, {len(found)} with planned {name}; "
                f"the first to differ: {differing}"
            )
        if foreign := set(stats["passed_through"]) - ALLOWED:
            raise ProgramsError(f"{name} were passed through: {sorted(foreign)}")
        if stats["planned"] < least:
            raise ProgramsError(f"{stats['planned']} {name} were planned, fewer than {least}")
        counts.append(f"{stats['planned']} {name}")
    return f"{' or '.join(counts)} planned, {len(plain)} results the same"


def in_a_folder(case: Case, listed: str | None) -> tuple[list[str], dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        return started(case, Path(scratch), listed)


def started(case: Case, scratch: Path, listed: str | None) -> tuple[list[str], dict[str, Any]]:
    """The facts that the program printed, and the statistics; `listed`: the planned collectives."""
    for name, text in case.files.items():
        (scratch / name).write_text(text)
    # Another MPI may stand before Debian's on PATH; the launcher is the program's, as in `broadleaf run`.
    mpi = start_of(case.command).mpi
    ranks = RANKS[case.mpi]
    stats = scratch / "stats.json"
    is_planned = listed is not None
    settings = {
        "BROADLEAF_PLATFORM": str(platform(scratch, ranks)),
        "BROADLEAF_PLANNER": PLANNER,
        "BROADLEAF_MIN_BYTES": "0",
        "BROADLEAF_COLLECTIVES": listed or "",
        "BROADLEAF_STATS": str(stats),
    }
    argv, environment = launch_command(
        mpi,
        ranks,
        case.command,
        variables=settings if is_planned else {},
        preload=mpi.runtime if is_planned else None,
    )
    done = subprocess.run(
        argv,
        cwd=case.folder or scratch,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
    )
    if done.returncode:
        raise ProgramsError(f"exit code {done.returncode}: {(done.stderr or done.stdout)[-300:]!r}")
    said = [rounded(found.group()) for found in re.finditer(case.compared, done.stdout, re.M)]
    if not said:
        raise ProgramsError(f"it printed nothing like {case.compared!r}")
    if not is_planned:
        return said, {}
    if not stats.exists():
        reports = [line for line in done.stderr.splitlines() if line.startswith("broadleaf: ")]
        raise ProgramsError(f"the runtime left no statistics: {reports}")
    return said, json.loads(stats.read_text())


def rounded(text: str) -> str:
    """Rounds off the last digits of sums over ranks, which differ between runs."""
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found.group()):.7f}", " ".join(text.split()))


def platform(folder: Path, ranks: int) -> Path:
    """A platform with a node for each rank, all on this machine."""
    names = [f"n{rank}" for rank in range(ranks)]
    link = {"latency_s": 1e-6, "bandwidth_bytes_per_s": 4e9}
    document = {
        "format": "broadleaf-platform/1",
        "name": "one machine",
        "port_model": "one-port",
        "nodes": [{"id": name, "host": socket.gethostname()} for name in names],
        "meshes": [{"nodes": names, "link": link}],
    }
    path = folder / "platform.json"
    path.write_text(json.dumps(document))
    return path


if __name__ == "__main__":
    sys.exit(main())
