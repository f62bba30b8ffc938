"""`broadleaf run` on several hosts, one of which lacks the runtime: it looks first, and starts nothing there.

Hosts are mount namespaces of this machine; a stand-in for ssh enters a new one and hides the folder of the
runtime where the host's name says so.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broadleaf.mpi import Host, Launcher, Start
from broadleaf.mpi.presence import PresenceError, is_remote, refuse_without_runtime

if TYPE_CHECKING:
    from conftest import Bench


def run(bench: Bench, folder: Path, hosts: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "hosts").write_text("".join(f"{name} slots=2\n" for name in hosts))
    command = [sys.executable, "-m", "broadleaf", "run", "-n", "2", "--hosts", "hosts", *options]
    # On a busy machine Open MPI's mpiexec may die of SIGPIPE if ranks end at once: in 2 of 45 runs.
    command += ["--mpiexec", str(bench.mpi.mpiexec), "--", "/bin/sh", "-c", "sleep 0.3; echo started"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_hosts_that_lack_the_runtime_are_named(bench: Bench, agent: Path) -> None:
    done = run(bench, agent, ["localhost", "whole", "bare1", "bare2"])
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    remedy = "install Broadleaf there at the same path"
    assert done.stderr == f"broadleaf: bare1, bare2: cannot load {bench.mpi.runtime}; {remedy}\n"
    # One process a host, and none of the program's.
    assert sorted((agent / "started").read_text().split()) == ["bare1", "bare2", "whole"]


def test_hosts_that_have_it_are_started_on(bench: Bench, agent: Path) -> None:
    done = run(bench, agent, ["whole", "whole2"])
    assert (done.returncode, done.stdout) == (0, "started\nstarted\n"), done.stderr
    assert not (agent / "started").read_text().count("bare")


def test_a_host_that_is_down_is_one_line(bench: Bench, agent: Path) -> None:
    done = run(bench, agent, ["localhost", "down"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"broadleaf: {bench.mpi.mpiexec} cannot start on every host: ")
    assert done.stderr.count("\n") == 1, done.stderr


def test_looking_can_be_asked_for_and_left_out(bench: Bench, agent: Path) -> None:
    unseen = run(bench, agent, ["bare"], "--no-check-hosts")
    assert unseen.stdout.splitlines() == ["started"] * 2, unseen.stderr
    here = run(bench, agent, ["localhost"], "--check-hosts")
    assert (here.returncode, here.stdout) == (0, "started\nstarted\n"), here.stderr
    bare = Start(bench.mpi, Launcher(bench.mpi.mpiexec, bench.mpi.dialect), Path("/no/such/library.so"))
    with pytest.raises(PresenceError, match=r"cannot load /no/such/library\.so"):
        refuse_without_runtime(bare, [Host("localhost", 1)])


def test_this_machine_alone_is_not_looked_at(host: str) -> None:
    assert not is_remote([Host(host, 2), Host("localhost", 1), Host("127.0.0.1", 1)])
    assert is_remote([Host(host, 2), Host("elsewhere", 1)])
