"""The opening of a paper's page: what reproduces; what does not, and why; what is better here."""

from __future__ import annotations

from typing import NamedTuple


class Verdict(NamedTuple):
    """A sentence or two each; the numbers are in the page's tables."""

    reproduces: str
    does_not: str
    better_here: str


VERDICTS = {
    "trees": Verdict(
        "The heuristics keep their order: binomial trees far below, simple pruning next, the others "
        "close together and falling with the number of nodes.",
        "Simple pruning ends at 45 % where the text says 20 %. Table 3 lies above print at 30 nodes and, but "
        "for simple pruning and binomial trees, below at 65: no density fits both rows. Ways of drawing and "
        "densities were tried; the rest is not explained.",
        "Every plan is simulated with its start-up, not only its load bound; a searched tree, several "
        "trees and the optimum itself are ahead of all printed heuristics.",
    ),
    "tuning": Verdict(
        "On a one-port cluster the models predict what runs, and the technique chosen by them is the "
        "fastest. Under SMPI's default model the bulk gap takes the flat scatter's error from 10 % to 0.",
        "Between namespaces and on local ranks the models are off by 47 to 63 % (medians), which is not "
        "explained; local ranks take longer than predicted, and the bulk gap makes that worse. The printed "
        "binomial models err off powers of two.",
        "Corrected models for any number of nodes, the choice by an event simulation of the plan, and "
        "its rules in the form that Open MPI and MPICH read.",
    ),
    "grid": Verdict(
        "The order of the heuristics, their growth with the clusters, and how often each is "
        "best, if each cluster has one gap and a pair takes the smaller.",
        "How the paper drew its gaps is not stated, so that this is inferred. Figures 5 and 6 need the "
        "wide-area rates of their time; one rate gives flat 3.8 times ECEF's time, and the printed six is "
        "not explained.",
        "Segmented plans over several trees are 2 to 8 times as fast at 4 MiB as the paper's strategies, "
        "which send the message whole.",
    ),
    "adaptive": Verdict(
        "Replanning while a program runs is faster than any fixed plan where links are loaded.",
        "The annealer's gain over MPICH-G2's tree is smaller than printed; the remarks have the numbers. Its "
        "loss without load comes out if each tree is broadcast by itself before the data.",
        "Plans that follow the passive timing of the program's own broadcasts gain more than the "
        "paper's, under load, and cost next to nothing without.",
    ),
    "round-robin": Verdict(
        "Table 2 by the paper's rule, and round-robin as the fastest on a cluster whose nodes have "
        "one partner at a time.",
        "Where a node may send to one and receive from another at once, a pipelined chain is as fast; "
        "on eight ranks that share two cores round-robin takes 1.8 times as long as the MPI's own broadcast.",
        "Messages of the size that suits the start-up, two-tree and circulant pipelines, and the all- "
        "gather itself, which meets its limit on any number of full-duplex nodes.",
    ),
}
