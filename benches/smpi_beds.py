"""The networks of the sweep under SMPI: two grids, a cluster, a fat tree, a dragonfly, a random grid."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import broadleaf as bl
from broadleaf.formats.simgrid import load_simgrid, write_simgrid

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Network:
    """SimGrid's files of a network, and the runtime's platform for it."""

    xml: Path
    hosts: Path
    platform: Path


def named(name: str, folder: Path) -> Network:
    """One of platforms/."""
    return written(bl.Platform.load(ROOT / f"platforms/{name}.json"), folder)


def written(platform: bl.Platform, folder: Path) -> Network:
    platform.save(folder / "platform.json")
    return Network(*write_simgrid(platform, folder), folder / "platform.json")


def of_one_zone(topology: str, parameters: str, count: int, folder: Path) -> Network:
    """One of SimGrid's own topologies, 1 Gb/s and 10 µs a link; SimGrid computes its routes."""
    xml, hosts = folder / "platform.xml", folder / "platform.hosts"
    cluster = f'<cluster id="net" prefix="h-" suffix="" radical="0-{count - 1}" speed="1Gf" bw="125MBps"'
    shape = f'lat="10us" sharing_policy="SPLITDUPLEX" topology="{topology}" topo_parameters="{parameters}"'
    xml.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f'<platform version="4.1"><zone id="world" routing="Full">{cluster} {shape}/></zone></platform>\n'
    )
    hosts.write_text("".join(f"h-{at}\n" for at in range(count)))
    load_simgrid(xml, hosts, "multi-port").save(folder / "platform.json")
    return Network(xml, hosts, folder / "platform.json")


def random_grid(seed: int, folder: Path) -> Network:
    """Four to eight clusters of 3 to 16 hosts."""
    draw = random.Random(seed)
    sizes = [draw.randint(3, 16) for _ in range(draw.randint(4, 8))]
    return grid(f"random-grid-{seed}", sizes, draw, folder)


def grid(name: str, sizes: list[int], draw: random.Random, folder: Path) -> Network:
    """Clusters of a number of hosts of 1 Gb/s; between each two pipes of 0.1 to 1 Gb/s and 0.5 to 15 ms."""
    names = [[f"c{cluster}-{at}" for at in range(size)] for cluster, size in enumerate(sizes)]
    meshes = [
        {"nodes": members, "link": {"latency_s": draw.uniform(20e-6, 80e-6), "bandwidth_bytes_per_s": 125e6}}
        for members in names
    ]
    shared: list[dict[str, Any]] = []
    bridges: list[dict[str, Any]] = []
    for pair in combinations(range(len(sizes)), 2):
        latency_s, rate = draw.uniform(0.5e-3, 15e-3), draw.uniform(12.5e6, 125e6)
        for one, other in (pair, pair[::-1]):
            pipe = f"c{one}-to-c{other}"
            shared.append({"id": pipe, "bandwidth_bytes_per_s": rate})
            link = {"latency_s": latency_s, "bandwidth_bytes_per_s": 125e6, "uses": [pipe]}
            bridges.append({"from_cluster": f"C{one}", "to_cluster": f"C{other}", "link": link})
    document = {
        "format": "broadleaf-platform/1",
        "name": name,
        "port_model": "one-port",
        "nodes": [
            {"id": host, "cluster": f"C{cluster}"}
            for cluster, members in enumerate(names)
            for host in members
        ],
        "shared": shared,
        "meshes": meshes,
        "bridges": bridges,
    }
    return written(bl.Platform.from_dict(document), folder)


def two_sites(folder: Path) -> Network:
    """Two clusters of eight hosts, 10 ms apart; all links and the pipe each way have 1 Gb/s."""
    names = [[f"c{cluster}-{at}" for at in range(8)] for cluster in range(2)]
    rate = {"bandwidth_bytes_per_s": 125e6}
    pipes = {(0, 1): "there", (1, 0): "back"}
    document = {
        "format": "broadleaf-platform/1",
        "name": "two-sites",
        "port_model": "one-port",
        "nodes": [{"id": host, "cluster": f"C{at}"} for at, members in enumerate(names) for host in members],
        "shared": [{"id": pipe, **rate} for pipe in pipes.values()],
        "meshes": [{"nodes": members, "link": {"latency_s": 50e-6, **rate}} for members in names],
        "bridges": [
            {
                "from_cluster": f"C{one}",
                "to_cluster": f"C{other}",
                "link": {"latency_s": 10e-3, "uses": [pipe], **rate},
            }
            for (one, other), pipe in pipes.items()
        ],
    }
    return written(bl.Platform.from_dict(document), folder)


def unequal_hosts(seed: int, folder: Path) -> Network:
    """Six to 24 hosts of 0.1 to 10 Gb/s; a link has the rate of its slower end. No pipes are shared."""
    draw = random.Random(seed)
    rates = [draw.choice([12.5e6, 125e6, 125e6, 312.5e6, 1.25e9]) for _ in range(draw.randint(6, 24))]
    latency_s = draw.uniform(10e-6, 80e-6)
    links = [
        {
            "from": f"h{one}",
            "to": f"h{other}",
            "both_ways": True,
            "latency_s": latency_s,
            "bandwidth_bytes_per_s": min(rates[one], rates[other]),
        }
        for one, other in combinations(range(len(rates)), 2)
    ]
    document = {
        "format": "broadleaf-platform/1",
        "name": f"unequal-hosts-{seed}",
        "port_model": "one-port",
        "nodes": [{"id": f"h{at}"} for at in range(len(rates))],
        "links": links,
    }
    return written(bl.Platform.from_dict(document), folder)


# No other seed was ever drawn, and nothing has been tuned to this one.
NETWORKS: dict[str, Callable[[Path], Network]] = {
    "grid5000-88": lambda folder: named("grid5000-88", folder),
    "teragrid-64": lambda folder: named("teragrid-64", folder),
    "cluster-16": lambda folder: named("smp-16", folder),
    "fat-tree-64": lambda folder: of_one_zone("FAT_TREE", "3;4,4,4;1,2,2;1,1,2", 64, folder),
    "dragonfly-72": lambda folder: of_one_zone("DRAGONFLY", "3,4;4,3;3,1;2", 72, folder),
    "random-grid": lambda folder: random_grid(20261121, folder),
}

# Selected by name only.
EXTRA_NETWORKS: dict[str, Callable[[Path], Network]] = {
    "torus-36": lambda folder: of_one_zone("TORUS", "6,6", 36, folder),
    "fat-tree-32": lambda folder: of_one_zone("FAT_TREE", "3;2,4,4;1,2,2;1,1,2", 32, folder),
    "two-sites": two_sites,
    "unequal-hosts": lambda folder: unequal_hosts(4, folder),
}
