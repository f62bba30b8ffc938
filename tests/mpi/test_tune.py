"""Rules files under the real MPIs: the MPI uses the algorithms in them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import broadleaf as bl
from broadleaf.mpi import Mpi, find_mpi, launch_command
from broadleaf.mpi.rules import rules_file, settings

if TYPE_CHECKING:
    from conftest import Bench

PROGRAMS = Path(__file__).resolve().parent / "programs"
TESTBEDS = Path(__file__).resolve().parents[2] / "testbeds"
BYTES = 1 << 20
TIMEOUT_S = 240


def cluster(startup_s: float, latency_s: float) -> bl.Platform:
    nodes = [f"n{at}" for at in range(4)]
    link = {"latency_s": latency_s, "startup_s": startup_s, "bandwidth_bytes_per_s": 1e9}
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "cluster",
            "port_model": "one-port",
            "nodes": [{"id": node} for node in nodes],
            "meshes": [{"nodes": nodes, "link": link}],
        }
    )


def run(mpi: Mpi, program: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv, environment = launch_command(mpi, 4, program, variables=variables)
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)


def broadcast_s(bench: Bench, variables: dict[str, str]) -> float:
    """The quickest of a few broadcasts of a mebibyte, every byte compared: a busy machine only adds."""
    done = run(bench.mpi, [bench.compile("bcast", TESTBEDS), str(BYTES), "3"], variables)
    assert done.returncode == 0, done.stderr
    seconds = re.findall(r"seconds=([0-9.]+) wrong_bytes=0$", done.stdout, re.MULTILINE)
    assert len(seconds) == 3, done.stdout
    return min(map(float, seconds))


def write_rules(bench: Bench, path: Path, **changes: str) -> dict[str, str]:
    """The rules for a cluster, some of their words changed, and the settings that make the MPI read them."""
    choices = [
        choice
        for collective in ("bcast", "scatter")
        for choice in bl.tune(cluster(1e-6, 1e-5), [2, 4], [1, 4096, BYTES], collective=collective)
    ]
    text = rules_file(choices, bench.mpi.flavour).text
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return settings(bench.mpi.flavour, str(path))


def test_rules_are_read_and_every_byte_arrives(bench: Bench, tmp_path: Path) -> None:
    variables = write_rules(bench, tmp_path / "rules")
    assert broadcast_s(bench, variables) > 0
    done = run(bench.mpi, [bench.compile("scatter")], variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ok")


def slow_rules(bench: Bench, path: Path) -> dict[str, str]:
    """The file with its rule for long broadcasts made a bad one: a chain in tiny segments."""
    variables = write_rules(bench, path)
    text = path.read_text()
    if bench.mpi.flavour == "openmpi":
        text = re.sub(r"^(\d+) 3 0 \d+ # segmented-chain.*$", r"\1 3 0 16", text, flags=re.MULTILINE)
    else:
        text = re.sub(r'"chunk_size=\d+"', '"chunk_size=64"', text)
    assert text != path.read_text()
    path.write_text(text)
    return variables


def test_a_rule_made_wrong_is_obeyed_too(bench: Bench, tmp_path: Path) -> None:
    """Tens of thousands of tiny segments instead of a good size: many times slower, so the file decides."""
    good_s = broadcast_s(bench, write_rules(bench, tmp_path / "good"))
    bad_s = broadcast_s(bench, slow_rules(bench, tmp_path / "bad"))
    assert bad_s > 5 * good_s


def test_a_scatters_rule_that_names_no_algorithm_ends_the_scatter(bench: Bench, tmp_path: Path) -> None:
    """So the rule is what decides: in Open MPI's scatter itself, in MPICH when it reads the file."""
    path = tmp_path / "rules"
    variables = write_rules(bench, path)
    if bench.mpi.flavour == "openmpi":
        changed = re.sub(r"^0 [12] 0 0 # (flat|binomial)$", "0 9 0 0", path.read_text(), flags=re.MULTILINE)
    else:
        changed = path.read_text().replace("MPIR_Scatter_intra_binomial", "MPIR_Scatter_intra_none")
    assert changed != path.read_text()
    path.write_text(changed)
    done = run(bench.mpi, [bench.compile("scatter")], variables)
    assert done.returncode != 0
    assert "ok" not in done.stdout


def test_open_mpi_goes_wrong_on_scatters_chosen_by_size(tmp_path: Path) -> None:
    """Why scatter has one rule for all sizes: a count is significant at the root only."""
    mpi = find_mpi("openmpi")
    rules, program = tmp_path / "by-size", tmp_path / "scatter"
    rules.write_text("1\n15\n1\n2\n2\n0 1 0 0\n5000 2 0 0\n")
    assert mpi.mpicc is not None
    subprocess.run([mpi.mpicc, PROGRAMS / "scatter.c", "-o", program], check=True)
    argv, environment = launch_command(mpi, 4, [str(program)], variables=settings("openmpi", str(rules)))
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        try:
            out, _ = job.communicate(timeout=4)
            went_wrong = job.returncode != 0 or not out.startswith(b"ok")
        except subprocess.TimeoutExpired:
            went_wrong = True
        finally:
            job.terminate()
    assert went_wrong
