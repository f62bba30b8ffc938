"""The papers' experiments, run again: one folder a paper, each `run` a function from effort to results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broadleaf.papers.adaptive import run as adaptive
from broadleaf.papers.grid import draws as grid_draws
from broadleaf.papers.grid import run as grid
from broadleaf.papers.results import Results
from broadleaf.papers.round_robin import run as round_robin
from broadleaf.papers.trees import run as trees
from broadleaf.papers.tuning import run as tuning
from broadleaf.papers.verdicts import VERDICTS, Verdict


@dataclass(frozen=True)
class Paper:
    """One paper's experiments."""

    name: str
    title: str
    verdict: Verdict
    # Whether to run the short version, and the progress callback.
    run: Callable[..., Results]
    # Where the paper leaves open how gaps are drawn: `run` has an argument `gaps`, one of the possible ways.
    draws_gaps: bool = False
    # Long experiments: `run` has an argument `keep`, a file in which it saves its steps, to resume from it.
    is_kept: bool = False


PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "trees",
            "Beaumont, Marchal and Robert: Broadcast trees for heterogeneous platforms",
            VERDICTS["trees"],
            trees.run,
            is_kept=True,
        ),
        Paper(
            "tuning",
            "Barchet-Steffenel and Mounié: Fast tuning of intra-cluster collective communications",
            VERDICTS["tuning"],
            tuning.run,
            is_kept=True,
        ),
        Paper(
            "grid",
            "Barchet-Steffenel and Mounié: Scheduling heuristics for efficient broadcast operations on grids",
            VERDICTS["grid"],
            grid.run,
            draws_gaps=True,
            is_kept=True,
        ),
        Paper(
            "adaptive",
            "Adaptive broadcast trees by simulated annealing",
            VERDICTS["adaptive"],
            adaptive.run,
        ),
        Paper(
            "round-robin",
            "Axida, Viet and Yoshinaga: Pipelined round-robin broadcast",
            VERDICTS["round-robin"],
            round_robin.run,
            is_kept=True,
        ),
    )
}

# The ways to draw gaps, for the papers that leave it open.
GAPS = grid_draws.GAPS
