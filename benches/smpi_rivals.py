#!/usr/bin/env python3
"""Broadleaf's runtime beside the newest algorithms as their authors wrote them, in simulated time.

    benches/smpi_rivals.py FOLDER [--collective NAME] [--networks A,B] [--sizes 1KiB,..] [--again]
                           [--seconds WALL] [--table FILE]

FOLDER holds the rivals' sources; benches/rivals.py lists them. Networks whose number of ranks a rival does
not take are left out for it.

The second call from the first rank. A rival that times out after --seconds of real time, or delivers wrong
bytes, has no time. Every sample goes to .bench/smpi_rivals.json at once and is not taken again, unless with
--again; --table writes all of them as a page of the documentation.

Fails where a rival is ahead of Broadleaf.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from refusals import exit_with
from rivals import RIVALS
from smpi_beds import NETWORKS, ROOT, Network
from smpi_sweep import ELEMENT, OUR_SECONDS, SHARED, short, shown, size_of

import broadleaf as bl
from broadleaf import smpi
from broadleaf.benchmarks import OURS
from broadleaf.benchmarks.collectives import Simulated, ours
from broadleaf.benchmarks.smpi import SHARED_BYTES, Bed, second_seconds, simulated

OUT = ROOT / ".bench/smpi_rivals.json"
TESTBEDS = ROOT / "testbeds"
SIZES = [1 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20]

Cell = dict[str, Any]
Key = tuple[str, str, int]


COLLECTIVES = ("bcast", "allgather", "reduce", "gather", "scatter")


def measure(options: argparse.Namespace, known: dict[Key, Cell]) -> Iterator[Cell]:
    """The cells that are asked for, each as soon as it is known."""
    collective = options.collective
    with tempfile.TemporaryDirectory(prefix="broadleaf-bench-") as made:
        scratch = Path(made)
        timing = TESTBEDS / ("bcast.c" if collective == "bcast" else "collective.c")
        programs = [
            (
                rival,
                smpi.plain_program(
                    timing, scratch / rival.file_name, rival.options_for(collective, options.folder)
                ),
            )
            for rival in RIVALS
            if collective in rival.sources
        ]
        for name in options.networks:
            (scratch / name).mkdir()
            network = NETWORKS[name](scratch / name)
            ranks = len(bl.Platform.load(network.platform).hosts)
            own_s = ours_of(collective, network, scratch / name)
            for size in options.sizes:
                cell = {"collective": collective, "network": name, "bytes": size}
                if key(cell) not in known or options.again:
                    block = size // ranks // ELEMENT * ELEMENT if collective in SHARED else size
                    own = own_s(block)
                    others = {
                        rival.name: rival_seconds(program, collective, network, block, options.seconds)
                        for rival, program in programs
                        if rival.takes(ranks)
                    }
                    known[key(cell)] = {**cell, "seconds": {OURS: own, **others}}
                yield known[key(cell)]


def ours_of(collective: str, network: Network, folder: Path) -> Callable[[int], float | None]:
    """Broadleaf's seconds for a block."""
    if collective == "bcast":
        program = smpi.planned_program(TESTBEDS / "bcast.c", folder / "bcast")
        bed = Bed(program, program, network.xml, network.hosts)
        return lambda block: first(simulated(bed, OURS, block, network.platform, OUR_SECONDS))
    bed_of = Simulated.on(collective, network.platform, (network.xml, network.hosts), folder)
    return lambda block: first(bed_of.samples(ours(collective), block, OUR_SECONDS))


def rival_seconds(
    program: Path, collective: str, network: Network, block: int, patience_s: float
) -> float | None:
    named = [] if collective == "bcast" else [collective]
    shared = ["0", "shared"] if collective == "bcast" and block >= SHARED_BYTES else []
    try:
        printed = smpi.simulate(
            *(network.xml, network.hosts, [str(program), *named, str(block), "2", *shared]),
            # A poll that finds nothing takes no simulated time.
            settings={"smpi/test": "0"},
            timeout_s=patience_s,
        )
    except smpi.SmpiError:
        return None
    return first(second_seconds(printed, program.name))


