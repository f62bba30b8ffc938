#!/usr/bin/env python3
"""Broadleaf's runtime beside every broadcast of SimGrid's SMPI: six networks, nine sizes, and the limit.

    benches/smpi_sweep.py [--collective NAME] [--networks A,B] [--sizes 1KiB,..] [--algorithms A,B] [--ours]
                          [--again] [--seconds WALL] [--table FILE]

The second broadcast of a run from the first rank, in simulated time. An algorithm that times out after
--seconds of real time, or delivers wrong bytes, has no time and counts as slower; after a timeout it is
not run with longer messages, which would take longer. Every sample goes to .bench/smpi_sweep.json at once and
is not taken again, so an interrupted sweep resumes (--again takes all samples again, --ours only
Broadleaf's).
--table writes the results so far as a page of the documentation.

Fails where the fastest of SMPI's is ahead of Broadleaf, or Broadleaf is further from the limit than WITHIN.

--collective takes another collective than the broadcast. A size is that of a block in a scatter and a gather,
of all blocks together in an all-gather and a reduce-scatter, and of the vector in a reduction. The table of
collectives has a line for each network and size.

--networks also takes torus-36, fat-tree-32 and unequal-hosts, which are in no sweep by default.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from refusals import exit_with
from smpi_beds import EXTRA_NETWORKS, NETWORKS, ROOT, Network

import broadleaf as bl
from broadleaf import smpi
from broadleaf.benchmarks import OURS
from broadleaf.benchmarks.collectives import COLLECTIVES, Simulated
from broadleaf.benchmarks.limit import limit_s
from broadleaf.benchmarks.smpi import Bed, known_algorithms, simulated

OUT = ROOT / ".bench/smpi_sweep.json"
ALL_NETWORKS = NETWORKS | EXTRA_NETWORKS
SIZES = [1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20]
# For Broadleaf, which simulates one message a segment and hop.
OUR_SECONDS = 900.0
# How far from the limit Broadleaf may be; beyond 4 MiB, from message / slowest cut.
WITHIN = {(name, 4 << 20): 1.5 for name in ("grid5000-88", "teragrid-64")}
WITHIN |= {(name, 64 << 20): 1.1 for name in ("grid5000-88", "teragrid-64")}

# The timing programs print nanoseconds, and round.
RESOLUTION_S = 2e-9

Cell = dict[str, Any]


def size_of(text: str) -> int:
    for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20)):
        if text.endswith(unit):
            return int(text.removesuffix(unit)) * factor
    return int(text)


def shown(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def sweep(options: argparse.Namespace, cells: dict[str, Cell]) -> None:
    source = ROOT / "testbeds/bcast.c"
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as made:
        folder = Path(made)
        own = smpi.plain_program(source, folder / "bcast")
        ours = smpi.planned_program(source, folder / "bcast-broadleaf")
        for name in options.networks:
            (folder / name).mkdir()
            network = ALL_NETWORKS[name](folder / name)
            bed = Bed(own, ours, network.xml, network.hosts)
            known = known_algorithms(bed)
            theirs = [name for name in known if not options.algorithms or name in options.algorithms]
            for size in options.sizes:
                cell = cells.setdefault(f"{name} {size}", {"network": name, "bytes": size, "seconds": {}})
                late = {
                    late
                    for other in cells.values()
                    if precedes(other, cell)
                    for late in other.get("late", [])
                }
                for _ in measure(
                    cell, bed, network, [OURS] if options.ours else [OURS, *theirs], late, options
                ):
                    OUT.write_text(json.dumps(list(cells.values()), indent=1) + "\n")
                print(line(cell), flush=True)


# Sizes of a sweep of another collective.
COLLECTIVE_SIZES = [1 << 10, 16 << 10, 64 << 10, 1 << 20, 16 << 20]
SHARED = ("allgather", "reduce-scatter")
# Bytes of the numbers that a reduction adds.
ELEMENT = 4


def sweep_collective(options: argparse.Namespace, cells: dict[str, Cell]) -> None:
    collective = options.collective
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as made:
        for name in options.networks:
            folder = Path(made) / name
            folder.mkdir()
            network = ALL_NETWORKS[name](folder)
            platform = bl.Platform.load(network.platform)
            bed = Simulated.on(collective, network.platform, (network.xml, network.hosts), folder)
            late: set[str] = set()
            for size in options.sizes:
                hosts = len(platform.hosts)
                # Whole elements: testbeds/collective.c refuses others where they are added.
                block = size // hosts // ELEMENT * ELEMENT if collective in SHARED else size
                cell = cells.setdefault(
                    key(collective, name, size),
                    {"collective": collective, "network": name, "bytes": size, "seconds": {}},
                )
                cell["limit_s"] = cell["rate_limit_s"] = limit_s(
                    platform, platform.hosts[0], block, collective
                )
                for way in bed.ways(options.algorithms or []):
                    known = way.name in cell["seconds"] and not options.again
                    if known or (options.ours and not way.is_ours):
                        continue
                    patience_s = OUR_SECONDS if way.is_ours else options.seconds
                    began_s = time.monotonic()
                    samples = [] if way.name in late else bed.samples(way, block, patience_s)
                    cell["seconds"][way.name] = samples[0] if samples else None
                    if not samples and time.monotonic() - began_s >= patience_s:
                        late.add(way.name)
                    OUT.write_text(json.dumps(list(cells.values()), indent=1) + "\n")
                print(line(cell), flush=True)


def key(collective: str, network: str, size: int) -> str:
    return f"{network} {size}" if collective == "bcast" else f"{collective} {network} {size}"


def key_of(cell: Cell) -> str:
    return key(collective_of(cell), cell["network"], cell["bytes"])


def collective_of(cell: Cell) -> str:
    return str(cell.get("collective", "bcast"))


def precedes(one: Cell, other: Cell) -> bool:
    is_alike = one["network"] == other["network"] and collective_of(one) == collective_of(other)
    return bool(is_alike and one["bytes"] < other["bytes"])


def measure(
    cell: Cell,
    bed: Bed,
    network: Network,
    names: list[str],
    late: set[str],
    options: argparse.Namespace,
) -> Iterator[str]:
    """Fills the cell, a name at a time."""
    size, platform = cell["bytes"], bl.Platform.load(network.platform)
    root = platform.hosts[0]
    cell["limit_s"] = limit_s(platform, root, size)
    cell["rate_limit_s"] = size / bl.optimum(platform, root, size).upper_bound_bytes_per_s
    for name in names:
        if name in cell["seconds"] and not options.again:
            continue
        patience_s = OUR_SECONDS if name == OURS else options.seconds
        began_s = time.monotonic()
        samples = [] if name in late else simulated(bed, name, size, network.platform, patience_s)
        cell["seconds"][name] = samples[0] if samples else None
        if name in late or (not samples and time.monotonic() - began_s >= patience_s):
            cell.setdefault("late", []).append(name)
        yield name


def fastest(cell: Cell) -> tuple[float, str]:
    """The times of SMPI's own algorithms that ended."""
    done = [(taken, name) for name, taken in cell["seconds"].items() if name != OURS and taken is not None]
    return min(done, default=(float("inf"), "none was done"))


