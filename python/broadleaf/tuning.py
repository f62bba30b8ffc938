"""The input and output of `broadleaf tune`: choices by nodes and size, as a document and in remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import broadleaf as bl
from broadleaf.measured import measured_of
from broadleaf.mpi.rules import RulesFile
from broadleaf.units import size

COLLECTIVES = ("bcast", "scatter")
# 1 B to 16 MiB.
SIZES = [1 << power for power in range(25)]
# More nodes than this only on request.
MOST_NODES = 1024
# A rule that costs more than this factor over the choice gets a remark.
WORTH_SAYING = 1.05


def survey(
    network: bl.Platform,
    nodes: Sequence[int],
    sizes: Sequence[int],
    root: str | None,
    collectives: Sequence[str],
) -> list[bl.Choice]:
    tables = (bl.tune(network, nodes, sizes, root=root, collective=name) for name in collectives)
    return [choice for table in tables for choice in table]


def default_nodes(hosts: int) -> list[int]:
    """2, 3, 4, 6, 8, 12 … and all hosts: trees change most at and between powers of two."""
    most = max(2, min(hosts, MOST_NODES))
    steps = [count << power for power in range(10) for count in (2, 3)]
    return sorted({count for count in steps if count < most} | {most})


def document(choice: bl.Choice) -> dict[str, Any]:
    """A choice in the document of `--json`."""
    chosen, printed = choice.chosen, choice.chosen_as_printed
    return {
        "collective": choice.collective,
        "nodes": choice.nodes,
        "bytes": choice.message_bytes,
        "algorithm": chosen.algorithm,
        "segment_bytes": chosen.segment_bytes,
        "expected_s": chosen.expected_s,
        "algorithm_as_printed": printed.algorithm,
        "expected_as_printed_s": printed.expected_s,
        "forecasts": [
            {
                "algorithm": forecast.algorithm,
                "planner": forecast.planner,
                "protocol": forecast.protocol,
                "segment_bytes": forecast.segment_bytes,
                "formula": forecast.formula,
                "printed_s": forecast.printed_s,
                "printed_is_bound": forecast.printed_is_bound,
                "corrected_s": forecast.corrected_s,
                "simulated_s": forecast.simulated_s,
            }
            for forecast in choice.forecasts
        ],
    }


def remarks_on(choices: Sequence[bl.Choice], rules: RulesFile | None, mpi: str | None) -> list[str]:
    """Remarks on the choices and the rules."""
    over = f"over {WORTH_SAYING - 1:.0%}"
    remarks = []
    misled = [c for c in choices if loss_as_printed(c) > WORTH_SAYING]
    if misled:
        worst = max(misled, key=loss_as_printed)
        remarks.append(
            f"the printed models choose worse by {over} in {len(misled)} of {len(choices)} cases: "
            f"{size(worst.message_bytes)} on {worst.nodes} nodes takes {loss_as_printed(worst):.2f} times "
            f"as long with {worst.chosen_as_printed.algorithm} as with {worst.chosen.algorithm}"
        )
    if rules is None:
        return remarks
    lossy = [rule for rule in rules.rules if rule["worst_ratio"] > WORTH_SAYING]
    if lossy:
        rule = max(lossy, key=lambda rule: rule["worst_ratio"])
        remarks.append(
            f"{mpi} cannot be told all that is chosen: {len(lossy)} of {len(rules.rules)} rules are expected "
            f"to take {over} longer, at worst {rule['worst_ratio']:.2f} times ({rule['algorithm']} "
            f"{rule['collective']} on {rule['nodes']} nodes)"
        )
    if mpi == "openmpi" and any(rule["collective"] == "scatter" for rule in rules.rules):
        remarks.append(
            "scatter has one rule for all sizes: its count is significant at the root only, but Open MPI "
            "chooses by each rank's own count, and ranks that choose differently wait forever"
        )
    return remarks


def loss_as_printed(choice: bl.Choice) -> float:
    """The predicted time of the printed models' choice over the best time."""
    return choice.chosen_as_printed.expected_s / choice.chosen.expected_s


def accuracy_of(network: bl.Platform) -> str:
    """What is known of the errors of the expected times, in a line."""
    line = "expected times have no interval: measure times no algorithm of an MPI"
    ratios = rehearsed_ratios(network)
    if not ratios:
        return line
    took = f"{min(ratios):.2g} to {max(ratios):.2g} times their prediction"
    return f"{line}; the broadcasts that it rehearsed on {network.name} took {took}"


def rehearsed_ratios(network: bl.Platform) -> list[float]:
    """The least and the greatest time of rehearsed broadcasts over their predictions, by size; provenance may
    be any JSON."""
    rows = (measured_of(network) or {}).get("rehearsed")
    ratios = []
    for row in rows if isinstance(rows, list) else []:
        try:
            ratios += [float(row[name]) / float(row["predicted_s"]) for name in ("least_s", "greatest_s")]
        except (TypeError, ValueError, KeyError, ZeroDivisionError):
            continue
    return ratios
