"""Under srun: ranks of two nodes learn of each other through Slurm's PMIx and PMI-1 servers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from broadleaf.mpi import find_mpi

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests/mpi/programs"
RUN = ROOT / "testbeds/slurm/run.py"
needs_slurm = pytest.mark.skipif(
    "SLURM_CONF" not in os.environ, reason="needs the nodes of testbeds/slurm/run.py; run by make soak"
)

# MPICH would use a faster path between two nodes of one machine, and polls without pause.
SETTINGS = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "mpich": {
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": "bed0",
        "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    },
}
SERVER = {"openmpi": "pmix", "mpich": "pmi2"}
# In the ranks only, and like ld.so on a host that lacks the file, except for its warning.
PRELOAD = """
case " $TEST_ABSENT " in *" $SLURM_PROCID "*) ;; *) export LD_PRELOAD=$TEST_LIBRARY;; esac
exec "$@"
"""
TIMEOUT_S = 120.0


@dataclass
class Job:
    seconds: float
    reports: list[str]
    stats: dict[str, Any] | None


@pytest.fixture(scope="module", params=SERVER)
def flavour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(flavour: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp(flavour) / "partly"
    compiler = find_mpi("mpich" if flavour == "mpich" else "openmpi").compiler
    subprocess.run([compiler, "-O1", PROGRAMS / "partly.c", "-o", program], check=True)
    return program


def srun(flavour: str, program: Path, ranks: int, absent: list[int]) -> Job:
    """Runs the program, which finds every byte right, on both nodes."""
    stats = program.with_name("stats.json")
    stats.unlink(missing_ok=True)
    environment = {
        **os.environ,
        **SETTINGS[flavour],
        "TEST_ABSENT": " ".join(map(str, absent)),
        "TEST_LIBRARY": str(find_mpi("mpich" if flavour == "mpich" else "openmpi").runtime),
        "BROADLEAF_MIN_BYTES": "64KiB",
        "BROADLEAF_STATS": str(stats),
    }
    command = ["srun", f"--mpi={SERVER[flavour]}", "-N2", f"-n{ranks}", "--overcommit", "--kill-on-bad-exit"]
    begin = time.monotonic()
    done = subprocess.run(
        [*command, "sh", "-c", PRELOAD, "sh", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    seconds = time.monotonic() - begin
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ok\n", done.stderr
    reports = [line for line in done.stderr.splitlines() if line.startswith("broadleaf: ")]
    return Job(seconds, reports, json.loads(stats.read_text()) if stats.exists() else None)


@needs_slurm
@pytest.mark.parametrize("ranks", [2, 4, 11])
def test_all_ranks_with_the_library(flavour: str, program: Path, ranks: int) -> None:
    job = srun(flavour, program, ranks, [])
    assert job.reports == []
    assert job.stats is not None
    assert job.stats["planned"] == 3


@needs_slurm
# On a rank's own node or on the other, below rank 0 in the tree of ranks or below another.
@pytest.mark.parametrize(
    ("ranks", "absent"), [(4, [0]), (4, [1]), (4, [2]), (4, [0, 1, 2]), (11, [10])], ids=str
)
def test_some_ranks_without_the_library(flavour: str, program: Path, ranks: int, absent: list[int]) -> None:
    job = srun(flavour, program, ranks, absent)
    assert len(job.reports) == 1, job.reports
    assert f"rank {absent[0]} of MPI_COMM_WORLD runs without the library" in job.reports[0]
    # 10 s for a missing rank, 1 s a level of the tree, and the job.
    assert job.seconds < 40
    if 0 in absent:
        assert job.stats is None
        return
    assert job.stats is not None
    assert job.stats["planned"] == 0
    assert set(job.stats["passed_through"]) == {"not-on-all-ranks"}


@needs_slurm
def test_the_how_to_s_script(flavour: str, program: Path, tmp_path: Path) -> None:
    """The page's own job script, with this bed's nodes and MPI: measure, run, compare, doctor, env."""
    mpi = find_mpi("mpich" if flavour == "mpich" else "openmpi")
    model = tmp_path / "program"
    subprocess.run([mpi.compiler, "-O2", ROOT / "examples/bcast_model.c", "-o", model], check=True)
    blocks = re.findall(r"^```shell\n(.*?)^```", (ROOT / "docs/howto/slurm.md").read_text(), re.M | re.S)
    page = "".join(blocks)
    (tmp_path / "topology.conf").write_text("SwitchName=s0 Nodes=n[0-1]\n")
    changes = {
        "--nodes=8 --ntasks-per-node=1": "--nodes=2 --ntasks=2",
        "source /path/to/broadleaf/.venv/bin/activate": f"set -e; PATH={Path(sys.executable).parent}:$PATH",
        "/etc/slurm/topology.conf -o net.json": f"topology.conf --mpi {flavour} --time 3 -o whole.json",
        "--mpi openmpi -o net.json": f"--mpi {flavour} --time 3 -o net.json",
        "--mpi openmpi --platform": f"--mpi {flavour} --platform",
        "--mpi=pmix": f"--mpi={SERVER[flavour]}",
        "./program": "./program 1000003 12",
    }
    for old, new in changes.items():
        assert old in page
        page = page.replace(old, new)
    (tmp_path / "job").write_text(page)
    environment = {**os.environ, **SETTINGS[flavour], "BROADLEAF_MIN_BYTES": "64KiB"}
    command = ["sbatch", "--wait", "--output=out", "--error=err", "job"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=2 * TIMEOUT_S
    )
    out, err = ((tmp_path / name).read_text() for name in ("out", "err"))
    assert done.returncode == 0, done.stderr + out + err
    hosts = {node["host"] for node in json.loads((tmp_path / "net.json").read_text())["nodes"]}
    assert hosts == {"n0", "n1"}
    whole = json.loads((tmp_path / "whole.json").read_text())
    assert whole["provenance"]["map"] == {"name": "topology", "measured_hosts": 2, "uneven": []}
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert (stats["ranks"], stats["planned"]) == (2, 12)
    # Twice by run, once by srun; doctor sends the program's output to standard error.
    assert out.count("12 broadcasts, ") == 3
    assert err.count("12 broadcasts, ") == 1
    assert "nothing stands in the way" in out
    assert re.search(r"faster|slower", err), err


@pytest.mark.parametrize(("option", "code", "word"), [((), 2, "unavailable"), (("--or-skip",), 0, "skipped")])
def test_where_slurm_cannot_be_had_one_line_says_so(
    option: tuple[str, ...], code: int, word: str, tmp_path: Path
) -> None:
    # Without the program that makes namespaces.
    command = [sys.executable, str(RUN), *option, "--", "true"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == f"slurm: {word}: it needs root and mount namespaces\n"


@needs_slurm
@pytest.mark.parametrize("server", ["by flavour", "none"])
def test_every_task_runs_the_push(flavour: str, server: str, tmp_path: Path) -> None:
    """`srun broadleaf push dataset --to PATH`, with ranks that find each other and with others."""
    dataset = tmp_path / "dataset"
    dataset.mkdir()
    (dataset / "file").write_bytes(os.urandom(9 << 20))
    how = SERVER[flavour] if server == "by flavour" else server
    command = [
        "srun",
        f"--mpi={how}",
        "-N2",
        "-n2",
        "--overcommit",
        sys.executable,
        "-m",
        "broadleaf",
        "push",
    ]
    done = subprocess.run(
        [*command, str(dataset), "--to", f"{tmp_path}/{{host}}", "--mpi", flavour, "--json"],
        env={**os.environ, **SETTINGS[flavour]},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    assert [host["host"] for host in json.loads(done.stdout)["hosts"]] == ["n0", "n1"]
    for node in ("n0", "n1"):
        assert (tmp_path / node / "file").read_bytes() == (dataset / "file").read_bytes()
