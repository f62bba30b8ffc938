"""The package's install step (PEP 517/660): build the MPI runtimes, then let maturin build the rest.

`pip install .` and `pip install -e .` both run this module, so a plain install has the shared object of
every MPI whose `mpicc` is found. On a machine without any MPI the planner still works: the MPI part is
then left out, and `broadleaf run` reports that.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parent.parent


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    build_mpi_runtimes()
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    # At once: an editable package finds the runtimes in the checkout, whichever is ready first.
    with ThreadPoolExecutor(1) as beside:
        runtimes = beside.submit(build_mpi_runtimes)
        built = maturin.build_editable(wheel_directory, config_settings, metadata_directory)
        runtimes.result()
    return str(built)


def build_mpi_runtimes() -> None:
    """Runs the MPI crate's own build script, which searches for every `mpicc` and names each one it used."""
    script = ROOT / "crates" / "broadleaf-mpi" / "build_runtimes.py"
    done = subprocess.run([sys.executable, str(script)], cwd=ROOT)
    if done.returncode:
        # The script has printed the reason in one line; a traceback of this file would hide it.
        sys.exit(done.returncode)
