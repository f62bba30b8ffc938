#!/usr/bin/env python3
"""One network described in several ways: the plans' times, predicted and under SMPI, beside each other.

    benches/descriptions.py [--networks A,B] [--sizes 1MiB,4MiB]

The descriptions: the network's own file; every pair's own link, with and without clusters; matrices of
latency and bandwidth, which lack shared pipes; SimGrid's XML, imported as one-port and as multi-port. All
plans run on the same SimGrid platform. Simulated seconds of the second broadcast from the first rank; raw
samples go to .bench/descriptions.json.
Fails where one description's broadcast is over 3 % slower than another's.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from refusals import exit_with
from smpi_beds import NETWORKS, ROOT, Network

import broadleaf as bl
from broadleaf import smpi
from broadleaf.benchmarks import OURS
from broadleaf.benchmarks.limit import limit_s
from broadleaf.benchmarks.smpi import Bed, simulated
from broadleaf.formats.simgrid import load_simgrid
from broadleaf.units import parse_size, seconds

OUT = ROOT / ".bench/descriptions.json"
# Largest difference between two descriptions.
WITHIN = 1.03
TIMEOUT_S = 300.0


def pairwise(platform: bl.Platform, *, with_clusters: bool) -> bl.Platform:
    """Each ordered pair's own link, in place of meshes and bridges."""
    document = platform.to_dict()
    cluster = {node["id"]: node.get("cluster") for node in document["nodes"]}
    names = list(cluster)
    links: dict[tuple[str, str], dict[str, Any]] = {}
    for mesh in document.pop("meshes", []):
        links |= {
            (one, other): mesh["link"] for one in mesh["nodes"] for other in mesh["nodes"] if one != other
        }
    for bridge in document.pop("bridges", []):
        ways = [(bridge["from_cluster"], bridge["to_cluster"])]
        ways += [ways[0][::-1]] if bridge.get("both_ways") else []
        wanted = {(one, other) for one in names for other in names if (cluster[one], cluster[other]) in ways}
        links |= dict.fromkeys(wanted, bridge["link"])
    for link in document.pop("links", []):
        way = (link.pop("from"), link.pop("to"))
        links[way] = link
        if link.pop("both_ways", False):
            links[way[::-1]] = link
    document["links"] = [{"from": one, "to": other, **link} for (one, other), link in links.items()]
    if not with_clusters:
        document["nodes"] = [
            {name: value for name, value in node.items() if name not in ("cluster", "site")}
            for node in document["nodes"]
        ]
    return bl.Platform.from_dict(document)


def matrices(platform: bl.Platform) -> bl.Platform:
    """Latency and bandwidth of each pair, as a file of CSV matrices holds them."""
    document = pairwise(platform, with_clusters=False).to_dict()
    at = {node["id"]: index for index, node in enumerate(document["nodes"])}
    latency_s, rate = np.zeros((len(at), len(at))), np.full((len(at), len(at)), np.inf)
    pipes = {pipe["id"]: pipe["bandwidth_bytes_per_s"] for pipe in document.get("shared", [])}
    for link in document["links"]:
        pair = at[link["from"]], at[link["to"]]
        latency_s[pair] = link.get("latency_s", 0.0)
        rates = [link.get("bandwidth_bytes_per_s", np.inf), *(pipes[use] for use in link.get("uses", []))]
        rate[pair] = min(rates)
    return bl.Platform.from_matrices(latency_s, rate, ids=list(at))


def descriptions(network: Network) -> dict[str, bl.Platform]:
    own = bl.Platform.load(network.platform)
    return {
        "own file": own,
        "links, clusters": pairwise(own, with_clusters=True),
        "links": pairwise(own, with_clusters=False),
        "matrices": matrices(own),
        "XML, one-port": load_simgrid(network.xml, network.hosts, "one-port"),
        "XML, multi-port": load_simgrid(network.xml, network.hosts, "multi-port"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--sizes", default="64KiB,1MiB,4MiB,16MiB")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    is_met = True
    with tempfile.TemporaryDirectory(prefix="broadleaf-descriptions-") as scratch:
        program = smpi.planned_program(ROOT / "testbeds/bcast.c", Path(scratch) / "bcast-broadleaf")
        for name in options.networks.split(","):
            folder = Path(scratch) / name
            folder.mkdir()
            network = NETWORKS[name](folder)
            bed = Bed(program, program, network.xml, network.hosts)
            told = descriptions(network)
            root = told["own file"].hosts[0]
            for size in map(parse_size, options.sizes.split(",")):
                times: list[float] = []
                for what, platform in told.items():
                    described = folder / "described.json"
                    platform.save(described)
                    predicted = bl.plan(platform, root, size).predicted
                    assert predicted is not None
                    (took_s,) = simulated(bed, OURS, size, described, TIMEOUT_S) or (float("inf"),)
                    times.append(took_s)
                    row = {
                        "network": name,
                        "bytes": size,
                        "description": what,
                        "predicted_s": predicted.makespan_s,
                        "seconds": took_s,
                        "limit_s": limit_s(told["own file"], root, size),
                    }
                    rows.append(row)
                    line = f"{name}, {size} bytes, {what}: predicted {seconds(row['predicted_s'])}, "
                    line += f"run {seconds(took_s)}, {took_s / row['limit_s']:.2f} x limit"
                    print(line + f", {took_s / min(times):.3f} x best so far", flush=True)
                is_met = is_met and max(times) <= WITHIN * min(times)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=1))
    return int(not is_met)


if __name__ == "__main__":
    exit_with(main)
