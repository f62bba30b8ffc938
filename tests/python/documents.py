"""Platforms that several tests start from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TWO_SITES: dict[str, Any] = {
    "format": "broadleaf-platform/1",
    "name": "two-sites",
    "port_model": "one-port",
    "nodes": [
        {"id": "a0", "cluster": "A", "site": "x", "host": "n01"},
        {"id": "a1", "cluster": "A", "site": "x"},
        {"id": "b0", "cluster": "B", "site": "y"},
        {"id": "sw", "kind": "switch"},
    ],
    "shared": [{"id": "wan", "bandwidth_bytes_per_s": 1.25e8}],
    "links": [
        {"from": "a0", "to": "a1", "both_ways": True, "latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8},
        {
            "from": "a0",
            "to": "b0",
            "latency_s": 5e-3,
            "gap": [[1, 1e-5], [65536, 6e-4], [1048576, 9e-3]],
            "uses": ["wan"],
        },
    ],
    "meshes": [{"nodes": ["a0", "a1"], "link": {"latency_s": 5e-5, "bandwidth_bytes_per_s": 1.25e8}}],
    "bridges": [
        {
            "from_cluster": "A",
            "to_cluster": "B",
            "both_ways": True,
            "link": {"latency_s": 5e-3, "bandwidth_bytes_per_s": 1.25e8, "uses": ["wan"]},
        }
    ],
}

# A chain a -> b -> c whose times come out round: 1 ms latency, 1 MB/s.
CHAIN: dict[str, Any] = {
    "format": "broadleaf-platform/1",
    "name": "chain-of-three",
    "port_model": "one-port",
    "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
    "links": [
        {"from": "a", "to": "b", "both_ways": True, "latency_s": 1e-3, "bandwidth_bytes_per_s": 1e6},
        {"from": "b", "to": "c", "both_ways": True, "latency_s": 1e-3, "bandwidth_bytes_per_s": 1e6},
    ],
}


def one_mesh(name: str, port_model: str, names: list[str], bandwidth_bytes_per_s: float) -> dict[str, Any]:
    """Hosts that all reach each other at one rate, without latency."""
    return {
        "format": "broadleaf-platform/1",
        "name": name,
        "port_model": port_model,
        "nodes": [{"id": name} for name in names],
        "meshes": [{"nodes": names, "link": {"bandwidth_bytes_per_s": bandwidth_bytes_per_s}}],
    }


def write(path: Path | str, document: Any) -> None:
    """Writes a document as a test's input; NaN too, which the commands must refuse."""
    Path(path).write_text(json.dumps(document))
