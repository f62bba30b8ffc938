"""Whether every host can load the runtime, tested through the launcher before any rank starts.

Where a host lacks the library, ld.so prints a message and continues: that host's ranks would run without
Broadleaf, and so the others would plan nothing."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence

from broadleaf.mpi.hosts import Host
from broadleaf.mpi.launch import launch_command
from broadleaf.mpi.launchers import Start

# An empty shell command with the library preloaded: ld.so prints why it cannot be loaded.
PROBE = 'said=$(LD_PRELOAD=$0 /bin/sh -c : 2>&1); [ -z "$said" ] || echo "lacks $(uname -n)"'
# Starting one process per host takes a second or two by ssh; the launcher reports a host that is down.
TIMEOUT_S = 120.0
STOPPING_S = 10.0


class PresenceError(ValueError):
    """A host that cannot be started on, or that lacks the runtime, in one line."""


def is_remote(hosts: Sequence[Host]) -> bool:
    """Whether any of the hosts is another machine, by its name."""
    here = socket.gethostname()
    own = {here, here.partition(".")[0], socket.getfqdn(), "localhost", "127.0.0.1", "::1"}
    return any(host.name not in own for host in hosts)


def refuse_without_runtime(start: Start, hosts: Sequence[Host]) -> None:
    """Starts one short process on each host; raises PresenceError, naming the hosts on which the runtime
    cannot be preloaded.
    """
    each, library = [Host(host.name, 1) for host in hosts], start.runtime
    program = ["/bin/sh", "-c", PROBE, str(library)]
    argv, environment = launch_command(start.mpi, len(each), program, launcher=start.launcher, hosts=each)
    # Standard input is the program's.
    process = subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    try:
        said, errors = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        stop(process)
        raise PresenceError(
            f"{start.launcher.program} has not started on all hosts within {TIMEOUT_S:g} s; "
            "see which of them is down"
        ) from None
    except BaseException:
        stop(process)
        raise
    lacking = sorted(line.removeprefix("lacks ") for line in said.splitlines() if line.startswith("lacks "))
    if lacking:
        raise PresenceError(
            f"{', '.join(lacking)}: cannot load {library}; install Broadleaf there at the same path"
        )
    if process.returncode:
        lines = [line for line in errors.splitlines() if line.strip(" -*\0")] or ["no message"]
        raise PresenceError(f"{start.launcher.program} cannot start on every host: {lines[0].strip()}")


def stop(process: subprocess.Popen[str]) -> None:
    """Lets the launcher end what it has started."""
    process.terminate()
    try:
        process.communicate(timeout=STOPPING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
