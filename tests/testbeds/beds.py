"""Shared by the tests of both beds: scripts as modules, namespaces where they can be made, an MPI."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def script(path: Path) -> ModuleType:
    """A script as a module; it finds the modules beside it."""
    sys.path.insert(0, str(path.parent))
    try:
        specification = importlib.util.spec_from_file_location(path.stem, path)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[path.stem] = module
        specification.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(path.parent))


def can_make_namespaces() -> bool:
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("tc") is None:
        return False
    name = f"broadleaf-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    return made and subprocess.run(["ip", "netns", "del", name], capture_output=True).returncode == 0


def prefix(mpi: str) -> Path:
    folder = ROOT / ".mpi" / mpi
    if not (folder / "bin/mpiexec").exists():
        pytest.skip(f"{mpi} is not installed; run make setup")
    return folder


def triangle(folder: Path, rate_bytes_per_s: float) -> Path:
    """A root and two others; no way is quicker than along a chain, in either direction."""
    link = {"latency_s": 1e-4, "bandwidth_bytes_per_s": rate_bytes_per_s}
    nic = {"out_bytes_per_s": rate_bytes_per_s, "in_bytes_per_s": rate_bytes_per_s}
    document = {
        "format": "broadleaf-platform/1",
        "name": "triangle",
        "port_model": "multi-port",
        "nodes": [{"id": name, **nic} for name in "rab"],
        "meshes": [{"nodes": ["r", "a", "b"], "link": link}],
    }
    path = folder / "triangle.json"
    path.write_text(json.dumps(document))
    return path
