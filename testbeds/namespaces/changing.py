"""Programs whose network changes while they run."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable

from network import TestbedError


def run_changing(
    command: list[str],
    environment: dict[str, str],
    after: int,
    change: Callable[[], None],
    timeout_s: float,
) -> list[str]:
    """The lines that a program prints; `change` is called as soon as it has printed `after` lines.

    Raises TestbedError if the program fails or still runs after the time limit.
    """
    lines: list[str] = []
    late = threading.Event()
    # A separate session, so that the time limit ends mpiexec's local children with it.
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as job:

        def end() -> None:
            late.set()
            os.killpg(job.pid, signal.SIGKILL)

        limit = threading.Timer(timeout_s, end)
        limit.start()
        try:
            assert job.stdout is not None
            for line in job.stdout:
                lines.append(line.strip())
                if len(lines) == after:
                    change()
            code = job.wait()
        finally:
            limit.cancel()
    if late.is_set():
        raise TestbedError(f"the program still runs after {timeout_s:g} s; give it more time")
    if code:
        raise TestbedError(f"the program ended with exit code {code}")
    return lines