def faults(cell: Cell) -> list[str]:
    ours = cell["seconds"].get(OURS) or float("inf")
    found = []
    if ours > fastest(cell)[0] + RESOLUTION_S:
        found.append(f"{ours / fastest(cell)[0]:.3f} times as slow as {fastest(cell)[1]}")
    if collective_of(cell) != "bcast":
        return found
    within = WITHIN.get((cell["network"], cell["bytes"]), float("inf"))
    limit = cell["limit_s"] if cell["bytes"] <= 4 << 20 else cell["rate_limit_s"]
    if ours > within * limit:
        found.append(f"{ours / limit:.3f} times the limit, not {within:g}")
    return found


def line(cell: Cell) -> str:
    ours = cell["seconds"].get(OURS)
    theirs_s, theirs = fastest(cell)
    own = "not done" if ours is None else f"{ours:.6f} s, {ours / cell['limit_s']:.3f} x limit"
    faulty = "; ".join(faults(cell)) or "holds"
    return f"{cell['network']:13} {shown(cell['bytes']):>8}  ours {own}  {theirs} {theirs_s:.6f} s  {faulty}"


def page(cells: dict[str, Cell]) -> str:
    """Every algorithm's time on every network, as Markdown."""
    lines = [
        "# Beside SMPI's own broadcasts",
        "",
        "Simulated seconds of the second broadcast from the first rank, under SimGrid's SMPI in the clean",
        "model; `-` timed out after 60 s of real time, at this size or a smaller one, or delivered",
        "wrong bytes; empty: not run. Limit: the bound of every plan (`bl.makespan_bound_s`), also where",
        "bytes wait for pipes slower than their link.",
        "Made by",
        "",
        "    python benches/smpi_sweep.py --table docs/smpi-sweep.md",
        "",
        "which resumes an interrupted run, keeps every sample in `.bench/smpi_sweep.json`, and fails where",
        "Broadleaf is not the fastest.",
    ]
    broadcasts = [cell for cell in cells.values() if collective_of(cell) == "bcast"]
    for network in ALL_NETWORKS:
        columns = sorted((cell for cell in broadcasts if cell["network"] == network), key=size_in)
        if not columns:
            continue
        lines += ["", f"## {network}", ""]
        lines += ["| algorithm | " + " | ".join(shown(cell["bytes"]) for cell in columns) + " |"]
        lines += ["| --- |" + " ---: |" * len(columns)]
        lines += ["| limit | " + " | ".join(short(cell["limit_s"]) for cell in columns) + " |"]
        names = {name for cell in columns for name in cell["seconds"]}
        for name in sorted(names, key=lambda name: (name != OURS, name)):
            times = " | ".join(
                short(cell["seconds"][name]) if name in cell["seconds"] else "" for cell in columns
            )
            lines.append(f"| {'**Broadleaf**' if name == OURS else name} | {times} |")
    return "\n".join(lines) + "\n"


