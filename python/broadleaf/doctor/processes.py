"""The dynamic loader's records of each process of a job: the objects that it loaded, and where calls of MPI
go.

With LD_DEBUG the loader writes a file for each process, whatever started it; on a host that lacks the
folder, it writes to standard output. So the command line need not be understood, and the findings are
facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from broadleaf.mpi.library import Library, of_path

LOADER = "files,bindings"
LINE = re.compile(r"\s*(\d+):\t(.*)$")
NEW_IMAGE = "file=libc.so.6 [0];  generating link map"
BINDING = re.compile(
    r"binding file (.+) \[\d+\] to (.+) \[\d+\]: \w+ symbol `(P?MPI_Bcast|P?MPI_Init(?:_thread)?)'"
)
RUNTIME = re.compile(r"libbroadleaf_mpi_(\w+)\.so$")


@dataclass
class Process:
    """One program that a process ran; a process that becomes another program is two."""

    program: str = ""
    objects: list[str] = field(default_factory=list)
    # Caller, name, and the object that defines the function.
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    # How many of the objects were loaded at start: linked or preloaded ones.
    linked: int = 0

    @property
    def mpi(self) -> Library | None:
        """The MPI's library that it loaded."""
        found = (of_path(Path(name)) for name in self.objects)
        return next((library for library in found if library), None)

    @property
    def has_plugin(self) -> bool:
        """Whether its MPI came later, with a plugin, as mpi4py's does."""
        return not any(of_path(Path(name)) for name in self.objects[: self.linked])

    @property
    def runtimes(self) -> list[str]:
        """The ABIs of the runtimes that it loaded."""
        return [found[1] for name in self.objects if (found := RUNTIME.search(name))]

    @property
    def tools(self) -> list[str]:
        """Objects that are neither Broadleaf nor the MPI and stand between calls of MPI and the MPI."""
        mpi = self.mpi
        own = {str(mpi.path)} if mpi else set()

        def is_tool(name: str) -> bool:
            return name not in own and not RUNTIME.search(name) and not Path(name).name.startswith("libmpi")

        called = [to for at, to, call in self.calls if not call.startswith("PMPI") and at != to]
        calling = [at for at, to, call in self.calls if call == "PMPI_Bcast" and at != to]
        return list(dict.fromkeys(name for name in [*called, *calling] if is_tool(name)))


def processes_of(folder: Path) -> list[Process]:
    """All programs that ran, of the files that the loader has written."""
    found = []
    for path in sorted(folder.iterdir()):
        with path.open(errors="replace") as lines:
            found += list(images(lines))
    return found


def images(lines: Iterable[str]) -> Iterator[Process]:
    """The programs that one process was, one after the other."""
    current = Process()
    for line in lines:
        matched = LINE.match(line)
        text = matched[2].strip() if matched else ""
        if text == NEW_IMAGE:
            if current.program:
                yield current
            current = Process()
        elif text.startswith("calling init: "):
            current.objects.append(text.removeprefix("calling init: "))
        elif text.startswith("initialize program: "):
            current.program, current.linked = text.removeprefix("initialize program: "), len(current.objects)
        elif bound := BINDING.match(text):
            current.calls.append((bound[1], bound[2], bound[3]))
    if current.program:
        yield current
