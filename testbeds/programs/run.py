#!/usr/bin/env python3
"""Runs programs that others wrote with every broadcast planned and without, and compares what they computed.

    python testbeds/programs/run.py [--or-skip] [--list] [NAME...]

ScaLAPACK's testers, NWChem and LAMMPS are Debian's, laid over the system in memory for these processes
only, and run with Debian's Open MPI 4.1 and MPICH 4.0. All ranks are on this machine, but the
platform gives each a node of its own and the planner is named, so broadcasts of any length are messages
along its trees. --or-skip: where there can be no namespaces, that is one line and no error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broadleaf.mpi import Mpi, find_mpi, launch_command

PACKAGES = [
    "openmpi-bin",
    "mpich",
    "scalapack-mpi-test",
    "nwchem-openmpi",
    "nwchem-mpich",
    "lammps",
]
# Not mrbayes-mpi: Debian 12 links it with no MPI, so each rank is a program of its own.
TESTERS = Path("/usr/lib/x86_64-linux-gnu/scalapack")
# Not among them: xdllt, which does not end on 4 ranks, with or without Broadleaf.
TESTED = ["xdlu", "xdqr", "xdinv", "xdls", "xdgblu", "xzlu"]
# Debian's MPICH polls without pause: with two ranks a core, testers take minutes.
RANKS = {"openmpi": 4, "mpich": 2}
TIMEOUT_S = 600.0
PLANNER = "chain"
# What may be passed through: nothing else was for the MPI alone.
ALLOWED = {"one-rank", "zero-bytes", "intercommunicator"}


class ProgramsError(Exception):
    """One line: what is missing or failed."""


@dataclass(frozen=True)
class Case:
    """A program, and what of its output must be the same with every broadcast planned."""

    name: str
    mpi: str
    command: list[str]
    compared: str
    folder: Path | None = None
    files: dict[str, str] = field(default_factory=dict)

    def run(self, scratch: Path, *, is_planned: bool) -> tuple[list[str], dict[str, Any]]:
        """The facts it printed, and the statistics of its broadcasts."""
        for name, text in self.files.items():
            (scratch / name).write_text(text)
        mpi = debians(self.mpi)
        ranks = RANKS[self.mpi]
        stats = scratch / "stats.json"
        settings = {
            "BROADLEAF_PLATFORM": str(platform(scratch, ranks)),
            "BROADLEAF_PLANNER": PLANNER,
            "BROADLEAF_MIN_BYTES": "0",
            "BROADLEAF_STATS": str(stats),
        }
        argv, environment = launch_command(
            mpi,
            ranks,
            self.command,
            variables=settings if is_planned else {},
            preload=mpi.runtime if is_planned else None,
        )
        done = subprocess.run(
            argv,
            cwd=self.folder or scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
        if done.returncode:
            raise ProgramsError(f"exit code {done.returncode}: {(done.stderr or done.stdout)[-300:]!r}")
        said = [rounded(found.group()) for found in re.finditer(self.compared, done.stdout, re.M)]
        if not said:
            raise ProgramsError(f"it printed nothing like {self.compared!r}")
        if not is_planned:
            return said, {}
        if not stats.exists():
            reports = [line for line in done.stderr.splitlines() if line.startswith("broadleaf: ")]
            raise ProgramsError(f"the runtime left no statistics: {reports}")
        return said, json.loads(stats.read_text())


WATER = """
start water
geometry units angstrom
 O 0 0 0
 H 0 0.757 0.587
 H 0 -0.757 0.587
end
basis
 * library 6-31g
end
scf
 direct
end
task scf energy
"""
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 20
run 100
"""


def cases() -> list[Case]:
    testers = [
        Case(f"{tester}.{mpi}", mpi, [f"./{tester}"], r"\b(PASSED|FAILED)\b|^ *\d+ tests .*", folder)
        for mpi, folder in (("openmpi", TESTERS / "openmpi-tests"), ("mpich", TESTERS / "mpich-tests"))
        for tester in TESTED
    ]
    energies = r"^.*(SCF energy|One-electron energy|Two-electron energy|Nuclear repulsion energy) =.*"
    return [
        *testers,
        Case("nwchem", "openmpi", ["nwchem.openmpi", "water.nw"], energies, files={"water.nw": WATER}),
        Case(
            "lammps",
            "openmpi",
            ["lmp", "-in", "melt"],
            r"^ *\d+( +-?\d+(\.\d+)?){5} *$",
            files={"melt": MELT},
        ),
    ]


def rounded(text: str) -> str:
    """Sums over ranks end in other digits each time."""
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found.group()):.7f}", " ".join(text.split()))


def debians(name: str) -> Mpi:
    return find_mpi(mpiexec=f"/usr/bin/mpiexec.{name}")


def platform(folder: Path, ranks: int) -> Path:
    """Each rank a node of its own, all on this machine."""
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


def compare(case: Case) -> str:
    """One line; raises ProgramsError where it computes anything else, or a broadcast was not planned."""
    with tempfile.TemporaryDirectory() as scratch:
        plain, _ = case.run(Path(scratch), is_planned=False)
    with tempfile.TemporaryDirectory() as scratch:
        planned, stats = case.run(Path(scratch), is_planned=True)
    if planned != plain:
        differing = next((pair for pair in zip(plain, planned, strict=False) if pair[0] != pair[1]), None)
        raise ProgramsError(
            f"{len(plain)} lines without, {len(planned)} with; the first to differ: {differing}"
        )
    if (foreign := set(stats["passed_through"]) - ALLOWED) or not stats["planned"]:
        raise ProgramsError(f"{stats['planned']} broadcasts were planned; passed through: {sorted(foreign)}")
    return f"{stats['planned']} broadcasts planned, {len(plain)} results the same"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--or-skip", action="store_true", help="no error where the packages cannot be had")
    parser.add_argument("--list", action="store_true", help="only the names")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    # For the call of itself in a namespace.
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = [case for case in cases() if not options.names or case.name in options.names]
    if options.list:
        print(*(case.name for case in chosen), sep="\n")
        return 0
    if options.inside:
        return inside(chosen)
    namespace = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    may = os.geteuid() == 0 and all(map(shutil.which, ("unshare", "apt-get")))
    if not may or subprocess.run([*namespace, "true"], capture_output=True).returncode:
        print("programs: skipped: they need root, namespaces and apt-get", file=sys.stderr)
        return 0 if options.or_skip else 2
    names = [case.name for case in chosen]
    return subprocess.run([*namespace, sys.executable, __file__, "--inside", *names]).returncode


def inside(chosen: list[Case]) -> int:
    with tempfile.TemporaryDirectory(prefix="broadleaf-programs-") as scratch:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", scratch], check=True)
        try:
            install(Path(scratch))
            return max([report(case) for case in chosen], default=0)
        finally:
            subprocess.run(["umount", "--lazy", scratch])


def report(case: Case) -> int:
    try:
        print(f"{case.name}: {compare(case)}", flush=True)
    except (ProgramsError, subprocess.TimeoutExpired) as error:
        print(f"{case.name}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def install(folder: Path) -> None:
    for system in ("usr", "etc", "var"):
        upper, work = folder / system / "upper", folder / system / "work"
        upper.mkdir(parents=True)
        work.mkdir()
        layers = f"lowerdir=/{system},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, f"/{system}"], check=True)
    # No service of the packages starts, least of all outside.
    policy = Path("/usr/sbin/policy-rc.d")
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "--no-install-recommends", *PACKAGES]):
        subprocess.run(
            ["apt-get", *command], env=quiet, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )


if __name__ == "__main__":
    sys.exit(main())
