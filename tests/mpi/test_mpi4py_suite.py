"""mpi4py's own tests, all files: without plans, with planned broadcasts, with all collectives planned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broadleaf.mpi import launch_command

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.skipif(
    not os.environ.get("BROADLEAF_SOAK"), reason="mpi4py's tests take minutes; run by make soak"
)
RANKS = 3
# A file takes seconds, where ranks share cores at most a minute or two.
LIMIT_S = 300
# By BROADLEAF_COLLECTIVES: how many are planned with each MPI at least, far fewer than the tests make.
LEAST_PLANNED = {"": 300, "all": 1000}
# Of 64 files in 4.1.2; with more ranks than cores an MPI takes minutes over windows and files.
LEAST_COMPARED = 50


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The tests that belong to the installed version."""
    folder = tmp_path_factory.mktemp("mpi4py")
    wanted = [f"mpi4py=={version('mpi4py')}", "--no-deps", "--no-binary=mpi4py", "--quiet", "--dest", folder]
    done = subprocess.run([sys.executable, "-m", "pip", "download", *wanted], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mpi4py's source cannot be downloaded: {done.stderr.strip().splitlines()[-1]}")
    (archive,) = folder.glob("mpi4py-*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(folder, filter="data")
    return sorted(folder.glob("mpi4py-*/test/test_*.py"))


@pytest.fixture
def settings(host: str, tmp_path: Path) -> dict[str, str]:
    """Each rank is a node, and broadcasts of any length are messages along the planner's tree."""
    names = [f"n{rank}" for rank in range(RANKS)]
    document = {
        "format": "broadleaf-platform/1",
        "name": "one machine",
        "port_model": "one-port",
        "nodes": [{"id": name, "host": host} for name in names],
        "meshes": [{"nodes": names, "link": {"latency_s": 1e-6, "bandwidth_bytes_per_s": 4e9}}],
    }
    (tmp_path / "net.json").write_text(json.dumps(document))
    return {
        "BROADLEAF_PLATFORM": str(tmp_path / "net.json"),
        "BROADLEAF_PLANNER": "chain",
        "BROADLEAF_MIN_BYTES": "0",
        "BROADLEAF_STATS": str(tmp_path / "stats.json"),
    }


def ended(bench: Bench, file: Path, results: Path, settings: dict[str, str]) -> tuple[Any, int]:
    """How a file's tests ended, on each rank, and how many broadcasts were planned."""
    results.mkdir()
    Path(settings.get("BROADLEAF_STATS", results / "none")).unlink(missing_ok=True)
    script = Path(__file__).parent / "programs" / "mpi4py_suite.py"
    program = [sys.executable, str(script), str(file.parent), str(results), file.stem]
    preload = bench.runtime if settings else None
    argv, environment = launch_command(bench.mpi, RANKS, program, variables=settings, preload=preload)
    bounded = ["timeout", "--kill-after=10", str(LIMIT_S), *argv]
    done = bench.launched(bounded, environment)
    counts = [json.loads(path.read_text()) for path in sorted(results.iterdir())]
    stats = Path(settings["BROADLEAF_STATS"]) if settings else None
    planned = json.loads(stats.read_text())["planned"] if stats and stats.exists() else 0
    return (done.returncode, counts), planned


def test_they_end_as_without(
    bench: Bench, files: list[Path], settings: dict[str, str], tmp_path: Path
) -> None:
    differing: dict[str, Any] = {}
    total = dict.fromkeys(LEAST_PLANNED, 0)
    compared = 0
    for file in files:
        plain, _ = ended(bench, file, tmp_path / f"{file.stem}-plain", {})
        # Where the MPI alone does not get to the end in time, there is nothing to compare with.
        if plain[0] != 0:
            print(f"{file.stem}: not compared, exit code {plain[0]} without Broadleaf")
            continue
        compared += 1
        for listed in LEAST_PLANNED:
            chosen = {**settings, "BROADLEAF_COLLECTIVES": listed}
            ours, planned = ended(bench, file, tmp_path / f"{file.stem}-planned-{listed}", chosen)
            total[listed] += planned
            if ours != plain:
                differing[f"{file.stem}, collectives {listed!r}"] = (plain, ours)
    print(f"{compared} of {len(files)} files compared, planned: {total}")
    assert differing == {}
    assert compared >= LEAST_COMPARED
    assert all(total[listed] > least for listed, least in LEAST_PLANNED.items())
