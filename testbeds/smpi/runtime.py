"""Our MPI runtime for SimGrid's SMPI: built once, linked into programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from run import TestbedError, build, need

ROOT = Path(__file__).resolve().parents[2]
BUILDER = ROOT / "crates/broadleaf-mpi/build_runtimes.py"
HEADERS = ROOT / "crates/broadleaf-mpi/include"
# What the Rust half needs of the system.
SYSTEM = ["-lpthread", "-ldl", "-lm", "-lgcc_s"]


def runtime_object(folder: Path) -> Path:
    """broadleaf_mpi_smpi.o in `folder`, from the Rust archive that `make setup` built, else from cargo."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    archive = target / "release/libbroadleaf_mpi.a"
    command = [sys.executable, str(BUILDER), "--mpicc", need("smpicc"), "--out", str(folder)]
    command += ["--staticlib", str(archive.resolve())] if archive.is_file() else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise TestbedError(f"our runtime cannot be built for SMPI: {done.stderr.strip().splitlines()[-1]}")
    return folder / "broadleaf_mpi_smpi.o"


def planned_program(source: Path, folder: Path) -> Path:
    """The program that smpicc makes of a C source, its broadcasts planned; it may call broadleaf.h."""
    return build(source, folder, [f"-I{HEADERS}", str(runtime_object(folder)), *SYSTEM])
