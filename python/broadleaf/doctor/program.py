"""Runs a command line once with the runtime preloaded, and examines its processes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broadleaf.doctor.finding import Finding
from broadleaf.doctor.processes import LINE, LOADER, RUNTIME, Process, images, processes_of
from broadleaf.errors import visible
from broadleaf.mpi.dialects import Dialect, Flavour, dialect_of
from broadleaf.mpi.exports import exports, runtimes_of
from broadleaf.mpi.find import runtime_for, version_text
from broadleaf.mpi.library import interpreter_of, library_of, printed

# The prefix of the runtime's lines, on processes of another MPI and on hosts that a platform lacks.
OURS = "broadleaf: "
STATIC = ("not a dynamic executable", "statically linked")


@dataclass(frozen=True)
class Seen:
    """The observations of the job after its end."""

    code: int
    processes: Sequence[Process]
    # The runtime's own lines, and its statistics where rank 0 left some.
    lines: Sequence[str]
    statistics: dict[str, Any] | None


def look_at_program(command: Sequence[str], platform: str | None) -> list[Finding]:
    """Runs the command, with its output on standard error, and finds why its broadcasts are not planned.

    Raises ValueError or OSError for what cannot be started.
    """
    launcher, program = split(command)
    before = list(of_file(program))
    if any(finding.remedy for finding in before):
        return before
    seen = observed(command, with_runtime(os.environ, preloaded_for(program, launcher), platform))
    after = [*judged(seen, launcher, program)]
    if seen.code:
        after.append(Finding("exit code", str(seen.code), "see what the program printed above"))
    return [*before, *after]


def split(command: Sequence[str]) -> tuple[Dialect | None, Path]:
    """The launcher's dialect, where the command begins with a known one, and the program that is started.

    Launchers differ in their options; the program is the first word after it that names a program.
    """
    first = shutil.which(command[0])
    if first is None:
        raise ValueError(f"{command[0]}: no such program; name one on PATH or give its path")
    begun = Path(first).absolute()
    dialect = dialect_of(version_text(begun)) if is_like_a_launcher(begun) else None
    if dialect is None:
        return None, begun
    start = next((at for at, word in enumerate(command) if word in dialect.start and word == "run"), 0)
    words = [word for word in command[start + 1 :] if not word.startswith("-")]
    named = next((found for word in words if (found := shutil.which(word))), None)
    if named is None:
        raise ValueError(f"{' '.join(command)}: no program among its words; give one that is on this machine")
    return dialect, Path(named).absolute()


def is_like_a_launcher(program: Path) -> bool:
    """Judged by its name: other programs may not support --version, and are not run."""
    return program.name.startswith(("mpiexec", "mpirun", "prterun", "orterun", "srun", "flux"))


def of_file(program: Path) -> Iterator[Finding]:
    """Findings on the program without running it."""
    name = interpreter_of(str(program))
    binary = Path(shutil.which(name) or name)
    if is_privileged(binary):
        yield Finding(
            "program",
            f"{binary} is set-user-id or has capabilities: the system preloads nothing into it",
            "run a copy without them: cp makes one",
        )
    elif is_static(binary):
        yield Finding(
            "program",
            f"{binary} is linked statically, and nothing can be preloaded into it",
            "link it dynamically, or with libbroadleaf_mpi as docs/reference/c.md has it",
        )
    else:
        yield Finding("program", str(program))


def is_privileged(binary: Path) -> bool:
    try:
        return bool(binary.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)) or bool(
            "security.capability" in os.listxattr(binary)
        )
    except OSError:
        return False


def is_static(binary: Path) -> bool:
    with binary.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return False
    # A static program has no dynamic loader.
    return not printed(["ldd", str(binary)], None).strip() or any(
        mark in printed(["ldd", str(binary)], None) for mark in STATIC
    )


def preloaded_for(program: Path, launcher: Dialect | None) -> Path:
    """The runtime for the library that the program would load, else for the launcher's MPI."""
    library = library_of([str(program)], os.environ)
    if library is not None:
        return runtime_for(library.abi)
    (runtime,) = runtimes_of(launcher.flavour if launcher else None)
    return runtime


