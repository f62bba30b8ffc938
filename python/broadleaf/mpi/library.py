"""The MPI library that a program would load: as the dynamic loader finds it, or mpi4py in Python."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from broadleaf.mpi.find import VERSION, Flavour

# By the name that programs are linked with: the MPI, and the ABI in the runtime's file name.
SONAMES: dict[str, tuple[Flavour, str]] = {
    "libmpi.so.40": ("openmpi", "ompi"),
    "libmpi.so.12": ("mpich", "mpich"),
    "libmpich.so.12": ("mpich", "mpich"),
    "libmpi_abi.so.1": ("mpich", "abi"),
    "libmpi_abi.so.0": ("mpich", "abi"),
}
LINE = re.compile(r"\s*(\S+) => (?:(/.*) \(0x[0-9a-f]+\)|not found)$")
PYTHON = re.compile(r"python(\d(\.\d+)?)?$")
TIMEOUT_S = 20.0

# mpi4py, without MPI_Init: what it has loaded.
MPI4PY = """
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
print("\\n".join({line.split(None, 5)[-1].strip() for line in open("/proc/self/maps") if "/libmpi" in line}))
"""
# This MPI call is allowed before MPI_Init.
ASK_VERSION = """
import ctypes, sys
text, length = ctypes.create_string_buffer(1 << 14), ctypes.c_int()
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL).MPI_Get_library_version(text, ctypes.byref(length))
print(text.value.decode(errors="replace"))
"""


@dataclass(frozen=True)
class Library:
    """An MPI's library, as a program asks for it; no path where the loader does not find it."""

    soname: str
    path: Path | None

    @property
    def flavour(self) -> Flavour:
        return SONAMES[self.soname][0]

    @property
    def abi(self) -> str:
        return SONAMES[self.soname][1]

    @property
    def version(self) -> str:
        """The library's own version text; empty where it has none."""
        return version_of(self.path) if self.path else ""


@cache
def version_of(library: Path) -> str:
    said = printed([sys.executable, "-c", ASK_VERSION, str(library)], None)
    found = VERSION.search(said)
    return found[0] if found else ""


def library_of(program: Sequence[str], environment: Mapping[str, str]) -> Library | None:
    """What the program would load with these variables; None: no MPI, a static one, or a shell script."""
    name = interpreter_of(program[0])
    interpreter = Path(shutil.which(name) or name).absolute()
    linked = listed(printed(["ldd", str(interpreter)], environment))
    if linked is None and PYTHON.match(interpreter.name):
        quiet = {**environment, "LD_PRELOAD": ""}
        for path in printed([str(interpreter), "-c", MPI4PY], quiet).splitlines():
            return of_path(Path(path))
    return linked


def interpreter_of(program: str) -> str:
    """The program itself, or the interpreter in its first line."""
    try:
        with Path(program).open("rb") as file:
            first = file.readline(4096)
    except OSError:
        return program
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    if not words:
        return program
    return words[1] if Path(words[0]).name == "env" and len(words) > 1 else words[0]


def listed(text: str) -> Library | None:
    """The first MPI's library among what the loader lists."""
    for line in text.splitlines():
        found = LINE.match(line)
        if found and found[1] in SONAMES:
            return Library(found[1], Path(found[2]) if found[2] else None)
    return None


def of_path(path: Path) -> Library | None:
    """A library by its file, whose name may have more of a version than programs ask for."""
    whole = path.name.removesuffix(" (deleted)")
    soname = next((name for name in SONAMES if whole == name or whole.startswith(f"{name}.")), None)
    return Library(soname, path) if soname else None


def printed(command: Sequence[str], environment: Mapping[str, str] | None) -> str:
    """A command's output; empty where it cannot be had."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
