"""The runtime as a file, and in processes of every sort: it binds to the MPI that is there, or to none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi.find import RUNTIMES

if TYPE_CHECKING:
    from conftest import Bench, Run

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).resolve().parent / "programs" / "beside.c"
KINDS = ("ompi", "mpich", "abi")
MOST_BYTES = 8 << 20
SYSTEM = ("libc.so", "libm.so", "libgcc_s.so", "libpthread.so", "libdl.so", "ld-linux")
# beside.c's large broadcasts.
LARGE = 7
NOBODY = 65534


FILES = ["libbroadleaf_mpi_{}.so", *(f"broadleaf-{name}-{{}}" for name in ("probe", "push", "rehearse"))]


def runtime_of(kind: str, name: str = "libbroadleaf_mpi_{}.so") -> Path:
    library = RUNTIMES / name.format(kind)
    if not library.exists():
        pytest.skip(f"no runtime was built for {kind}")
    return library


def elf(library: Path, option: str) -> str:
    return subprocess.run(
        ["readelf", "-W", option, library], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_the_file_depends_on_no_mpi_and_names_no_folder(name: str, kind: str) -> None:
    library = runtime_of(kind, name)
    dynamic = elf(library, "-d").splitlines()
    needed = [line.partition("[")[2].rstrip("]") for line in dynamic if "(NEEDED)" in line]
    assert needed
    assert [name for name in needed if not name.startswith(SYSTEM)] == []
    assert [line for line in dynamic if "RUNPATH" in line or "RPATH" in line] == []
    assert library.stat().st_size <= MOST_BYTES
    assert ".symtab" not in elf(library, "-S")
    data = library.read_bytes()
    cargo = os.environ.get("CARGO_HOME", Path.home() / ".cargo")
    builders = [ROOT, ROOT.resolve(), Path.home() / ".rustup", cargo]
    assert [folder for folder in builders if os.fsencode(folder) in data] == []
    assert b"registry/src" not in data


@pytest.mark.parametrize("kind", KINDS)
def test_a_probe_without_its_mpi_says_so_in_a_line(kind: str, tmp_path: Path) -> None:
    wanted = {
        "ompi": ["libmpi.so.40"],
        "mpich": ["libmpi.so.12", "libmpich.so.12"],
        "abi": ["libmpi_abi.so.1", "libmpi_abi.so.0"],
    }[kind]
    for name in wanted:
        (tmp_path / name).write_bytes(b"")
    done = subprocess.run(
        [runtime_of(kind, "broadleaf-probe-{}"), "{}"],
        env={"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    # Of each: the first one may exist and lack one of its libraries.
    assert [str(tmp_path / name) in done.stderr for name in wanted] == [True] * len(wanted)
    assert done.stderr.startswith(f"broadleaf-probe: {tmp_path / wanted[0]}: ")
    assert done.stderr.endswith(f"; add the folder of {wanted[0]} to LD_LIBRARY_PATH\n")


STATIC = "int main(void) { return 7; }\n"
WITHOUT_MPI = {
    "sh": ["/bin/sh", "-c", "echo $((6 * 7)) && /bin/sh -c 'exit 3'"],
    "env": ["env", "-i", "echo", "clean"],
    "true": ["true"],
    "python": [sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).getpid() > 0)"],
}


def outcome(command: list[str], library: Path | None, user: int | None = None) -> tuple[int, str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if library is not None:
        environment |= {"LD_PRELOAD": str(library), "BROADLEAF_STATS": "/nonexistent/stats.json"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, user=user)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", WITHOUT_MPI)
def test_nothing_happens_in_a_program_without_mpi(kind: str, program: str) -> None:
    command = WITHOUT_MPI[program]
    assert outcome(command, runtime_of(kind)) == outcome(command, None)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_happens_in_a_static_program(kind: str, tmp_path: Path) -> None:
    program = tmp_path / "static"
    command = ["cc", "-static", "-x", "c", "-", "-o", program]
    if subprocess.run(command, input=STATIC, text=True, capture_output=True).returncode:
        pytest.skip("no static libc")
    assert outcome([str(program)], runtime_of(kind)) == (7, "", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a set-user-id program of root's")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_happens_in_a_set_user_id_program(kind: str) -> None:
    # Beside pytest's own folders, which are closed to others.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        library = shutil.copy(runtime_of(kind), folder)
        program = shutil.copy(shutil.which("id") or "id", folder)
        Path(program).chmod(0o4755)
        code, said, errors = outcome([program, "-u"], Path(library), NOBODY)
        assert (code, said, errors) == (0, "0\n", "")


@pytest.mark.parametrize("how", ["RTLD_LOCAL", "RTLD_GLOBAL"])
def test_an_mpi_that_comes_with_a_plugin(each_kind: Bench, how: str) -> None:
    plugin = each_kind.build("beside_plugin.so", [PROGRAM], "-shared", "-fPIC", "-Dmain=run")
    load = f"import ctypes, os, sys; sys.exit(ctypes.CDLL({str(plugin)!r}, os.{how}).run(0, None))"
    run = each_kind.run(3, [sys.executable, "-c", load])
    assert (run.returncode, run.stdout, run.reports) == (0, "ok\n", []), run.stderr
    assert run.stats is not None
    assert run.stats["planned"] == LARGE


def test_an_mpi_of_another_kind_is_left_alone(each_kind: Bench) -> None:
    program = str(each_kind.build("beside", [PROGRAM]))
    right = each_kind.runtime.name
    for kind in KINDS:
        library = runtime_of(kind)
        if library.name == right:
            continue
        run = each_kind.preloading(library).run(3, [program])
        assert (run.returncode, run.stdout, run.stats) == (0, "ok\n", None), run.stderr
        (line,) = run.reports
        assert library.name in line
        assert line.endswith(f"preload {right}")


def test_mpi4py_with_runtimes_of_another_kind(bench: Bench, tmp_path: Path) -> None:
    # mpi4py uses calls with large counts where it finds them; Open MPI has none, MPICH has all.
    others = [runtime_of(kind) for kind in KINDS if runtime_of(kind) != bench.runtime]
    copies = [Path(shutil.copy(runtime, tmp_path)) for runtime in others]
    for preloaded in (others, [*others, bench.runtime], [*others, *copies, bench.runtime]):
        run = bench.preloading(*preloaded).run(
            3, [sys.executable, str(PROGRAM.with_name("mpi4py_counts.py"))]
        )
        assert (run.returncode, run.stdout) == (0, "ok\n"), run.stderr
        assert (run.stats is not None) == (bench.runtime in preloaded)


def test_a_second_broadleaf_leaves_all_to_the_first(each_kind: Bench, tmp_path: Path) -> None:
    copy = Path(shutil.copy(each_kind.runtime, tmp_path))
    others = [runtime_of(kind) for kind in KINDS]
    for preloaded in ([each_kind.runtime, copy], [*others, copy]):
        assert_all_planned(each_kind, *preloaded)


@pytest.mark.parametrize("first", range(len(KINDS)))
def test_the_runtimes_of_all_kinds_may_be_preloaded_together(each_kind: Bench, first: int) -> None:
    # As an administrator may do for all users, for a program of any MPI.
    kinds = [runtime_of(kind) for kind in (*KINDS[first:], *KINDS[:first])]
    run = assert_all_planned(each_kind, *kinds)
    assert run.reports == []


def assert_all_planned(bench: Bench, *preloaded: Path) -> Run:
    program = str(bench.build("beside", [PROGRAM]))
    run = bench.preloading(*preloaded).run(3, [program])
    assert (run.returncode, run.stdout) == (0, "ok\n"), run.stderr
    assert run.stats is not None, run.stderr
    assert run.stats["planned"] == LARGE
    assert run.stats["passed_through"] == {"under-threshold": 3}
    assert [line for line in run.reports if "nothing was planned" in line] == []
    return run


COLLECTIVE = re.compile(
    r"\bint\s+MPI_((?:I?neighbor_|Neighbor_|I)?"
    r"(?:[Aa]llgather|[Aa]llreduce|[Aa]lltoall|[Bb]arrier|[Bb]cast|[Ee]xscan|[Gg]ather|[Rr]educe|[Ss]can|[Ss]catter)"
    r"(?:v|w|_scatter|_scatter_block)?(?:_init)?(?:_c)?)\s*\(([^)]*)\)"
)


def test_every_collective_of_the_header_is_counted(each_kind: Bench) -> None:
    # Calls are forwarded with the declared number of arguments: one more would be the caller's own memory.
    source = (ROOT / "crates" / "broadleaf-mpi" / "c" / "counted.c").read_text()
    listed = re.findall(r"X\((\d+), (?:(\w+), )?(\w+)\)", source)
    assert each_kind.mpi.mpicc is not None
    command = [each_kind.mpi.mpicc, "-E", "-P", "-x", "c", "-"]
    done = subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True)
    declared = {name: parameters.count(",") + 1 for name, parameters in COLLECTIVE.findall(done.stdout)}
    counted = {name: int(count) for count, _, name in listed}
    if "Bcast_c" in declared:
        counted |= {f"{name}_c": int(count) for count, counts, name in listed if counts}
    for broadcast in ("Bcast", "Bcast_c"):
        declared.pop(broadcast, None)
    if "Allreduce_init" not in declared:
        # An MPI 3 has no persistent collectives.
        counted = {name: count for name, count in counted.items() if not name.endswith("_init")}
    assert len(declared) > 40
    assert counted == declared
