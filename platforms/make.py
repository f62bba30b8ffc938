#!/usr/bin/env python3
"""Writes the named platforms beside this file: `python platforms/make.py [DIRECTORY]`.

Each function is one platform: what its paper gives, what it leaves open, and the assumption made instead.
Every pipe is full duplex, so each direction is a shared resource of its own.
"""

from __future__ import annotations

import csv
import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

Document = dict[str, Any]

MBIT_PER_S = 1e6 / 8  # bytes/s
GBIT_PER_S = 1e9 / 8
# What a connection between two sites carried when paper 2 measured; inferred from its figure 6.
WAN_2006_BYTES_PER_S = 1.5e6


def grid5000_88(wan_bytes_per_s: float | None = None) -> Document:
    """Paper 2, table 3: latencies in µs between and inside the clusters that Lowekamp's method found.

    With `wan_bytes_per_s` every pair of hosts of two sites has a connection of that rate of its own, and
    there are no pipes between sites.
    """
    sizes = [31, 29, 6, 1, 1, 20]
    sites = ["orsay", "orsay", "idpot", "idpot", "idpot", "toulouse"]
    inside_us = [47.56, 47.92, 35.52, None, None, 27.53]
    between_us = {
        (0, 1): 62.10, (0, 2): 12181.52, (0, 3): 12187.24, (0, 4): 12197.49, (0, 5): 5210.99,
        (1, 2): 12181.52, (1, 3): 12198.03, (1, 4): 12195.22, (1, 5): 5211.47,
        (2, 3): 60.08, (2, 4): 60.08, (2, 5): 5388.49,
        (3, 4): 242.47, (3, 5): 5393.98,
        (4, 5): 5394.10,
    }  # fmt: skip
    names = [f"C{k}" for k in range(6)]
    pipes: dict[str, float] = {}
    bridges = []
    for (i, j), latency_us in between_us.items():
        a, b = sites[i], sites[j]
        # Within a site, "up" leads to the cluster of higher number.
        there, back = (f"lan-{a}-up", f"lan-{a}-down") if a == b else (f"wan-{a}-{b}", f"wan-{b}-{a}")
        if a != b and wan_bytes_per_s is not None:
            bridges += bridge_pair(names[i], names[j], latency_us, wan_bytes_per_s, [], [])
            continue
        pipes |= dict.fromkeys((there, back), 10 * GBIT_PER_S if a == b else GBIT_PER_S)
        bridges += bridge_pair(names[i], names[j], latency_us, GBIT_PER_S, [there], [back])
    meshes = [mesh(f"c{k}", sizes[k], us, GBIT_PER_S) for k, us in enumerate(inside_us) if us is not None]
    between_sites = (
        "1 Gb/s between two sites, one pipe per pair of sites and direction"
        if wan_bytes_per_s is None
        else f"{wan_bytes_per_s / 1e6:g} MB/s from a host to another of another site, as one TCP connection "
        "of 18 KB in flight has over 12 ms, and nothing shared; with that rate the order of figure 6 comes "
        "out"
    )
    return {
        **heading("grid5000-88" if wan_bytes_per_s is None else "grid5000-88-2006"),
        "provenance": {
            "source": "Barchet-Steffenel and Mounié, Scheduling heuristics for efficient broadcast "
            "operations on grid environments, table 3: 88 machines of Grid'5000 at Orsay, IDPOT and Toulouse",
            "given": "cluster sizes and all latencies",
            "assumed": "1 Gb/s hosts; 10 Gb/s between the clusters of a site, one pipe per site and "
            f"direction; {between_sites}",
        },
        "nodes": [node for k in range(6) for node in cluster_nodes(f"c{k}", names[k], sites[k], sizes[k])],
        "shared": shared(pipes),
        "meshes": meshes,
        "bridges": bridges,
    }


