"""Debian's packages laid over the system in memory, for one test bed and its processes.

A bed runs itself again in separate mount and process namespaces, which end with it, and installs there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
# Where packages write.
LAID_OVER = ("usr", "etc", "var")


class UnavailableError(Exception):
    """One line: why the bed cannot run on this machine."""


def in_namespaces(program: Sequence[str]) -> int:
    """Runs a Python program in separate mount and process namespaces; its exit code."""
    may = os.geteuid() == 0 and shutil.which("unshare") is not None
    if not may or subprocess.run([*NAMESPACES, "true"], capture_output=True).returncode:
        raise UnavailableError("it needs root and mount namespaces")
    return subprocess.run([*NAMESPACES, sys.executable, *program]).returncode


@contextmanager
def folder_in_memory(name: str) -> Iterator[Path]:
    """A folder that is removed with these namespaces at the latest."""
    with tempfile.TemporaryDirectory(prefix=f"broadleaf-{name}-") as scratch:
        run(["mount", "-t", "tmpfs", "tmpfs", scratch])
        try:
            yield Path(scratch)
        finally:
            # Processes that still write there end with the first process of the namespace.
            subprocess.run(["umount", "--lazy", scratch])


def install(packages: Sequence[str], folder: Path) -> None:
    """Installs packages for these namespaces; they write into `folder`, in memory."""
    if shutil.which("apt-get") is None:
        raise UnavailableError(f"no apt-get to install {' '.join(packages)} with")
    for system in LAID_OVER:
        upper, work = folder / system / "upper", folder / system / "work"
        upper.mkdir(parents=True)
        work.mkdir()
        layers = f"lowerdir=/{system},upperdir={upper},workdir={work}"
        run(["mount", "-t", "overlay", "overlay", "-o", layers, f"/{system}"])
    # No service of the packages starts.
    policy = Path("/usr/sbin/policy-rc.d")
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    run(["apt-get", "update", "-qq"])
    run(["apt-get", "install", "-qq", "--no-install-recommends", *packages])


def run(command: Sequence[str]) -> None:
    """Runs a command that sets up the bed; raises UnavailableError where it fails."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise UnavailableError(f"`{' '.join(command)}` failed: {lines[-1]}")