def first(samples: list[float]) -> float | None:
    return samples[0] if samples else None


def key(cell: Cell) -> Key:
    return cell["collective"], cell["network"], cell["bytes"]


def ahead(cell: Cell) -> str | None:
    """The fastest rival, where it is faster than Broadleaf."""
    own, best = cell["seconds"][OURS], fastest(cell)
    return best if best and (own is None or cell["seconds"][best] < own) else None


def fastest(cell: Cell) -> str | None:
    done = {name: taken for name, taken in cell["seconds"].items() if name != OURS and taken is not None}
    return min(done, key=lambda name: done[name], default=None)


def line(cell: Cell) -> str:
    times = "  ".join(f"{name} {short(taken)}" for name, taken in cell["seconds"].items())
    verdict = ahead(cell)
    return (
        f"{cell['collective']:9} {cell['network']:13} {shown(cell['bytes']):>7}  {times}  "
        f"{'holds' if verdict is None else verdict + ' is ahead'}"
    )


PAGE = """# Comparison with MPICH's circulant graphs and the bine trees

Simulated seconds of the second call from the first rank, under SimGrid's SMPI in the clean model, beside two
algorithms of 2025 as their authors wrote them: the circulant-graph algorithms of MPICH's main branch, whose
segments have 128 KiB, and the programs of the bine trees, which take powers of two of ranks (their all-gather
even numbers). The size is that of a block in a scatter and a gather, of all blocks together in an
all-gather, and of the vector in a reduction. Made by

    python benches/smpi_rivals.py FOLDER --collective NAME --table docs/smpi-rivals.md

for each collective; `benches/rivals.py` lists the repositories that FOLDER holds. Tried with MPICH 6a79bf6
and bine-trees 6dc931e. `-` timed out after {seconds:g} s of real time or delivered wrong bytes.

| collective | network | size | Broadleaf | fastest of them | s | Broadleaf is |
| --- | --- | ---: | ---: | --- | ---: | ---: |
"""


def page(known: Sequence[Cell], seconds: float) -> str:
    rows = []
    networks = list(NETWORKS)
    order = sorted(
        known,
        key=lambda cell: (
            COLLECTIVES.index(cell["collective"]),
            networks.index(cell["network"]),
            cell["bytes"],
        ),
    )
    for cell in order:
        if len(cell["seconds"]) == 1:
            continue
        own, best = cell["seconds"][OURS], fastest(cell)
        theirs = cell["seconds"][best] if best else None
        gain = f"{theirs / own:.2f} x as fast" if own and theirs else "-"
        values = [cell["collective"], cell["network"], shown(cell["bytes"]), short(own)]
        rows.append("| " + " | ".join([*values, best or "-", short(theirs), gain]) + " |")
    return PAGE.format(seconds=seconds) + "\n".join(rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with clones of mpich and bine-trees")
    parser.add_argument("--collective", choices=COLLECTIVES, default="bcast")
    parser.add_argument("--networks", type=lambda text: text.split(","), default=list(NETWORKS))
    parser.add_argument(
        "--sizes", type=lambda text: [size_of(part) for part in text.split(",")], default=SIZES
    )
    parser.add_argument("--again", action="store_true", help="take times anew that are known")
    parser.add_argument("--seconds", type=float, default=60.0, help="of real time, for each rival")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the page")
    options = parser.parse_args()
    OUT.parent.mkdir(exist_ok=True)
    kept = json.loads(OUT.read_text()) if OUT.is_file() else []
    known: dict[Key, Cell] = {key(cell): cell for cell in kept}
    asked = []
    for cell in measure(options, known):
        asked.append(cell)
        OUT.write_text(json.dumps(list(known.values()), indent=1) + "\n")
        print(line(cell), flush=True)
    if options.table:
        options.table.write_text(page(list(known.values()), options.seconds))
    failing = [cell for cell in asked if ahead(cell)]
    print(f"{len(asked) - len(failing)} of {len(asked)} hold")
    return 1 if failing else 0


if __name__ == "__main__":
    exit_with(main)
