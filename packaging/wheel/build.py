#!/usr/bin/env python3
"""Makes one wheel for every Linux with glibc 2.28 or later, to be installed without compiler or MPI.

    python packaging/wheel/build.py [--out dist] [--as-built]

zig, which has the symbols of each glibc, relinks the objects of `make setup`: only linking binds symbol
versions. The C files are compiled again too, with the headers of that glibc. Into the wheel go the
runtimes and programs for Open MPI, MPICH and the standard ABI, manual pages, completion for shells, and the
licences of the crates inside. --as-built: everything as it is in the checkout, for this machine only.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from manual import write_completions, write_manual

ROOT = Path(__file__).resolve().parents[2]
BUILDER = ROOT / "crates" / "broadleaf-mpi" / "build_runtimes.py"
sys.path.append(str(BUILDER.parent))

from build_runtimes import without_builders_folders  # noqa: E402

GLIBC = "2.28"
PLATFORM = f"manylinux_{GLIBC.replace('.', '_')}_x86_64"
KINDS = ("ompi", "mpich", "abi")
MOST_BYTES = 25 << 20


class WheelError(Exception):
    """One line: what failed, and the remedy."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    parser.add_argument("--as-built", action="store_true", help="what the checkout has, for this machine")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            print(build(Path(scratch), options.out, is_portable=not options.as_built))
    except WheelError as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 2
    return 0


def build(scratch: Path, out: Path, *, is_portable: bool) -> Path:
    compiler = portable_compiler() if is_portable else None
    package = unpacked(core_wheel(scratch / "core", compiler), scratch)
    binaries = package / "broadleaf" / "mpi" / "lib"
    if compiler is not None:
        shutil.rmtree(binaries)
        run(sys.executable, BUILDER, "--cc", compiler, "--out", binaries)
    if missing := [kind for kind in KINDS if not (binaries / f"libbroadleaf_mpi_{kind}.so").exists()]:
        raise WheelError(f"no runtime for {', '.join(missing)}; make setup builds them with the MPIs in .mpi")
    (core,) = (package / "broadleaf").glob("_core*.so")
    run("strip", "--strip-all", core)
    core.write_bytes(without_builders_folders(core.read_bytes()))
    (information,) = package.glob("*.dist-info")
    (information / "licenses" / "THIRD-PARTY").write_text(third_party_licences())
    for inventory in (information / "sboms").glob("*.json"):
        inventory.write_text(inventory.read_text().replace(str(ROOT), "/broadleaf"))
    share = package / f"{information.stem}.data" / "data" / "share"
    write_manual(share / "man" / "man1")
    write_completions(share)
    return packed(package, out, is_portable=is_portable)


def portable_compiler() -> Path:
    """zig as a C compiler and linker for that glibc, at a fixed path: cargo recompiles for another path."""
    if importlib.util.find_spec("ziglang") is None:
        raise WheelError("no zig in this environment; run make wheel, which installs it")
    script = ROOT / "target" / "wheel" / "cc"
    script.parent.mkdir(parents=True, exist_ok=True)
    zig = shlex.join([sys.executable, "-m", "ziglang", "cc", "-target", f"x86_64-linux-gnu.{GLIBC}"])
    script.write_text(f'#!/bin/sh\nexec {zig} "$@"\n')
    script.chmod(0o755)
    os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(script.with_name("zig")))
    return script


def core_wheel(folder: Path, compiler: Path | None) -> Path:
    """maturin's wheel. Only the last crate is recompiled for another linker."""
    platform = "linux" if compiler is None else PLATFORM.removesuffix("_x86_64")
    command = [str(Path(sys.executable).with_name("maturin")), "build", "--quiet", "--release"]
    # The options that select Rust's own linker exist in gcc and clang only.
    link = [] if compiler is None else ["--", "-C", f"linker={compiler}", "-C", "linker-features=-lld"]
    run(*command, "--compatibility", platform, "--out", folder, *link)
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpacked(wheel: Path, scratch: Path) -> Path:
    run(sys.executable, "-m", "wheel", "unpack", "--dest", scratch / "tree", wheel)
    (package,) = (scratch / "tree").iterdir()
    return package


def packed(package: Path, out: Path, *, is_portable: bool) -> Path:
    """The wheel as the only one in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    for older in out.glob("broadleaf-*.whl"):
        older.unlink()
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", out, package)
    (wheel,) = out.glob("broadleaf-*.whl")
    if wheel.stat().st_size > MOST_BYTES:
        raise WheelError(f"{wheel}: {wheel.stat().st_size} bytes, more than {MOST_BYTES}; is all stripped?")
    if is_portable:
        refuse_newer_symbols(wheel)
    return wheel


def refuse_newer_symbols(wheel: Path) -> None:
    found = json.loads(run(sys.executable, "-m", "auditwheel", "show", "--json", wheel))
    older = range(17, int(GLIBC.partition(".")[2]) + 1)
    if found["sym_tag"] not in [f"manylinux_2_{minor}_x86_64" for minor in older]:
        raise WheelError(f"{wheel} needs {found['sym_tag']}, not {PLATFORM}: {found['versioned_symbols']}")


def third_party_licences() -> str:
    """The licences of all linked crates, from their own files, each text once."""
    platform = "--filter-platform=x86_64-unknown-linux-gnu"
    metadata = json.loads(run("cargo", "metadata", "--format-version=1", "--locked", platform))
    needs = {
        node["id"]: [
            each["pkg"] for each in node["deps"] if {"kind": None, "target": None} in each["dep_kinds"]
        ]
        for node in metadata["resolve"]["nodes"]
    }
    crates = {crate["id"]: crate for crate in metadata["packages"]}
    # Broadleaf's own crates have no source.
    waiting = [found for found, crate in crates.items() if crate["source"] is None]
    linked = set(waiting)
    while waiting:
        found = [need for need in needs[waiting.pop()] if need not in linked]
        linked.update(found)
        waiting += found
    texts: dict[str, list[str]] = {}
    for crate in sorted((crates[found] for found in linked), key=lambda crate: str(crate["name"])):
        for path in sorted(Path(crate["manifest_path"]).parent.glob("LICENSE*")):
            texts.setdefault(path.read_text(errors="replace").strip(), []).append(
                f"{crate['name']} {crate['version']} ({crate['license']})"
            )
    return "\n\n".join(f"{', '.join(names)}:\n\n{text}" for text, names in texts.items()) + "\n"


def run(*command: str | Path) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise WheelError(f"{shlex.join(map(str, command))} failed; its messages are above")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
