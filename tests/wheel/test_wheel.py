"""The wheel, in a separate environment: without compiler, checkout, or an MPI that it was built with.

In `make soak` it is the one that `make wheel` leaves, otherwise one of what the checkout has: the same
package, linked for this machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from broadleaf.mpi import Mpi, find_mpi

ROOT = Path(__file__).resolve().parents[2]
IS_PORTABLE = bool(os.environ.get("BROADLEAF_SOAK"))
NAME = r"broadleaf-\d+\.\d+\.\d+-cp311-abi3-{}_x86_64\.whl"
# Programs that launchers run in between.
TOOLS = ("sh", "env", "uname")
PROGRAMS = [(f"broadleaf-{name}-", "") for name in ("probe", "push", "rehearse")]
BINARIES = [("libbroadleaf_mpi_", ".so"), *PROGRAMS]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if IS_PORTABLE:
        subprocess.run(["make", "wheel"], cwd=ROOT, check=True)
        (made,) = (ROOT / "dist").iterdir()
        return made
    out = tmp_path_factory.mktemp("dist")
    script = ROOT / "packaging" / "wheel" / "build.py"
    subprocess.run([sys.executable, script, "--as-built", "--out", out], check=True)
    (made,) = out.iterdir()
    return made


@dataclass
class Installed:
    """A fresh environment with the wheel in it."""

    python: Path
    tools: Path

    def run(self, *command: str | Path, cwd: Path, **variables: str) -> str:
        """The output of a command, which must succeed; it has no access to the checkout or a compiler."""
        environment = {"HOME": str(cwd), "PATH": f"{self.python.parent}:{self.tools}", **variables}
        assert shutil.which("cc", path=environment["PATH"]) is None
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def broadleaf(self, *arguments: str | Path, cwd: Path, **variables: str) -> str:
        return self.run(self.python.with_name("broadleaf"), *arguments, cwd=cwd, **variables)

    @property
    def binaries(self) -> Path:
        (folder,) = self.python.parents[1].glob("lib/python*/site-packages/broadleaf/mpi/lib")
        return folder


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, wheel], check=True)
    tools = folder / "tools"
    tools.mkdir()
    for tool in TOOLS:
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    return Installed(python, tools)


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    return find_mpi(request.param)


def test_what_is_inside(wheel: Path, tmp_path: Path) -> None:
    assert re.fullmatch(NAME.format("manylinux_2_28" if IS_PORTABLE else "linux"), wheel.name)
    assert wheel.stat().st_size <= 25 << 20
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path)
    for kind in ("ompi", "mpich", "abi"):
        assert {f"broadleaf/mpi/lib/{name}{kind}{end}" for name, end in BINARIES} <= names
    builders = [ROOT, Path.home() / ".rustup", os.environ.get("CARGO_HOME", Path.home() / ".cargo")]
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        data = path.read_bytes()
        assert [folder for folder in builders if os.fsencode(folder) in data] == [], path
        if data.startswith(b"\x7fELF"):
            dynamic = subprocess.check_output(["readelf", "-dVW", path], text=True)
            assert not re.search(r"R(UN)?PATH|NEEDED.*libmpi", dynamic), path
            newest = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", dynamic))
            assert newest <= 28 or not IS_PORTABLE, path


def test_metadata(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("dist-info/METADATA"))
        lines = archive.read(name).decode().partition("\n\n")[0].splitlines()
        licences = archive.read(name.replace("METADATA", "licenses/THIRD-PARTY")).decode()
    fields = dict(line.split(": ", 1) for line in lines)
    assert fields["Author"] == "the Broadleaf developers"
    assert fields["License-Expression"] == "Apache-2.0"
    assert fields["Requires-Python"] == ">=3.11"
    assert "broadcast" in fields["Keywords"]
    assert not [line for line in lines if "://" in line]
    assert sum(line.startswith("Classifier") for line in lines) > 10
    # One that is linked in, one that only builds and one that only tests.
    assert re.search(r"^(.*, )?rayon-core \d", licences, re.M)
    assert "autocfg" not in licences
    assert "proptest" not in licences


def test_planning_without_an_mpi(installed: Installed, tmp_path: Path) -> None:
    said = installed.broadleaf("--version", cwd=tmp_path)
    assert re.fullmatch(r"broadleaf, version \d+\.\d+\.\d+\n", said)
    assert "round-robin" in installed.broadleaf("planners", cwd=tmp_path)
    platform = shutil.copy(ROOT / "docs" / "small.json", tmp_path)
    installed.broadleaf("plan", platform, "--size", "8MiB", "-o", "plan.json", cwd=tmp_path)
    installed.broadleaf("check", platform, "plan.json", cwd=tmp_path)


def test_measuring_and_running(installed: Installed, mpi: Mpi, tmp_path: Path) -> None:
    program = tmp_path / "beside"
    source = ROOT / "tests" / "mpi" / "programs" / "beside.c"
    subprocess.run([mpi.compiler, "-O1", source, "-o", program], check=True)
    named = {"BROADLEAF_MPIEXEC": str(mpi.mpiexec)}
    installed.broadleaf("measure", "-n", "2", "-o", "net.json", cwd=tmp_path, **named)
    assert len(json.loads((tmp_path / "net.json").read_text())["nodes"]) == 2
    wanted = ["-n", "2", "--platform", "net.json", "--planner", "chain", "--stats", "stats.json"]
    assert installed.broadleaf("run", *wanted, "--", program, cwd=tmp_path, **named) == "ok\n"
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["planned"] > 0
    assert {row["planner"] for row in stats["broadcasts"]} == {"chain"}


CALLER = """
#include <broadleaf.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) value = 42;
    broadleaf_bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
    printf("%d\\n", value);
    return MPI_Finalize();
}
"""


def test_a_program_that_is_compiled_against_it(installed: Installed, mpi: Mpi, tmp_path: Path) -> None:
    abi = mpi.runtime.stem.rpartition("_")[2]
    found = (installed.binaries / "broadleaf.pc").read_text().replace("${pcfiledir}", "${libdir}")
    fields = dict(line.split(": ", 1) for line in found.splitlines() if re.match(r"\w+: ", line))
    assert f"broadleaf, version {fields['Version']}\n" == installed.broadleaf("--version", cwd=tmp_path)
    words = f"{fields['Cflags']} {fields['Libs']}".replace("${libdir}", str(installed.binaries))
    options = words.replace("${abi}", abi).split()
    if shutil.which("pkg-config"):
        asked = ["pkg-config", f"--define-variable=abi={abi}", "--cflags", "--libs", "broadleaf"]
        place = {**os.environ, "PKG_CONFIG_PATH": str(installed.binaries)}
        assert sorted(subprocess.check_output(asked, env=place, text=True).split()) == sorted(options)
    (tmp_path / "caller.c").write_text(CALLER)
    subprocess.run([mpi.compiler, "caller.c", *options, "-o", "caller"], cwd=tmp_path, check=True)
    again = installed.run(mpi.mpiexec, "-n", "2", "./caller", cwd=tmp_path, **AS_ROOT)
    assert again == "42\n42\n"


def test_manual_and_completion(installed: Installed, tmp_path: Path) -> None:
    share = installed.python.parents[1] / "share"
    manual = sorted((share / "man" / "man1").glob("broadleaf*"))
    listed = installed.broadleaf("--help", cwd=tmp_path).partition("Commands:\n")[2]
    commands = re.findall(r"^  ([a-z]+) ", listed, re.M)
    assert len(commands) > 10
    assert {page.name for page in manual} == {
        "broadleaf.1",
        *(f"broadleaf-{command}.1" for command in commands),
    }
    if shutil.which("groff"):
        for page in manual:
            checked = subprocess.run(
                ["groff", "-k", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True
            )
            assert checked.stderr == b"", page
    script = share / "bash-completion" / "completions" / "broadleaf"
    words = "COMP_WORDS=(broadleaf mea); COMP_CWORD=1; _broadleaf_completion broadleaf; echo ${COMPREPLY[*]}"
    environment = {"PATH": f"{installed.python.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"source {script}; {words}"], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "measure\n", done.stderr