COLLECTIVES_PAGE = """# Comparison with SMPI's built-in collectives

Simulated seconds of the second call, root the first rank, under SimGrid's SMPI in the clean model,
beside the fastest of SMPI's own algorithms and the bound that no plan beats, where bytes wait for the
slowest pipe of their link. The size is that of a block in a scatter and a gather, of all blocks together
in an all-gather, of the vector in a reduction.
SMPI's algorithms that timed out after {seconds:g} s of real time, at this size or a smaller one, or
delivered wrong bytes, are left out; their number stands at the end. Made by

    python benches/smpi_sweep.py --collective NAME --seconds {seconds:g} --table docs/smpi-collectives.md

for each collective, which keeps every sample in `.bench/smpi_sweep.json`; `--networks` and `--sizes`
take a part of it, and `two-sites`, two clusters of eight hosts 10 ms apart, is run if `--networks`
names it. The table lists completed runs. Those left out may be faster than the fastest here.
Broadleaf is behind in {behind} of {rows} rows.

| collective | network | size | bound | Broadleaf | x bound | SMPI's fastest | s | Broadleaf is | left out |
| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |
"""


def collectives_page(cells: dict[str, Cell], seconds: float) -> str:
    """A line for each network and size, as Markdown."""
    rows, behind = [], 0
    order = {name: at for at, name in enumerate([*COLLECTIVES, *ALL_NETWORKS])}
    for cell in sorted(
        (cell for cell in cells.values() if collective_of(cell) != "bcast"),
        key=lambda cell: (order[collective_of(cell)], order[cell["network"]], cell["bytes"]),
    ):
        ours, limit_s, (theirs_s, theirs) = cell["seconds"].get(OURS), cell["limit_s"], fastest(cell)
        if ours is None:
            continue
        behind += bool(faults(cell))
        values = [collective_of(cell), cell["network"], shown(cell["bytes"]), short(limit_s), short(ours)]
        values.append(f"{ours / limit_s:.2f} x")
        if theirs_s < float("inf"):
            values += [theirs, short(theirs_s), f"{theirs_s / ours:.2f} x as fast"]
        else:
            values += ["none ended", "-", "-"]
        values.append(str(sum(taken is None for taken in cell["seconds"].values())))
        rows.append("| " + " | ".join(values) + " |")
    head = COLLECTIVES_PAGE.format(seconds=seconds, behind=behind, rows=len(rows))
    return head + "\n".join(rows) + "\n"


def size_in(cell: Cell) -> int:
    return int(cell["bytes"])


def short(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.4g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--collective", choices=["bcast", *COLLECTIVES], default="bcast")
    parser.add_argument("--networks", type=lambda text: text.split(","))
    parser.add_argument("--sizes", type=lambda text: [size_of(part) for part in text.split(",")])
    parser.add_argument("--algorithms", type=lambda text: text.split(","), help="only these of SMPI's")
    parser.add_argument("--ours", action="store_true", help="take no times of SMPI's own")
    parser.add_argument("--again", action="store_true", help="take times anew that are known")
    parser.add_argument("--seconds", type=float, default=60.0, help="of real time, for each of SMPI's")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the page")
    options = parser.parse_args()
    OUT.parent.mkdir(exist_ok=True)
    known = json.loads(OUT.read_text()) if OUT.is_file() else []
    cells = {key_of(cell): cell for cell in known}
    is_bcast = options.collective == "bcast"
    options.networks = options.networks or list(NETWORKS)
    options.sizes = options.sizes or (SIZES if is_bcast else COLLECTIVE_SIZES)
    (sweep if is_bcast else sweep_collective)(options, cells)
    if options.table:
        options.table.write_text(page(cells) if is_bcast else collectives_page(cells, options.seconds))
    asked = [
        cells[key(options.collective, name, size)] for name in options.networks for size in options.sizes
    ]
    failing = [cell for cell in asked if faults(cell)]
    print(f"{len(asked) - len(failing)} of {len(asked)} hold")
    return 1 if failing else 0


if __name__ == "__main__":
    exit_with(main)
