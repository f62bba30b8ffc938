"""The how-to pages' pictures of a terminal: a page's commands, and what they print here.

`make docs` runs them again. Where one cannot run, for lack of a compiler, its picture stays as it is.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
from html import escape
from pathlib import Path
from typing import NamedTuple

import broadleaf as bl
from broadleaf.errors import visible
from broadleaf.mpi import find_mpi

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "howto"
TIMEOUT_S = 120
# The width of a terminal's line, characters, and the size of one, pixels: a monospaced letter is 0.6 em wide.
COLUMNS, LETTER, LINE, MARGIN = 100, 7.8, 18, 14
# What names this machine in the output, and what the picture has instead.
HOST, CLONE = "n01", "~/broadleaf"
STYLE = """
.back { fill: #1e1e1e; } text { font: 13px monospace; fill: #d8d8d8; white-space: pre; }
.typed { fill: #8fd6a5; font-weight: bold; }
"""

MODEL_BYTES = 64 << 20
FORTRAN = """
program broadcasts
  use mpi_f08
  real(8) :: model(8000000)
  integer :: call
  model = 1
  call MPI_Init()
  do call = 1, 3
    call MPI_Bcast(model, size(model), MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  end do
  call MPI_Finalize()
end program
"""

COUNTS = (
    "python -c \"import json; s = json.load(open('stats.json')); print(s['planned'], s['passed_through'])\""
)


class Session(NamedTuple):
    """Commands typed one after the other, and the programs without which they cannot run."""

    typed: tuple[str, ...]
    needs: tuple[str, ...] = ()


SESSIONS = {
    "launchers-terminal": Session(
        ("broadleaf doctor --platform net.json -- mpiexec -n 2 ./program",), ("mpicc",)
    ),
    "mpi4py-terminal": Session(
        (
            "broadleaf run -n 8 --platform net.json --stats stats.json -- "
            "python examples/bcast_model.py 67108864 3",
        )
    ),
    "profilers-terminal": Session(
        ("LD_PRELOAD=./libtool.so broadleaf run -n 8 --platform net.json --stats stats.json -- ./program",),
        ("mpicc",),
    ),
    "push-terminal": Session(
        ("broadleaf push model.safetensors --to copies/model-{rank}.safetensors -n 8 --platform net.json",)
    ),
    "fortran-terminal": Session(
        (
            "mpifort -o program program.f90",
            "broadleaf run -n 8 --platform net.json --stats stats.json -- ./program",
            COUNTS,
        ),
        ("mpifort", "gfortran"),
    ),
    "containers-terminal": Session(
        (
            "mpiexec -n 8 --oversubscribe --bind-to none env BROADLEAF_PLATFORM=$PWD/net.json "
            "BROADLEAF_STATS=$PWD/stats.json LD_PRELOAD=$PWD/runtime/libbroadleaf_mpi_ompi.so ./program",
            COUNTS,
        ),
        ("mpicc",),
    ),
}


def furnish(folder: Path, path: str) -> None:
    """What the pages take for granted: a platform with eight nodes on this host, programs, a tool."""
    names = [f"n{number}" for number in range(8)]
    document = {
        "format": "broadleaf-platform/1",
        "name": "one-host",
        "port_model": "one-port",
        "nodes": [{"id": name, "host": socket.gethostname()} for name in names],
        "meshes": [{"nodes": names, "link": {"latency_s": 1e-6, "bandwidth_bytes_per_s": 4e9}}],
    }
    bl.Platform.from_dict(document).save(folder / "net.json")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "program.f90").write_text(FORTRAN)
    (folder / "model.safetensors").write_bytes(os.urandom(MODEL_BYTES))
    (folder / "copies").mkdir()
    (folder / "runtime").symlink_to(Path(bl.__file__).parent / "mpi" / "lib")
    programs = ROOT / "tests" / "mpi"
    if compiler := shutil.which("mpicc", path=path):
        subprocess.run(
            [compiler, "-O2", ROOT / "examples" / "bcast_model.c", "-o", folder / "program"], check=True
        )
        tool = programs / "tools" / "counter.c"
        subprocess.run([compiler, "-shared", "-fPIC", tool, "-o", folder / "libtool.so"], check=True)


def run(session: Session, environment: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Each command and the lines that it printed; raises CalledProcessError where one fails."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        furnish(Path(folder), environment["PATH"])
        for typed in session.typed:
            done = subprocess.run(
                ["bash", "-c", typed],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TIMEOUT_S,
                check=True,
            )
            said = done.stdout.replace(folder, CLONE).replace(str(ROOT), CLONE)
            found.append((typed, said.replace(socket.gethostname(), HOST).splitlines()))
    return found


def drawn(commands: list[tuple[str, list[str]]]) -> str:
    """The terminal as an SVG, dark on light and dark pages alike."""
    lines: list[tuple[str, str]] = []
    for typed, printed in commands:
        lines += [(line, "typed") for line in wrapped(f"$ {typed}")]
        lines += [(part, "printed") for line in printed for part in wrapped(line)]
    width = round(2 * MARGIN + COLUMNS * LETTER)
    height = 2 * MARGIN + LINE * len(lines)
    texts = [
        f'<text class="{kind}" x="{MARGIN}" y="{MARGIN + LINE * at + 13}">{escape(visible(line))}</text>'
        for at, (line, kind) in enumerate(lines)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="what">',
            f'<title id="what">{escape(commands[0][0])}</title>',
            f"<style>{STYLE}</style>",
            f'<rect class="back" width="{width}" height="{height}" rx="6"/>',
            *texts,
            "</svg>\n",
        ]
    )


def wrapped(line: str) -> list[str]:
    """The line as a terminal of COLUMNS shows it, but broken between words."""
    return textwrap.wrap(line, COLUMNS, subsequent_indent="    ", drop_whitespace=True) or [""]


def main() -> None:
    binaries = find_mpi("openmpi").mpiexec.parent
    path = os.pathsep.join([str(Path(sys.executable).parent), str(binaries), os.environ["PATH"]])
    environment = {
        **os.environ,
        "PATH": path,
        "COLUMNS": str(COLUMNS),
        # As in the tests: a build may run as root, in a container.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    for name, session in SESSIONS.items():
        missing = [program for program in session.needs if shutil.which(program, path=path) is None]
        if missing:
            print(f"docs: no {missing[0]}, so howto/{name}.svg stays as it is", file=sys.stderr)
            continue
        (FOLDER / f"{name}.svg").write_text(drawn(run(session, environment)))


if __name__ == "__main__":
    main()
