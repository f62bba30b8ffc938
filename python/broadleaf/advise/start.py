"""The advisor beside a program: the one that runs already, or one that ends with the last program."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from broadleaf.advise.state import State, StateError, default_state
from broadleaf.mpi import Start

# The advisor's time after the last program, and a program's wait for its start, seconds.
LINGER_S = 1.0
START_S = 5.0


@contextmanager
def advisor(
    folder: str | None, platform: str | None, hosts: str | None, program: Start, *, wanted: bool
) -> Iterator[str | None]:
    """Runs an advisor while a program runs; yields its state directory, or None if no advisor can run.

    The program runs in any case: a failure to start the advisor is only reported.
    """
    if not wanted:
        if folder is not None:
            raise ValueError("--state is for a program that follows the network; add --adapt")
        yield None
        return
    path = Path(folder) if folder is not None else default_state()
    handle = None
    try:
        state = State(path)
        handle = state.join()
        if not state.is_served():
            start(state, platform, hosts, program)
    except (StateError, OSError) as error:
        print(f"broadleaf: {error}; the program runs without an advisor", file=sys.stderr)
        state = None
    try:
        yield str(state.folder) if state is not None else None
    finally:
        if handle is not None:
            os.close(handle)


def start(state: State, platform: str | None, hosts: str | None, program: Start) -> None:
    """Starts one that outlives this process as long as other programs use it, and probes by its launcher."""
    argv = [sys.executable, "-m", "broadleaf", "advise", "--state", str(state.folder)]
    argv += ["--linger", str(LINGER_S)]
    if platform is not None:
        argv += ["--platform", str(Path(platform).resolve())]
    if hosts is not None:
        argv += ["--hosts", str(Path(hosts).resolve())]
        argv += ["--mpi", program.mpi.flavour, *program.launcher.options]
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    deadline_s = time.monotonic() + START_S
    while not state.is_served() and process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.02)
