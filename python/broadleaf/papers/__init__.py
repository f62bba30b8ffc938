"""The papers' experiments, run again: one file a paper, each a function from effort to results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broadleaf.papers import trees, tuning
from broadleaf.papers import grid, trees
from broadleaf.papers.results import Results, Start


@dataclass(frozen=True)
class Paper:
    """One paper's experiments."""

    name: str
    title: str
    # Whether to run the short version, and whom to tell how far it is.
    run: Callable[[bool, Start], Results]


PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "trees", "Beaumont, Marchal and Robert: Broadcast trees for heterogeneous platforms", trees.run
        ),
        Paper(
            "tuning",
            "Barchet-Steffenel and Mounié: Fast tuning of intra-cluster collective communications",
            tuning.run,
            "grid",
            "Barchet-Steffenel and Mounié: Scheduling heuristics for efficient broadcast operations on grids",
            grid.run,
        ),
    )
}
