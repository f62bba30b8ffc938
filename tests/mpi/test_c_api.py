"""broadleaf.h: programs that call our collectives by name, linked with the runtime or with it preloaded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi import launch_command

if TYPE_CHECKING:
    from conftest import Bench

PROGRAMS = Path(__file__).resolve().parent / "programs"


def linked(bench: Bench, name: str = "collectives") -> str:
    """The program, linked with the runtime, which the installed package has beside its header."""
    program = bench.folder / name
    runtime = bench.mpi.runtime
    assert runtime is not None
    assert bench.mpi.mpicc is not None
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{runtime.parent}"]
    link = [str(runtime), f"-Wl,-rpath,{runtime.parent}"]
    if not program.exists():
        command = [bench.mpi.mpicc, str(PROGRAMS / f"{name}.c"), *flags, *link, "-o", str(program)]
        subprocess.run(command, check=True)
    return str(program)


def run(
    bench: Bench, ranks: int, *arguments: str, program: str = "collectives", **settings: str
) -> subprocess.CompletedProcess[str]:
    variables = {f"BROADLEAF_{name.upper()}": value for name, value in settings.items()}
    argv, environment = launch_command(
        bench.mpi, ranks, [linked(bench, program), *arguments], variables=variables
    )
    return bench.launched(argv, environment)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_every_byte_is_where_mpi_would_put_it(bench: Bench, ranks: int) -> None:
    done = run(bench, ranks, "60000", min_bytes="1KiB")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ok\n"
    assert done.stderr == ""


@pytest.mark.parametrize("planner", ["ring", "round-robin", "recursive-doubling", "binomial"])
def test_the_planner_asked_for(bench: Bench, planner: str) -> None:
    done = run(bench, 4, "30000", min_bytes="1KiB", planner=planner)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.parametrize(
    "planner", ["best", "flat", "chain", "binomial", "ring", "recursive-doubling", "round-robin"]
)
def test_a_rank_without_memory_takes_part(bench: Bench, planner: str) -> None:
    settings = {"min_bytes": "1KiB", "planner": planner, "collectives": "all"}
    done = run(bench, 5, program="starved_collectives", **settings)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.parametrize(
    ("ranks", "planner"),
    [
        (1, "round-robin"),
        (2, "round-robin"),
        (2, "circulant"),
        (2, "two-tree"),
        (5, "round-robin"),
        (5, "van-de-geijn"),
    ],
)
def test_few_ranks_and_less_than_a_byte_for_each(bench: Bench, ranks: int, planner: str) -> None:
    """Messages of one to three bytes: where one planner refuses, another plans, and every byte is right."""
    done = run(bench, ranks, "3", min_bytes="1", planner=planner)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_several_ranks_a_node(bench: Bench, tmp_path: Path, host: str) -> None:
    """Seven ranks on the three nodes of this host: the all-gather goes around the nodes."""
    nodes = [{"id": f"n{at}", "host": host} for at in range(3)]
    link = {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}
    meshes = [{"nodes": ["n0", "n1", "n2"], "link": link}]
    document = {"format": "broadleaf-platform/1", "name": "three", "port_model": "one-port"}
    platform = tmp_path / "three.json"
    platform.write_text(json.dumps({**document, "nodes": nodes, "meshes": meshes}))
    done = run(bench, 7, "20000", min_bytes="1KiB", platform=str(platform))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_settings_that_cannot_be_used_are_told_once(bench: Bench) -> None:
    done = run(bench, 3, "20000", min_bytes="1KiB", platform="none.json")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    # For MPI_Bcast's plans and for the others'.
    assert 1 <= done.stderr.count("\n") <= 2, done.stderr
    assert all("none.json" in line for line in done.stderr.splitlines())
