"""Latency and bandwidth matrices: the form in which papers and `iperf` scripts give a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from broadleaf._core import Platform
from broadleaf.errors import PlatformError


def platform_of_matrices(
    latency_s: ArrayLike,
    bandwidth_bytes_per_s: ArrayLike,
    ids: Sequence[str] | None,
    links: ArrayLike | None,
    name: str,
    port_model: str,
) -> Platform:
    """The platform with a link of `latency_s[i, j]` and `bandwidth_bytes_per_s[i, j]` from node i to node j.

    Nodes are called `ids`, or n0, n1, ...; the diagonals are ignored. Without `links` there is a link for
    every ordered pair. Raises PlatformError for shapes that do not match and values the format refuses.
    """
    latency = square(latency_s, "latency_s")
    bandwidth = square(bandwidth_bytes_per_s, "bandwidth_bytes_per_s")
    count = len(latency)
    if len(bandwidth) != count:
        raise PlatformError(
            f"latency_s is {count} x {count}, bandwidth_bytes_per_s {len(bandwidth)} x {len(bandwidth)}; "
            "give both for the same nodes"
        )
    names = [f"n{index}" for index in range(count)] if ids is None else [str(node) for node in ids]
    if len(names) != count:
        raise PlatformError(f"{len(names)} ids for {count} nodes; give one id a row")
    present = np.ones((count, count), dtype=bool) if links is None else np.asarray(links, dtype=bool)
    if present.shape != (count, count):
        raise PlatformError(f"links has shape {present.shape} for {count} nodes; give a flag for each pair")
    entries: list[dict[str, Any]] = []
    for row, column in np.argwhere(present & ~np.eye(count, dtype=bool)).tolist():
        pair = {"from": names[row], "to": names[column]}
        for matrix, field in ((latency, "latency_s"), (bandwidth, "bandwidth_bytes_per_s")):
            if not np.isfinite(matrix[row, column]):
                raise PlatformError(
                    f"{field}[{row}, {column}] is {matrix[row, column]}, not a finite number; "
                    "write a finite number, or set links[i, j] to False where there is no link"
                )
            pair[field] = matrix[row, column]
        entries.append(pair)
    return Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": name,
            "port_model": port_model,
            "nodes": [{"id": node} for node in names],
            "links": entries,
        }
    )


def square(matrix: ArrayLike, field: str) -> NDArray[np.float64]:
    """The argument as a square array of numbers; raises PlatformError naming it otherwise."""
    try:
        array = np.asarray(matrix, dtype=float)
    except (TypeError, ValueError) as error:
        raise PlatformError(f"{field}: {error}; give a square matrix of numbers") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise PlatformError(f"{field} has shape {array.shape}; give a square matrix, one row a node")
    return array


def matrices_of_platform(
    platform: Platform, at_bytes: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Latency (s) and bandwidth (bytes/s) of every ordered pair; NaN where there is no link.

    Two numbers a pair cannot hold a start-up time, a gap table or an unlimited rate. With `at_bytes` the
    bandwidth is what a transfer of that size gets, s / T(s); without, such a link raises PlatformError,
    as do switches and shared resources, which no matrix can hold.
    """
    refuse_more_than_pairs(platform)
    nodes = platform.nodes
    index = {node: at for at, node in enumerate(nodes)}
    latency = np.full((len(nodes), len(nodes)), np.nan)
    bandwidth = np.full_like(latency, np.nan)
    for source in nodes:
        for target in platform.successors(source):
            link = platform.link(source, target) or {}
            pair = index[source], index[target]
            latency[pair] = link.get("latency_s", 0.0)
            bandwidth[pair] = pair_bandwidth(platform, source, target, link, at_bytes)
    return latency, bandwidth


def pair_bandwidth(
    platform: Platform, source: str, target: str, link: dict[str, Any], at_bytes: int | None
) -> float:
    if at_bytes is not None:
        busy_s = platform.transfer_s(source, target, at_bytes)
        if busy_s > 0.0:
            return at_bytes / busy_s
        raise PlatformError(f"the link {source} to {target} takes no time: no matrix can hold it; limit it")
    for field, what in (("gap", "a gap table"), ("startup_s", "a start-up time")):
        if link.get(field):
            raise PlatformError(
                f"the link {source} to {target} has {what}, which matrices cannot hold; "
                "name the size at which to take the rate (--at 1MiB), or convert to NetworkX"
            )
    if "bandwidth_bytes_per_s" not in link:
        raise PlatformError(f"the link {source} to {target} is unlimited: no matrix can hold it; limit it")
    return float(link["bandwidth_bytes_per_s"])


def refuse_more_than_pairs(platform: Platform) -> None:
    """Raises PlatformError where the platform says more than two numbers for each pair of nodes."""
    document = platform.to_dict()
    if document.get("shared"):
        what = f'the shared resource "{document["shared"][0]["id"]}"'
    elif switch := next((node["id"] for node in document["nodes"] if node.get("kind") == "switch"), None):
        what = f'the switch "{switch}"'
    elif local := next((node["id"] for node in document["nodes"] if "local_broadcast_s" in node), None):
        what = f'the local broadcast of "{local}"'
    else:
        return
    raise PlatformError(f"{what} has no place in matrices; convert to NetworkX instead, which keeps it")
