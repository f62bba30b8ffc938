"""The MPIs, runtimes, launchers and hosts of this machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from broadleaf._core import Platform
from broadleaf.doctor.finding import Finding
from broadleaf.mpi import MpiNotFoundError, allocation, find_mpis, start_of
from broadleaf.mpi.dialects import MANAGERS
from broadleaf.mpi.exports import ABIS
from broadleaf.mpi.find import INSTALL, RUNTIMES

TIMEOUT_S = 20.0


def look_at_machine(platform: str | None) -> list[Finding]:
    """A finding for each requirement on this machine and its allocation, if any."""
    return [*mpis(), *runtimes(), *launchers(), *hosts(platform)]


def mpis() -> Iterator[Finding]:
    found = list(find_mpis())
    if not found:
        yield Finding("MPI", "no mpiexec of Open MPI or MPICH", INSTALL)
    for mpi in found:
        yield Finding("MPI", f"{mpi.flavour} {mpi.version}: {mpi.mpiexec}")


def runtimes() -> Iterator[Finding]:
    for abi in ABIS.values():
        library = RUNTIMES / f"libbroadleaf_mpi_{abi}.so"
        if not library.is_file():
            yield Finding(
                "runtime", f"{library.name} was not built; programs of its MPI run without Broadleaf"
            )
        elif trouble := trouble_loading(library):
            yield Finding("runtime", f"{library}: {trouble}", "install Broadleaf again on this machine")
        else:
            yield Finding("runtime", str(library))


def trouble_loading(library: Path) -> str | None:
    """The message of ld.so where it cannot preload the library."""
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run(
        ["/bin/sh", "-c", ":"], env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    return done.stderr.strip() or None


def launchers() -> Iterator[Finding]:
    for name in MANAGERS:
        if path := shutil.which(name):
            yield Finding("launcher", f"{name}: {path}")
    try:
        start = start_of()
    except MpiNotFoundError:
        return
    words = " ".join([str(start.launcher.program), *start.launcher.arguments])
    yield Finding("launcher", f"run and measure start {words}")


def hosts(platform: str | None) -> Iterator[Finding]:
    names = allocation.hosts() or [socket.gethostname()]
    yield Finding("hosts", ", ".join(names) + (" (the allocation)" if allocation.is_inside() else ""))
    if platform is None:
        yield Finding(
            "platform", "none given: broadcasts between hosts go to the MPI; broadleaf measure makes one"
        )
    else:
        yield fit(platform, names)


def fit(platform: str, names: Sequence[str]) -> Finding:
    """Whether the platform has a node for each host."""
    nodes = Platform.load(platform).to_dict()["nodes"]
    known = {str(node.get("host", node["id"])) for node in nodes if node.get("kind") != "switch"}
    lacking = [name for name in names if name not in known and name.partition(".")[0] not in known]
    if not lacking:
        return Finding("platform", f"{platform} has a node for each host")
    listed = ", ".join(sorted(known)[:8]) + (" ..." if len(known) > 8 else "")
    return Finding(
        "platform",
        f"{platform} has no node for {', '.join(lacking)}; its hosts are {listed}",
        "measure on these hosts: broadleaf measure -n RANKS -o net.json",
    )
