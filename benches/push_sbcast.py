"""Slurm's sbcast on the hosts of benches/push_rivals.py: a slurmd in each namespace."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from broadleaf.benchmarks import BenchError

PACKAGES = ["slurm-wlm", "munge"]
READY_S = 60.0

# `ip netns exec` gives each namespace a new /sys without the control groups that slurmd looks for.
SLURMD = 'mount --rbind "$0" /sys/fs/cgroup && exec slurmd -D -N "$1"'
CONFIGURATION = """\
ClusterName=bed
SlurmctldHost={root}({address}1)
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
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def slurm(
    hosts: list[str], folder: Path, start: Callable[[str, list[str]], subprocess.Popen[bytes]]
) -> Iterator[None]:
    """The daemons, each started by `start` on its host; SLURM_CONF names their settings."""
    address = "10.77.0."
    nodes = "\n".join(
        f"NodeName={host} NodeHostname={host} NodeAddr={address}{number} CPUs=8 RealMemory=1000"
        for number, host in enumerate(hosts, start=1)
    )
    for name in ("cgroup", "state", *(f"{kind}-{host}" for kind in ("spool", "tmp") for host in hosts)):
        (folder / name).mkdir()
    subprocess.run(["mount", "--rbind", "/sys/fs/cgroup", str(folder / "cgroup")], check=True)
    text = CONFIGURATION.format(root=hosts[0], address=address, folder=folder, nodes=nodes)
    (folder / "slurm.conf").write_text(text)
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    places = [f"--{kind}-file={folder}/munge.{kind}" for kind in ("pid", "log", "seed")]
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
    daemons = [start(hosts[0], [*munge, *places])]
    try:
        time.sleep(1)
        daemons.append(start(hosts[0], ["slurmctld", "-D"]))
        daemons += [start(host, ["sh", "-c", SLURMD, str(folder / "cgroup"), host]) for host in hosts]
        await_nodes(hosts, start)
        yield
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()
        subprocess.run(["umount", "--lazy", str(folder / "cgroup")], check=True)


def await_nodes(hosts: list[str], start: Callable[[str, list[str]], subprocess.Popen[bytes]]) -> None:
    """Waits until a job of all hosts runs."""
    job = start(hosts[0], ["srun", f"--nodes={len(hosts)}", "true"])
    try:
        code = job.wait(timeout=READY_S)
    except subprocess.TimeoutExpired:
        job.kill()
        job.wait()
        raise BenchError(f"no job of {len(hosts)} nodes ran within {READY_S:g} s") from None
    if code:
        raise BenchError(f"a job of {len(hosts)} nodes ended with exit code {code}")


def command(hosts: int, source: Path, target: Path) -> list[str]:
    """By its manual: inside an allocation, to all of its nodes."""
    return ["salloc", f"--nodes={hosts}", "--quiet", "sbcast", "--force", str(source), str(target)]
