"""Paper 2: heuristics for one message between clusters, on random grids and on 88 simulated machines.

Barchet-Steffenel and Mounié, *Scheduling heuristics for efficient broadcast operations on grid environments*:
figures 1 to 4 (`draws`) and 5 and 6 (`simulated`, `tables`).
"""

from __future__ import annotations

from pathlib import Path

from broadleaf.papers.grid import draws, simulated, tables
from broadleaf.papers.journal import Journal
from broadleaf.papers.results import Results, Start


def run(quick: bool, start: Start, gaps: str | None = None, keep: Path | None = None) -> Results:
    """All figures; gaps drawn in one way, by default in the two that the page compares.

    `keep` is a file for the steps' results; an interrupted run resumes from it. It is removed at the end,
    unless something was not measured."""
    journal = Journal(keep)
    random_grids = draws.Work(quick, draws.SHOWN_GAPS if gaps is None else (gaps,))
    machines = simulated.Work(quick, simulated.missing())
    advance = start(random_grids.steps + machines.steps)
    drawn = random_grids.run(advance, journal)
    networks, remarks, is_whole = machines.run(advance, journal)
    ran = [tables.results(network, samples) for network, samples in networks]
    results = Results(
        sheets=[*drawn.sheets, *(sheet for found in ran for sheet in found.sheets)],
        figures={
            **drawn.figures,
            **{name: figure for found in ran for name, figure in found.figures.items()},
        },
        remarks=[*drawn.remarks, *remarks],
    )
    if is_whole:
        journal.discard()
    return results
