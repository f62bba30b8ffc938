#!/usr/bin/env python3
"""How many later broadcasts are within the interval of their prediction; wanted: nine of ten.

    benches/intervals.py [--mpi openmpi|mpich] [--jobs N] [--settings jitter,loss]

In each of five settings `broadleaf measure` measures the network. Then N jobs under `broadleaf run` time
five broadcasts each of 64 KiB to 16 MiB, between the sizes that were rehearsed, too. Sizes without an
interval, far beyond those that there was time to rehearse, do not count. The settings:

- namespaces: the eight hosts of testbeds/namespaces/two-clusters.json, real TCP at shaped rates;
- jitter: the same, and every cable delays packets by an exponentially distributed time of 0.3 ms on average;
- loss: the same, and every cable loses one packet in 2,000;
- local: four ranks of this machine;
- busy: the same four, beside a program that keeps one core busy from before the measurement to the end.

Raw samples go to .bench/intervals.json; the exit code is 1 if fewer than 90 % are inside in some setting.
Needs root for the namespaces, which are left out otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from refusals import exit_with

import broadleaf as bl
from broadleaf.benchmarks import BenchError
from broadleaf.benchmarks.namespaces import DEFAULT_PLATFORM, LUMP
from broadleaf.mpi import Mpi, find_mpi
from broadleaf.mpi.find import Flavour
from broadleaf.rehearsal import times_of

ROOT = Path(__file__).resolve().parents[1]
BED = ROOT / "testbeds/namespaces"
sys.path.insert(0, str(BED))
from launch import launcher_words, on_first_host, write_agent  # noqa: E402
from network import Disturbance, Network, rates_of  # noqa: E402

OUT = ROOT / ".bench/intervals.json"
SIZES = (1 << 16, 3 << 17, 1 << 20, 3 << 20, 1 << 24)
CALLS = 5
WANTED = 0.9
TIMEOUT_S = 300.0
LOCAL_RANKS = 4

# Runs `broadleaf` with some arguments, and returns its standard output.
Broadleaf = Callable[[list[str]], str]


def called(command: list[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise BenchError(f"{shlex.join(command)} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


@contextmanager
def namespaces(
    mpi: Mpi, folder: Path, disturbance: Disturbance | None = None
) -> Iterator[tuple[Broadleaf, list[str]]]:
    platform, prefix = bl.Platform.load(str(DEFAULT_PLATFORM)), mpi.mpiexec.parent.parent
    listed = folder / "hosts"
    listed.write_text("\n".join(platform.hosts))
    with Network(f"blival{os.getpid()}", rates_of(platform), LUMP, disturbance) as bed:
        words = shlex.join(launcher_words(prefix, write_agent(bed, folder)))

        def broadleaf(arguments: list[str]) -> str:
            command, environment = on_first_host(prefix, bed, [sys.executable, "-m", "broadleaf", *arguments])
            return called(command, {**environment, "TMPDIR": str(folder)})

        launcher = ["--launcher", str(mpi.mpiexec), f"--launcher-args={words}"]
        yield broadleaf, ["-n", str(len(platform.hosts)), "--hosts", str(listed), *launcher]


@contextmanager
def local(mpi: Mpi, folder: Path) -> Iterator[tuple[Broadleaf, list[str]]]:
    def broadleaf(arguments: list[str]) -> str:
        return called([sys.executable, "-m", "broadleaf", *arguments], os.environ)

    yield broadleaf, ["-n", str(LOCAL_RANKS), "--mpi", mpi.flavour]


@contextmanager
def busy(mpi: Mpi, folder: Path) -> Iterator[tuple[Broadleaf, list[str]]]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinning:
        try:
            with local(mpi, folder) as here:
                yield here
        finally:
            spinning.kill()


def samples_of(broadleaf: Broadleaf, ranks: list[str], mpi: Mpi, folder: Path, jobs: int) -> dict[str, Any]:
    """By size: the interval, and the seconds of each broadcast after the runtime's first plans."""
    net = folder / "net.json"
    broadleaf(["measure", *ranks, "-o", str(net)])
    platform = bl.Platform.load(net)
    plans = {size: bl.plan(platform, platform.hosts[0], size) for size in SIZES}
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    # Four untimed calls, as programs that broadcast repeatedly have them.
    program = [str(mpi.program("rehearse")), "120", "4", str(CALLS), *map(str, SIZES)]
    for _ in range(jobs):
        output = broadleaf(["run", *ranks, "--platform", str(net), "--", *program])
        for size, each in times_of(output).items():
            seconds[size] += each
    measured = platform.to_dict()["provenance"]["measured"]
    return {
        "quality": measured["quality"],
        "sizes": [
            {"bytes": size, "interval_s": plans[size].makespan_interval_s, "seconds": seconds[size]}
            for size in SIZES
        ],
    }


def inside(row: dict[str, Any]) -> int:
    low_s, high_s = row["interval_s"]
    return sum(low_s <= seconds <= high_s for seconds in row["seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="mpich")
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--settings", help="only these, by name: jitter,loss")
    options = parser.parse_args()
    flavour: Flavour = options.mpi
    mpi = find_mpi(flavour)
    on_namespaces = {
        "namespaces": namespaces,
        "jitter": partial(namespaces, disturbance=Disturbance(jitter_s=3e-4)),
        "loss": partial(namespaces, disturbance=Disturbance(loss=1 / 2000)),
    }
    settings = {**on_namespaces, "local": local, "busy": busy}
    if options.settings is not None:
        unknown = set(options.settings.split(",")) - set(settings)
        if unknown:
            parser.error(f"no setting {min(unknown)!r}; there are {', '.join(settings)}")
        settings = {name: settings[name] for name in options.settings.split(",")}
    if os.geteuid() != 0:
        print(f"{', '.join(on_namespaces)}: left out, they need root")
        settings = {name: setting for name, setting in settings.items() if name not in on_namespaces}
    found, missed = {}, 0
    for name, setting in settings.items():
        with (
            tempfile.TemporaryDirectory(prefix="broadleaf-bench-", ignore_cleanup_errors=True) as made,
            setting(mpi, Path(made)) as (broadleaf, ranks),
        ):
            found[name] = samples_of(broadleaf, ranks, mpi, Path(made), options.jobs)
        rows = [row for row in found[name]["sizes"] if row["interval_s"] is not None]
        without = [f"{row['bytes'] >> 10} KiB" for row in found[name]["sizes"] if row not in rows]
        part = sum(map(inside, rows)) / max(1, sum(len(row["seconds"]) for row in rows))
        each = ", ".join(f"{row['bytes'] >> 10} KiB {inside(row)} of {len(row['seconds'])}" for row in rows)
        each += f"; no interval for {', '.join(without)}" if without else ""
        print(f"{name}: {part:.1%} inside ({each}); quality {found[name]['quality']}", flush=True)
        missed += part < WANTED
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"mpi": f"{mpi.flavour} {mpi.version}", "settings": found}, indent=1))
    return int(missed > 0)


if __name__ == "__main__":
    exit_with(main)