def teragrid_64() -> Document:
    """Paper 3, section 3: the emulated TeraGrid. The numbers on its figure 6 did not come through."""
    sites = ["sdsc", "anl", "ncsa", "psc"]
    between_us = {
        ("sdsc", "anl"): 29000.0, ("sdsc", "ncsa"): 28000.0, ("sdsc", "psc"): 34500.0,
        ("anl", "ncsa"): 2500.0, ("anl", "psc"): 5500.0, ("ncsa", "psc"): 8000.0,
    }  # fmt: skip
    site_of = {f"C{k + 1}": sites[k // 2] for k in range(8)}
    pipes: dict[str, float] = {}
    bridges = []
    for one, other in combinations(site_of, 2):
        a, b = site_of[one], site_of[other]
        if a == b:
            latency_us, rate, there, back = 200.0, 200 * MBIT_PER_S, [f"lan-{a}-up"], [f"lan-{a}-down"]
        else:
            latency_us, rate = between_us[a, b], 40 * MBIT_PER_S
            there, back = [f"access-{a}-out", f"access-{b}-in"], [f"access-{b}-out", f"access-{a}-in"]
        pipes |= dict.fromkeys(there + back, rate)
        bridges += bridge_pair(one, other, latency_us, 100 * MBIT_PER_S, there, back)
    return {
        **heading("teragrid-64"),
        "provenance": {
            "source": "adaptive broadcast trees by simulated annealing (paper 3, section 3): a simple "
            "TeraGrid of the sites SDSC, ANL, NCSA and PSC with 64 nodes in the clusters C1 to C8",
            "given": "the sites; 8 clusters, 64 nodes in all; 100 Mb/s inside; C2 at SDSC, C8 at PSC",
            "assumed": "8 nodes a cluster, two clusters a site in the order in which the text names the "
            "sites; 60 µs inside a cluster; 200 Mb/s and 200 µs between the clusters of a site; one 40 Mb/s "
            "access pipe per site and direction; wide-area latencies by distance, PSC reached over ANL",
        },
        "nodes": [
            node for name, site in site_of.items() for node in cluster_nodes(name.lower(), name, site, 8)
        ],
        "shared": shared(pipes),
        "meshes": [mesh(name.lower(), 8, 60.0, 100 * MBIT_PER_S) for name in site_of],
        "bridges": bridges,
    }


def cluster_50() -> Document:
    """Paper 4, section 2: 50 Pentium III machines of the ID/HP icluster-1."""
    return {
        **heading("cluster-50"),
        "provenance": {
            "source": "Barchet-Steffenel and Mounié, Fast tuning of intra-cluster collective communications, "
            "section 2: the ID/HP icluster-1, 50 Pentium III machines on a switched 100 Mb/s Ethernet",
            "given": "50 machines, switched 100 Mb/s",
            "assumed": "60 µs latency between any two; the switch itself limits nothing",
        },
        "nodes": cluster_nodes("c0", "C0", "grenoble", 50),
        "meshes": [mesh("c0", 50, 60.0, 100 * MBIT_PER_S)],
    }


def smp_16() -> Document:
    """Paper 5, section 6: 16 nodes on a gigabit switch, full duplex (its assumption 4)."""
    return {
        **heading("smp-16"),
        "provenance": {
            "source": "Axida, Viet and Yoshinaga, Pipelined round-robin broadcast algorithm in homogeneous "
            "clusters of SMP, section 6: 16 Xeon nodes connected by a gigabit switch",
            "given": "16 nodes, 1 Gb/s, full duplex",
            "assumed": "50 µs latency between any two; the switch itself limits nothing, as in the paper's "
            "model (its own cluster falls short of that where nodes change partners)",
        },
        "nodes": cluster_nodes("c0", "C0", None, 16),
        "meshes": [mesh("c0", 16, 50.0, GBIT_PER_S)],
    }


def clouds_34() -> Document:
    """One virtual machine in each of 34 regions of AWS and Azure; clouds-34.csv has the measured values."""
    with (Path(__file__).parent / "clouds-34.csv").open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    rates = {(row["from"], row["to"]): float(row["received_bits_per_s"]) / 8 for row in rows}
    regions = sorted({region for region, _ in rates})
    pipes = {f"{region} out": max(rates[pair] for pair in rates if pair[0] == region) for region in regions}
    pipes |= {f"{region} in": max(rates[pair] for pair in rates if pair[1] == region) for region in regions}
    return {
        **heading("clouds-34", "multi-port"),
        "provenance": {
            "source": "Jain and others, Skyplane: Optimizing Transfer Cost and Throughput Using Cloud-Aware "
            "Overlays (NSDI 2023): profiles/throughput.csv and profiles/latency.csv of "
            "https://github.com/skyplane-project/skyplane at 4f0938f and 945dca2, Apache License 2.0",
            "given": "what 64 TCP connections carried in 5 s from each of 34 regions of AWS (m5.8xlarge) and "
            "Azure (Standard_D32_v5) to each other, January 2022; the shortest round trip of each pair",
            "assumed": "one machine a region; a latency of half a round trip; a machine sends, and receives, "
            "in all what it does over its fastest link, and links share nothing else; left out are regions "
            "without round trips, and Google's, which have none among themselves",
        },
        "nodes": [{"id": region} for region in regions],
        "shared": shared(pipes),
        "links": [
            {
                "from": one,
                "to": other,
                **link(float(row["rtt_ms"]) * 1e3 / 2, rates[one, other]),
                "uses": [f"{one} out", f"{other} in"],
            }
            for row in rows
            for one, other in [(row["from"], row["to"])]
        ],
    }


def heading(name: str, port_model: str = "one-port") -> Document:
    return {"format": "broadleaf-platform/1", "name": name, "port_model": port_model}


def cluster_nodes(prefix: str, cluster: str, site: str | None, count: int) -> list[Document]:
    place = {"cluster": cluster, **({"site": site} if site else {})}
    return [{"id": f"{prefix}-{i}", **place} for i in range(count)]


def shared(pipes: dict[str, float]) -> list[Document]:
    return [{"id": name, "bandwidth_bytes_per_s": rate} for name, rate in pipes.items()]


def link(latency_us: float, bytes_per_s: float) -> Document:
    # Rounded to a picosecond, or 47.56 µs would read 4.7560000000000004e-05.
    return {"latency_s": round(latency_us * 1e-6, 12), "bandwidth_bytes_per_s": bytes_per_s}


def mesh(prefix: str, count: int, latency_us: float, bytes_per_s: float) -> Document:
    return {"nodes": [f"{prefix}-{i}" for i in range(count)], "link": link(latency_us, bytes_per_s)}


def bridge_pair(
    one: str, other: str, latency_us: float, bytes_per_s: float, there: list[str], back: list[str]
) -> list[Document]:
    return [
        {
            "from_cluster": a,
            "to_cluster": b,
            "link": {**link(latency_us, bytes_per_s), **({"uses": uses} if uses else {})},
        }
        for a, b, uses in ((one, other, there), (other, one, back))
    ]


def text_of(document: Document) -> str:
    """JSON with one node, pipe, mesh or bridge a line: short to read, and a change is one line of a diff."""
    fields = []
    for key, value in document.items():
        if isinstance(value, list):
            shown = "[\n  " + ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value) + "\n ]"
        else:
            shown = json.dumps(value, ensure_ascii=False, indent=1).replace("\n", "\n ")
        fields.append(f" {json.dumps(key)}: {shown}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    grids = (grid5000_88(), grid5000_88(WAN_2006_BYTES_PER_S), teragrid_64())
    for document in (*grids, cluster_50(), smp_16(), clouds_34()):
        (folder / f"{document['name']}.json").write_text(text_of(document), encoding="utf-8")


if __name__ == "__main__":
    main()
