"""Paper 2: heuristics for one message between clusters, on random grids and on 88 simulated machines.

Barchet-Steffenel and Mounié, *Scheduling heuristics for efficient broadcast operations on grid environments*:
figures 1 to 4 (`grid_draws`) and 5 and 6 (`grid_runs`).
"""

from __future__ import annotations

from broadleaf.papers import grid_draws, grid_runs
from broadleaf.papers.results import Results, Start


def run(quick: bool, start: Start, gaps: str | None = None) -> Results:
    """All figures; gaps drawn in one way, by default in the two that the page compares."""
    draws = grid_draws.Work(quick, grid_draws.SHOWN_GAPS if gaps is None else (gaps,))
    runs = grid_runs.Work(quick, grid_runs.missing())
    advance = start(draws.steps + runs.steps)
    drawn, ran = draws.run(advance), runs.run(advance)
    return Results(
        sheets=[*drawn.sheets, *ran.sheets],
        figures={**drawn.figures, **ran.figures},
        remarks=[*drawn.remarks, *ran.remarks],
    )
