#!/usr/bin/env python3
"""Whether what Broadleaf states of its own accuracy holds on networks with laws of their own.

    benches/intervals.py [--mpi openmpi|mpich] [--jobs N] [--settings jitter,loss] [--tools measure,tune]

In each of five settings `broadleaf measure` measures the network once. Then, for each tool:

- measure: N jobs under `broadleaf run` time five broadcasts each of 64 KiB to 16 MiB, between the sizes that
  were rehearsed, too; nine of ten are to be within the interval of their prediction. Sizes without one, far
  beyond those that there was time to rehearse, are left out.
- tune: N jobs time the broadcasts that `broadleaf tune` chooses for the MPI, and one job each of the MPI's
  algorithms. Their times over the expected ones, which have no interval, and over the fastest are printed.
- advisor: broadcasts with and without an advisor. It is to believe at most one link of ten changed while none
  is. Once a tenth of the rates from one cluster to the other is left, it is to notice, and nine of ten
  intervals of the rates that it believes are to have the true one (advised.py).

The settings:

- namespaces: the eight hosts of testbeds/namespaces/two-clusters.json, real TCP at shaped rates;
- jitter: the same, and every cable delays packets by an exponentially distributed time, 0.3 ms on average;
- loss: the same, and every cable loses one packet in 2,000;
- local: four ranks of this machine;
- busy: the same four, beside a program that keeps one core busy from before the measurement to the end.

Raw samples go to .bench/intervals.json; the exit code is 1 if something does not hold in some setting. Needs
root for the namespaces, which are left out otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import advised
import tuned
from laws import NAMESPACES, SETTINGS, Setting
from refusals import exit_with

import broadleaf as bl
from broadleaf.mpi import find_mpi
from broadleaf.mpi.find import Flavour
from broadleaf.rehearsal import times_of

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / ".bench/intervals.json"
SIZES = (1 << 16, 3 << 17, 1 << 20, 3 << 20, 1 << 24)
CALLS = 5
WANTED = 0.9
TOOLS = ("measure", "tune", "advisor")


def samples_of(setting: Setting, net: Path, jobs: int) -> list[dict[str, Any]]:
    """By size: the interval, and the seconds of each broadcast after the runtime's first plans."""
    platform = bl.Platform.load(net)
    plans = {size: bl.plan(platform, platform.hosts[0], size) for size in SIZES}
    # Those far beyond the rehearsed ones take minutes on a slow network.
    timed = [size for size in SIZES if plans[size].makespan_interval_s is not None]
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    # Four untimed calls, as programs that broadcast repeatedly have them.
    program = [str(setting.mpi.program("rehearse")), "120", "4", str(CALLS), *map(str, timed)]
    for _ in range(jobs if timed else 0):
        output = setting.broadleaf(["run", *setting.words, "--platform", str(net), "--", *program])
        for size, each in times_of(output).items():
            seconds[size] += each
    return [
        {"bytes": size, "interval_s": plans[size].makespan_interval_s, "seconds": seconds[size]}
        for size in SIZES
    ]


def inside(row: dict[str, Any]) -> int:
    low_s, high_s = row["interval_s"]
    return sum(low_s <= seconds <= high_s for seconds in row["seconds"])


def verdict(found: list[dict[str, Any]]) -> tuple[str, bool]:
    """A line, and whether enough broadcasts are inside."""
    rows = [row for row in found if row["interval_s"] is not None]
    without = [f"{row['bytes'] >> 10} KiB" for row in found if row not in rows]
    if not rows:
        return "no interval, since nothing was rehearsed", True
    part = sum(map(inside, rows)) / max(1, sum(len(row["seconds"]) for row in rows))
    each = ", ".join(f"{row['bytes'] >> 10} KiB {inside(row)} of {len(row['seconds'])}" for row in rows)
    each += f"; no interval for {', '.join(without)}" if without else ""
    return f"{part:.1%} inside ({each})", part >= WANTED


def tried(
    setting: Setting, folder: Path, tools: list[str], jobs: int
) -> tuple[dict[str, Any], list[str], bool]:
    """The samples, a line for each tool, and whether all holds."""
    net = folder / "net.json"
    setting.broadleaf(["measure", *setting.words, "-o", str(net)])
    measured = bl.Platform.load(net).to_dict()["provenance"]["measured"]
    found: dict[str, Any] = {"quality": measured["quality"], "rehearsed": measured.get("rehearsed", [])}
    lines, all_hold = [f"measured, quality {measured['quality']}"], True
    for tool in tools:
        if tool == "measure":
            found["sizes"] = samples_of(setting, net, jobs)
            line, holds = verdict(found["sizes"])
        elif tool == "tune":
            found["tune"] = tuned.tuned(setting, net, folder, jobs)
            line, holds = tuned.verdict(found["tune"]), True
        else:
            found["advisor"] = advised.advised(setting, net, folder)
            line, holds = advised.verdict(found["advisor"], setting.ranks)
        lines.append(f"{tool}: {line}{'' if holds else ' (does not hold)'}")
        all_hold &= holds
    return found, lines, all_hold


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="mpich")
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--settings", default=",".join(SETTINGS), help="only these, by name: jitter,loss")
    parser.add_argument("--tools", default=",".join(TOOLS), help="only these: measure,tune,advisor")
    options = parser.parse_args()
    flavour: Flavour = options.mpi
    mpi = find_mpi(flavour)
    names, tools = options.settings.split(","), options.tools.split(",")
    for asked, known in ((names, list(SETTINGS)), (tools, list(TOOLS))):
        if unknown := set(asked) - set(known):
            parser.error(f"nothing is called {min(unknown)!r}; there are {', '.join(known)}")
    if os.geteuid() != 0 and set(names) & set(NAMESPACES):
        print(f"{', '.join(NAMESPACES)}: left out, they need root")
        names = [name for name in names if name not in NAMESPACES]
    found, missed = {}, 0
    for name in names:
        with (
            tempfile.TemporaryDirectory(prefix="broadleaf-bench-", ignore_cleanup_errors=True) as made,
            SETTINGS[name](mpi, Path(made)) as setting,
        ):
            found[name], lines, holds = tried(setting, Path(made), tools, options.jobs)
        for line in lines:
            print(f"{name}: {line}", flush=True)
        missed += not holds
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"mpi": f"{mpi.flavour} {mpi.version}", "settings": found}, indent=1))
    return int(missed > 0)


if __name__ == "__main__":
    exit_with(main)