def observed(command: Sequence[str], environment: Mapping[str, str]) -> Seen:
    """Runs the command; returns the records of the dynamic loader and the runtime."""
    with tempfile.TemporaryDirectory(prefix="broadleaf-doctor-", dir=shared_folder()) as scratch:
        loaded = Path(scratch) / "loaded"
        loaded.mkdir()
        statistics = Path(scratch) / "stats.json"
        watched = {
            **environment,
            "LD_DEBUG": LOADER,
            "LD_DEBUG_OUTPUT": str(loaded / "process"),
            "BROADLEAF_STATS": str(statistics),
        }
        lines = []
        # Of hosts that lack the folder, by process.
        elsewhere: dict[str, list[str]] = {}
        with subprocess.Popen(
            command,
            env=watched,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as job:
            assert job.stdout is not None
            for line in job.stdout:
                if written := LINE.match(line):
                    elsewhere.setdefault(written[1], []).append(line)
                elif line.startswith(OURS):
                    lines.append(line.removeprefix(OURS).strip())
                else:
                    print(visible(line.rstrip("\n")), file=sys.stderr)
        text = statistics.read_text() if statistics.is_file() else None
        processes = [*processes_of(loaded), *(each for found in elsewhere.values() for each in images(found))]
        return Seen(job.returncode, processes, lines, json.loads(text) if text else None)


def shared_folder() -> str | None:
    """The working folder, which hosts of a job mostly share; None, for this host's, where it is read-only."""
    return str(Path.cwd()) if os.access(Path.cwd(), os.W_OK) else None


def with_runtime(environment: Mapping[str, str], runtime: Path, platform: str | None) -> dict[str, str]:
    """The environment with the runtime preloaded, unless the user preloads one already."""
    found = exports([runtime], platform)
    rest = environment.get("LD_PRELOAD", "")
    has_one = any(RUNTIME.search(name) for name in rest.replace(" ", ":").split(":"))
    preload = rest if has_one else ":".join([found.preload, *([rest] if rest else [])])
    return {**environment, **found.variables, "LD_PRELOAD": preload}


def judged(seen: Seen, launcher: Dialect | None, program: Path) -> Iterator[Finding]:
    """The findings, each after those that it depends on."""
    ranks = [process for process in seen.processes if process.mpi is not None]
    if not ranks:
        yield unseen(seen, program)
        return
    libraries = list(dict.fromkeys(process.mpi for process in ranks if process.mpi))
    how = "by a plugin" if any(process.has_plugin for process in ranks) else "linked"
    for library in libraries:
        yield Finding("MPI", f"{library.flavour} {library.version}: {library.path} ({how})")
    if launcher and launcher.flavour and launcher.flavour != libraries[0].flavour:
        yield Finding(
            "launcher",
            f"{launcher.name} starts a program of {libraries[0].flavour}, whose ranks do not find each other",
            "use the mpiexec of the program's MPI, or broadleaf run, which finds it",
        )
    elif launcher and launcher.meeting and len(ranks) > 1 and (seen.statistics or {}).get("ranks") == 1:
        yield apart(launcher, len(ranks), libraries[0].flavour)
    else:
        yield Finding("launcher", launcher.name if launcher else "none: one rank")
    yield of_runtimes(ranks)
    yield from of_tools(ranks)
    yield of_calls(seen, ranks)
    for line in seen.lines:
        yield Finding("runtime's line", line, "see docs/reference/environment.md, and what it names")


def apart(launcher: Dialect, processes: int, flavour: Flavour) -> Finding:
    """A resource manager's launcher does not serve the protocol that this MPI speaks."""
    options = " or ".join(launcher.meeting.format(server) for server in launcher.servers[flavour])
    return Finding(
        "launcher",
        f"{launcher.name}: its {processes} processes do not find each other, and each is a world of its own",
        f"give it {options}; where it refuses that, its plugin is missing, for Flux flux-pmix",
    )


def unseen(seen: Seen, program: Path) -> Finding:
    """The reason why no process with an MPI was seen."""
    ran = list(dict.fromkeys(Path(process.program).name for process in seen.processes))
    if {program.name, Path(interpreter_of(str(program))).name} & set(ran):
        return Finding(
            "MPI",
            f"none: {program.name} ran and loaded no MPI's library",
            "link it dynamically with an MPI, or lead mpi4py to one by LD_LIBRARY_PATH as run does",
        )
    if seen.code:
        return Finding("MPI", f"unknown: {program.name} was not started", "see what was printed above")
    return Finding(
        "runtime",
        f"{program.name} ran without LD_PRELOAD and all other variables: the launcher drops them",
        "use broadleaf run, or let `env LD_PRELOAD=... PROGRAM` be what the launcher starts",
    )


def of_runtimes(ranks: Sequence[Process]) -> Finding:
    """Whether each process has the runtime that its MPI needs."""
    without = [process for process in ranks if not process.runtimes]
    if without:
        return Finding(
            "runtime",
            f"{len(without)} of {len(ranks)} processes with MPI lack it: LD_PRELOAD is dropped on the way",
            "use broadleaf run, or let `env LD_PRELOAD=... PROGRAM` be what the launcher starts",
        )
    wrong = [process for process in ranks if process.mpi and process.mpi.abi not in process.runtimes]
    if wrong:
        have, need = wrong[0].runtimes[0], wrong[0].mpi.abi if wrong[0].mpi else ""
        return Finding(
            "runtime",
            f"libbroadleaf_mpi_{have}.so is preloaded, which is another MPI's",
            f"preload libbroadleaf_mpi_{need}.so; broadleaf env --mpi prints how",
        )
    abi = ranks[0].mpi.abi if ranks[0].mpi else ""
    return Finding("runtime", f"libbroadleaf_mpi_{abi}.so in {len(ranks)} of {len(ranks)} processes with MPI")


def of_tools(ranks: Sequence[Process]) -> Iterator[Finding]:
    """The tools that wrap calls. The call counts show whether calls reach the runtime behind them."""
    tools = list(
        dict.fromkeys(tool for process in ranks for tool in process.tools if tool != process.program)
    )
    for tool in tools:
        yield Finding("tool", f"{tool} wraps calls of MPI")
    if any(process.program in process.tools for process in ranks):
        yield Finding("tool", "one that is linked into the program wraps calls of MPI")


def of_calls(seen: Seen, ranks: Sequence[Process]) -> Finding:
    """Whether broadcasts were intercepted, by rank 0's count."""
    found = seen.statistics
    if found is None:
        late = "; a program that calls the MPI by addresses from dlsym must be linked with it instead"
        return Finding(
            "calls",
            "rank 0 left no statistics: nothing came by, or it did not get to MPI_Finalize",
            "see the runtime and what the program printed above"
            + (late if any(process.has_plugin for process in ranks) else ""),
        )
    reasons = ", ".join(f"{count} {reason}" for reason, count in found["passed_through"].items())
    passed = sum(found["passed_through"].values())
    counted = f"{found['planned']} broadcasts planned, {passed} passed through" + (
        f": {reasons}" if reasons else ""
    )
    if found["planned"] + passed:
        return Finding("calls", f"MPI_Bcast is reached on {found['ranks']} ranks: {counted}")
    others = ", ".join(f"{name} {count}" for name, count in found.get("not_planned", {}).items()) or "none"
    return Finding(
        "calls",
        f"no MPI_Bcast of rank 0 came by; other collectives: {others}",
        "a program without broadcasts needs no plan; a tool that calls past the linker comes first",
    )
