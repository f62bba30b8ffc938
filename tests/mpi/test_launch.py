"""Finding an MPI and the command that starts a program under it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi import Host, HostsFileError, MpiNotFoundError, find_mpi, launch_command, read_hosts

if TYPE_CHECKING:
    from conftest import Bench

# One write a line: output that several ranks write in pieces would be mixed.
SHOW = """
import os, sys
variables = (name + "=" + os.environ.get(name, "") for name in sys.argv[1:])
os.write(1, ("|".join(variables) + "\\n").encode())
"""


def test_variables_reach_every_rank_and_not_the_launcher(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    odd = "a b;c,d=e:f"
    program = [sys.executable, "-c", SHOW, "BROADLEAF_NOTE", "LD_PRELOAD"]
    argv, environment = launch_command(
        bench.mpi, 3, program, variables={"BROADLEAF_NOTE": odd}, preload=bench.mpi.runtime
    )
    assert "LD_PRELOAD" not in environment
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)
    line = f"BROADLEAF_NOTE={odd}|LD_PRELOAD={bench.mpi.runtime}"
    assert done.stdout.splitlines() == [line] * 3, done.stderr


def test_hosts_are_given_in_each_mpis_way(bench: Bench) -> None:
    argv, _ = launch_command(bench.mpi, 3, ["true"], hosts=[Host("localhost", 2), Host("far.example", 1)])
    assert "localhost:2,far.example:1" in argv
    argv, environment = launch_command(bench.mpi, 2, ["hostname"], hosts=[Host("localhost", 2)])
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)
    assert len(done.stdout.splitlines()) == 2, done.stderr


def test_the_mpis_own_library_is_found_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/users/own")
    # As Fedora has it, in a folder that only this MPI is in.
    for folder, expected in (
        ("/usr/lib64/openmpi/lib", "/usr/lib64/openmpi/lib:/users/own"),
        ("/usr/lib", "/users/own"),
    ):
        mpi = replace(bench.mpi, library_dir=Path(folder))
        assert launch_command(mpi, 1, ["true"])[1]["LD_LIBRARY_PATH"] == expected


def test_what_the_user_has_set_wins(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    many = 4 * (os.cpu_count() or 1)
    _, environment = launch_command(bench.mpi, many, ["true"])
    tuned = {"openmpi": "OMPI_MCA_mpi_yield_when_idle", "mpich": "MPIR_CVAR_CH4_PROGRESS_THROTTLE"}
    name = tuned[bench.mpi.flavour]
    assert environment[name] == "1"
    monkeypatch.setenv(name, "0")
    assert launch_command(bench.mpi, many, ["true"])[1][name] == "0"


def test_a_missing_mpiexec_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BROADLEAF_MPIEXEC", str(tmp_path / "mpiexec"))
    with pytest.raises(
        MpiNotFoundError, match=r"mpiexec is no mpiexec of Open MPI or MPICH; pip install"
    ) as told:
        find_mpi()
    assert "\n" not in str(told.value)
    impostor = tmp_path / "mpiexec"
    impostor.write_text("#!/bin/sh\necho something else\n")
    impostor.chmod(0o755)
    with pytest.raises(MpiNotFoundError, match="is no mpiexec"):
        find_mpi()


def test_the_other_mpis_launcher_is_refused(bench: Bench) -> None:
    other = "mpich" if bench.mpi.flavour == "openmpi" else "openmpi"
    with pytest.raises(MpiNotFoundError, match=f"belongs to {bench.mpi.flavour}, not to {other}"):
        find_mpi(other, bench.mpi.mpiexec)


def test_host_files_are_read_as_both_mpis_write_them(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# ours\nn1 slots=4\n\nn2:2   # borrowed\nn3.example.org\nn1:1\n")
    assert read_hosts(file) == [Host("n1", 5), Host("n2", 2), Host("n3.example.org", 1)]


@pytest.mark.parametrize("text", ["n1 slots=four\n", "n1:0\n", "n1 n2\n", "", "# nobody\n"])
def test_bad_host_files_name_the_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "hosts"
    file.write_text(text)
    with pytest.raises(HostsFileError, match=re.escape(str(file))) as told:
        read_hosts(file)
    assert "\n" not in str(told.value)
    with pytest.raises(HostsFileError, match="cannot read"):
        read_hosts(tmp_path / "none")
