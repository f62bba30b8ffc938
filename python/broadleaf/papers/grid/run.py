"""Paper 2: heuristics for one message between clusters, on random grids and on 88 simulated machines.

Barchet-Steffenel and Mounié, *Scheduling heuristics for efficient broadcast operations on grid environments*:
figures 1 to 4 (`draws`) and 5 and 6 (`simulated`, `tables`).
"""

from __future__ import annotations

from broadleaf.papers.grid import draws, simulated, tables
from broadleaf.papers.results import Results, Start


def run(quick: bool, start: Start, gaps: str | None = None) -> Results:
    """All figures; gaps drawn in one way, by default in the two that the page compares."""
    random_grids = draws.Work(quick, draws.SHOWN_GAPS if gaps is None else (gaps,))
    machines = simulated.Work(quick, simulated.missing())
    advance = start(random_grids.steps + machines.steps)
    drawn = random_grids.run(advance)
    networks, remarks = machines.run(advance)
    ran = [tables.results(network, samples) for network, samples in networks]
    return Results(
        sheets=[*drawn.sheets, *(sheet for found in ran for sheet in found.sheets)],
        figures={
            **drawn.figures,
            **{name: figure for found in ran for name, figure in found.figures.items()},
        },
        remarks=[*drawn.remarks, *remarks],
    )
