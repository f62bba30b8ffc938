"""Which launcher starts a program, and whether it belongs to the MPI that the program loads.

A launcher of one MPI starts a program of another as separate programs of one rank each, or, where only the
versions differ, slowly. So the program's own library decides unless the user names a launcher; then a
mismatch is reported."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from broadleaf.mpi import allocation
from broadleaf.mpi.dialects import MANAGERS, Dialect, dialect_of
from broadleaf.mpi.find import (
    Flavour,
    Mpi,
    MpiNotFoundError,
    examined,
    find_mpi,
    find_mpis,
    runtime_for,
    version_text,
)
from broadleaf.mpi.launch import Launcher, with_library
from broadleaf.mpi.library import Library, library_of

TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Start:
    """The MPI, launcher and runtime for a program, and a line on what does not fit."""

    mpi: Mpi
    launcher: Launcher
    runtime: Path
    remark: str | None = None


def start_of(
    program: Sequence[str] = (),
    *,
    flavour: Flavour | None = None,
    launcher: str | None = None,
    arguments: str | None = None,
) -> Start:
    """The launcher that was asked for (`mpiexec`, `srun`, `flux` or a path), else the one that fits.

    That is, inside an allocation, the resource manager's, if it supports the MPI's start-up; else the
    mpiexec of the MPI that the program loads. Raises ValueError, of which `MpiNotFoundError` is one."""
    words = words_of(arguments)
    manager = manager_named(launcher)
    mpiexec = None if manager or launcher == "mpiexec" else launcher
    is_started_by_name = launcher is not None or bool(os.environ.get("BROADLEAF_MPIEXEC"))
    is_named = bool(flavour or mpiexec or os.environ.get("BROADLEAF_MPIEXEC"))
    mpi, remark = find_mpi(flavour, mpiexec), None
    library = library_of(program, os.environ) if program and not is_named else None
    if library is not None and library.path is not None:
        mpi = owner_of(library, mpi) or mpi
    if program and (library is None or library.path is None or not belongs(library, mpi)):
        library = library_of(program, with_library(mpi, os.environ))
    if library is not None and not belongs(library, mpi):
        mpi, remark = settled(library, mpi, program[0], is_named=is_named, is_managed=manager is not None)
    if not is_started_by_name:
        around = allocation.manager()
        manager = around if around and meeting(*around, mpi.flavour) is not None else None
    runtime = runtime_for(library.abi) if library else mpi.runtime
    if manager is None:
        return Start(mpi, Launcher(mpi.mpiexec, mpi.dialect, words), runtime, remark)
    return Start(mpi, Launcher(*manager, with_meeting(words, manager, mpi.flavour)), runtime, remark)


def start_with(mpi: Mpi, launcher: str | None = None, arguments: str | None = None) -> Start:
    """That MPI, under its own mpiexec or a resource manager's launcher."""
    words, manager = words_of(arguments), manager_named(launcher)
    if manager is None:
        return Start(mpi, Launcher(mpi.mpiexec, mpi.dialect, words), mpi.runtime)
    return Start(mpi, Launcher(*manager, with_meeting(words, manager, mpi.flavour)), mpi.runtime)


def words_of(arguments: str | None) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(arguments or ""))
    except ValueError as error:
        raise ValueError(f"--launcher-args {arguments!r}: {error}; quote it as a shell would") from None


def manager_named(launcher: str | None) -> tuple[Path, Dialect] | None:
    """The resource manager's launcher, if that was requested."""
    if launcher in (None, "mpiexec"):
        return None
    found = shutil.which(launcher)
    if found is None:
        if launcher in MANAGERS:
            raise ValueError(f"no {launcher} on PATH; name another with --launcher")
        return None
    path = Path(found).absolute()
    dialect = MANAGERS.get(launcher) or dialect_of(version_text(path))
    return (path, dialect) if dialect and dialect.flavour is None else None


def with_meeting(words: tuple[str, ...], manager: tuple[Path, Dialect], flavour: Flavour) -> tuple[str, ...]:
    """The user's options, with the option by which ranks find each other unless they have one."""
    program, dialect = manager
    if any(word.startswith(dialect.meeting.format("")) for word in words):
        return words
    option = meeting(program, dialect, flavour)
    if option is None:
        wanted = " or ".join(dialect.servers[flavour])
        raise ValueError(
            f"{program} has no {wanted}, by which ranks of {flavour} find each other; "
            "use --launcher mpiexec, or name another with --launcher-args"
        )
    return (*option, *words)


def meeting(program: Path, dialect: Dialect, flavour: Flavour) -> tuple[str, ...] | None:
    """The option by which the MPI's ranks find each other under a manager; None: the manager has no such
    server."""
    if dialect.chosen_by and os.environ.get(dialect.chosen_by):
        return ()
    servers = dialect.servers[flavour]
    if dialect.listing:
        try:
            done = subprocess.run(
                [program, *dialect.listing], capture_output=True, text=True, timeout=TIMEOUT_S
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        there = set((done.stdout + done.stderr).split())
        servers = tuple(server for server in servers if server in there)
    return (dialect.meeting.format(servers[0]),) if servers else None


def belongs(library: Library, mpi: Mpi) -> bool:
    """Whether a launcher and a library are of the same MPI: by folder, else by version."""
    if library.flavour != mpi.flavour:
        return False
    if library.path is None:
        return True
    is_beside = mpi.library_dir is not None and library.path.resolve().parent == mpi.library_dir.resolve()
    return is_beside or library.version == mpi.version


def settled(
    library: Library, mpi: Mpi, program: str, *, is_named: bool, is_managed: bool
) -> tuple[Mpi, str | None]:
    """The MPI to use for a program whose library is not the candidate's, and the line to report."""
    where = library.path or library.soname
    if not is_named:
        if owner := owner_of(library, mpi):
            return owner, None
        mpi = next((each for each in owners(library) if each.flavour == library.flavour), mpi)
    if mpi.flavour == library.flavour:
        versions = f"of version {library.version or 'unknown'}, and {mpi.mpiexec} is of {mpi.version}"
        return mpi, None if is_managed else f"{program} loads {where} {versions}"
    told = f"{program} loads {where}, which is {library.flavour}'s, not {mpi.flavour}'s"
    if not is_named:
        raise MpiNotFoundError(f"{told}; name the mpiexec that belongs to it with --launcher")
    return mpi, f"{told}: its ranks will not find each other under {mpi.mpiexec}"


def owner_of(library: Library, candidate: Mpi) -> Mpi | None:
    """The MPI whose launcher belongs to the library: the candidate, if it does."""
    if belongs(library, candidate):
        return candidate
    return next((each for each in owners(library) if belongs(library, each)), None)


def owners(library: Library) -> Iterator[Mpi]:
    """MPIs that the library may belong to: of the folders above it, then all others."""
    for folder in library.path.parents if library.path else ():
        for launcher in sorted((folder / "bin").glob("mpiexec*")):
            if os.access(launcher, os.X_OK) and (found := examined(launcher)) is not None:
                yield found
    yield from find_mpis()
