#!/usr/bin/env python3
"""Runs a command in a Slurm of two nodes, n0 and n1, on this machine. Needs root.

    python testbeds/slurm/run.py [--or-skip] -- srun --mpi=pmix -N2 -n4 --overcommit hostname

The daemons and the command have their own mount, process and network namespaces, isolated from outside, and
end together. Where Slurm is not installed, Debian's packages are laid over the system in memory, for these
processes only. --or-skip: without either, print one line and exit without an error.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from overlay import UnavailableError, folder_in_memory, in_namespaces, install, run

PROGRAMS = ["slurmctld", "slurmd", "srun", "sinfo", "munged", "ip"]
# For --mpi=pmix Slurm loads libpmix.so, which only the last package has.
PACKAGES = ["slurm-wlm", "munge", "iproute2", "libpmix-dev"]
NODES = ["n0", "n1"]
READY_S = 30.0
# linux/sched.h
CLONE_NEWIPC, CLONE_NEWNET = 0x08000000, 0x40000000

# Each node has a separate folder for PMIx (TmpFS), or the second one would use the first one's.
CONFIGURATION = """\
ClusterName=bed
SlurmctldHost=localhost
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmUser=root
SlurmdUser=root
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
NodeName=n[0-1] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[16818-16819] CPUs=8 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


class SlurmError(Exception):
    """One line: what is missing or failed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--or-skip", action="store_true", help="no error where there can be no Slurm")
    # For the script's call of itself in namespaces.
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="+", help="after --")
    options = parser.parse_args()
    try:
        return inside(options.command) if options.inside else outside(options)
    except UnavailableError as error:
        print(f"slurm: {'skipped' if options.or_skip else 'unavailable'}: {error}", file=sys.stderr)
        return 0 if options.or_skip else 2
    except SlurmError as error:
        print(f"slurm: {error}", file=sys.stderr)
        return 2


def outside(options: argparse.Namespace) -> int:
    """Runs the script in new namespaces, which end with it."""
    skipping = ["--or-skip"] if options.or_skip else []
    return in_namespaces([__file__, "--inside", *skipping, "--", *options.command])


def inside(command: list[str]) -> int:
    with folder_in_memory("slurm") as folder:
        if not all(map(shutil.which, PROGRAMS)):
            install(PACKAGES, folder)
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET | CLONE_NEWIPC):
            raise UnavailableError(f"no network namespace: {os.strerror(ctypes.get_errno())}")
        lay_cable()
        start(folder)
        return subprocess.run(command).returncode


def lay_cable() -> None:
    """An interface beside the loopback one, without which neither Slurm nor Open MPI finds an address."""
    cable = ["link", "add", "bed0", "type", "veth", "peer", "name", "bed1"]
    run(["ip", *cable])
    run(["ip", "address", "add", "10.78.0.1/24", "dev", "bed0"])
    for interface in ("lo", "bed0", "bed1"):
        run(["ip", "link", "set", interface, "up"])


def start(folder: Path) -> None:
    """The daemons, each in the background; sets SLURM_CONF for the command."""
    for name in ("state", *(f"{kind}-{node}" for node in NODES for kind in ("spool", "tmp"))):
        (folder / name).mkdir()
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder))
    os.environ["SLURM_CONF"] = str(configuration)
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    places = [f"--{kind}-file={folder}/munge.{kind}" for kind in ("pid", "log", "seed")]
    daemons = [["munged", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket", *places]]
    daemons += [["slurmctld"]]
    daemons += [["unshare", "--uts", "sh", "-c", f"hostname {node}; exec slurmd -N {node}"] for node in NODES]
    for daemon in daemons:
        done = subprocess.run(daemon, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise SlurmError(f"{daemon[0]} did not start: {done.stderr.strip()[-200:]}")
    await_nodes()


def await_nodes() -> None:
    deadline = time.monotonic() + READY_S
    idle = ""
    while time.monotonic() < deadline:
        asked = ["sinfo", "--noheader", "--states=idle", "--format=%D"]
        idle = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
        if idle == str(len(NODES)):
            return
        time.sleep(0.2)
    raise SlurmError(f"{idle or 'no'} nodes are idle after {READY_S:g} s, not {len(NODES)}")


if __name__ == "__main__":
    sys.exit(main())
