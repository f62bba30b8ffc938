"""The steps of `make demo`: measure, plan, run and compare, with the installed `broadleaf` command.

Each step is a command that a user could type; it is shown before it runs. The last line has the number of
planned broadcasts (from the MPI runtime's statistics) and of compared bytes (from the programs' output).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from broadleaf.mpi import MpiNotFoundError, find_mpi

ROOT = Path(__file__).resolve().parent.parent
RANKS = 8
SIZE_BYTES = 64 << 20
ROUNDS = 2
VERIFIED = re.compile(r"(\d+) broadcasts, (\d+) bytes verified")


class DemoError(Exception):
    """A step did not have its expected result."""


def main() -> int:
    begin = time.monotonic()
    (ROOT / "demo").mkdir(exist_ok=True)
    try:
        planned, verified = demo()
    except (DemoError, MpiNotFoundError) as error:
        print(f"demo: FAILED: {error}", file=sys.stderr)
        return 1
    print(f"demo took {time.monotonic() - begin:.0f} s")
    print(f"demo: ok, {planned} broadcasts planned, {verified} bytes verified")
    return 0


def demo() -> tuple[int, int]:
    """All steps; the number of broadcasts planned and of bytes compared."""
    # All steps under the MPI that builds the C program, whatever else is installed.
    mpi = find_mpi(compiling=True)
    os.environ["BROADLEAF_MPIEXEC"] = str(mpi.mpiexec)
    heading(f"Measure the network between {RANKS} local ranks")
    broadleaf("measure", "-n", str(RANKS), "-o", "demo/net.json")
    root = json.loads((ROOT / "demo/net.json").read_text())["nodes"][0]["id"]

    heading("Plan a broadcast of 64 MiB on it")
    broadleaf("plan", "demo/net.json", "--root", root, "--size", "64MiB", "-o", "demo/net-plan.json")

    heading("Run an unmodified C program with its broadcasts planned, every byte compared")
    run([str(mpi.compiler), "-O2", "examples/bcast_model.c", "-o", "demo/bcast_model"])
    arguments = [str(SIZE_BYTES), str(ROUNDS)]
    in_c = planned_run("c", ["demo/bcast_model", *arguments])

    heading("The same with an unmodified mpi4py program")
    in_python = planned_run("python", [sys.executable, "examples/bcast_model.py", *arguments])

    heading("Plan 64 MiB on the 88 nodes of Grid'5000: every planner beside the bound")
    grid = "platforms/grid5000-88.json"
    first = json.loads((ROOT / grid).read_text())["nodes"][0]["id"]
    broadleaf(
        *("plan", grid, "--root", first, "--size", "64MiB", "-o", "demo/grid5000-88-plan.json"),
        *("--figure", "demo/grid5000-88.png"),
    )
    broadleaf("check", grid, "demo/grid5000-88-plan.json")
    broadleaf("draw", grid, "demo/grid5000-88-plan.json", "-o", "demo/grid5000-88-tree.png")
    for figure in ("demo/grid5000-88.png", "demo/grid5000-88-tree.png"):
        if not (ROOT / figure).read_bytes().startswith(b"\x89PNG"):
            raise DemoError(f"{figure} is not a PNG")
    return in_c[0] + in_python[0], in_c[1] + in_python[1]


def planned_run(name: str, program: list[str]) -> tuple[int, int]:
    """Runs a program under `broadleaf run`; the number of planned broadcasts and of compared bytes."""
    stats_file = ROOT / f"demo/stats-{name}.json"
    output = broadleaf(
        *(
            "run",
            "-n",
            str(RANKS),
            "--platform",
            "demo/net.json",
            "--stats",
            str(stats_file.relative_to(ROOT)),
        ),
        *("--", *program),
    )
    found = VERIFIED.search(output)
    if found is None:
        raise DemoError(f"{program[0]} did not say what it verified")
    broadcasts, verified = int(found[1]), int(found[2])
    if verified != ROUNDS * SIZE_BYTES * (RANKS - 1):
        raise DemoError(f"{program[0]} compared {verified} bytes, not all of them")
    planned = int(json.loads(stats_file.read_text())["planned"])
    if planned < broadcasts:
        raise DemoError(
            f"{planned} of {broadcasts} broadcasts of {program[0]} were planned; see {stats_file}"
        )
    return planned, verified


def broadleaf(*arguments: str) -> str:
    return run([str(Path(sys.executable).with_name("broadleaf")), *arguments])


def run(command: list[str]) -> str:
    """Shows and runs a command in the checkout, shows its output, and returns it."""
    shown = [Path(command[0]).name, *command[1:]]
    print("$", shlex.join(shown), flush=True)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        raise DemoError(f"{shown[0]} ended with exit code {done.returncode}")
    return done.stdout


def heading(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
