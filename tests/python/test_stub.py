"""The hand-written types of the compiled core cannot drift from the core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import broadleaf as bl

ROOT = Path(__file__).resolve().parents[2]


def test_stub_is_the_module() -> None:
    # mypy's stubtest imports the module and compares every name and signature with _core.pyi.
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--mypy-config-file", "pyproject.toml", "broadleaf._core"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_is_documented() -> None:
    public = [getattr(bl, name) for name in bl.__all__ if name != "__version__"]
    members = [
        (f"{cls.__name__}.{name}", value)
        for cls in public
        if isinstance(cls, type) and cls.__module__ == "broadleaf"
        for name, value in vars(cls).items()
        if not name.startswith("_")
    ]
    assert len(members) > 30
    named = [(getattr(value, "__name__", str(value)), value) for value in public]
    assert [name for name, value in [*named, *members] if not value.__doc__] == []
