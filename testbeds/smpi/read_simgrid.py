#!/usr/bin/env python3
"""A SimGrid platform as Broadleaf's: SimGrid itself is asked for hosts, routes and links.

    python testbeds/smpi/read_simgrid.py PLATFORM.xml HOSTS -o platform.json

Transfers that meet on a link share it, so the platform is a bounded multi-port one: the link that all of a
host's routes begin (or end) with is its NIC, every other link that several pairs use is a shared resource.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import broadleaf as bl

HERE = Path(__file__).resolve().parent


class ReadError(Exception):
    """What SimGrid did not like, in one line."""


def ask(xml: Path, hosts: Path) -> dict[str, Any]:
    """Hosts, links and routes as SimGrid has them."""
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "routes"
        command = ["g++", "-std=c++17", "-O1", str(HERE / "routes.cpp"), "-lsimgrid", "-o", str(program)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            raise ReadError(
                "g++ is missing; install it (Debian: apt-get install g++ libsimgrid-dev)"
            ) from None
        if done.returncode:
            raise ReadError(
                "g++ cannot build routes.cpp; install SimGrid (Debian: apt-get install libsimgrid-dev)"
            )
        quiet = ["--log=root.thres:critical"]
        done = subprocess.run([program, xml, hosts, *quiet], capture_output=True, text=True)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise ReadError(f"SimGrid cannot read {xml}: {lines[0]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def platform_of(xml: Path, hosts: Path) -> bl.Platform:
    """The platform between the hosts of a host file."""
    answer = ask(xml, hosts)
    return bl.Platform.from_dict(document_of(answer, xml.stem))


def document_of(answer: dict[str, Any], name: str) -> dict[str, Any]:
    names, links, routes = answer["hosts"], answer["links"], answer["routes"]
    senders, receivers, users = defaultdict(set), defaultdict(set), defaultdict(int)
    for source, target, _, route in routes:
        for link in route:
            senders[link].add(source)
            receivers[link].add(target)
            users[link] += 1
    everyone = len(names) - 1
    out = [float("inf")] * len(names)
    into = [float("inf")] * len(names)
    for link, count in users.items():
        rate = links[link]["bandwidth_bytes_per_s"]
        if links[link]["shared"] and count == everyone and len(senders[link]) == 1:
            (host,) = senders[link]
            out[host] = min(out[host], rate)
        elif links[link]["shared"] and count == everyone and len(receivers[link]) == 1:
            (host,) = receivers[link]
            into[host] = min(into[host], rate)
    own = {
        link
        for link, count in users.items()
        if count == everyone and (len(senders[link]) == 1 or len(receivers[link]) == 1)
    }
    shared = [
        link for link, count in users.items() if links[link]["shared"] and count > 1 and link not in own
    ]
    is_shared = set(shared)
    nodes = []
    for at, host in enumerate(names):
        node: dict[str, Any] = {"id": host}
        if out[at] < float("inf"):
            node["out_bytes_per_s"] = out[at]
        if into[at] < float("inf"):
            node["in_bytes_per_s"] = into[at]
        nodes.append(node)
    entries = []
    for source, target, latency, route in routes:
        entry: dict[str, Any] = {"from": names[source], "to": names[target], "latency_s": latency}
        if route:
            entry["bandwidth_bytes_per_s"] = min(links[link]["bandwidth_bytes_per_s"] for link in route)
        uses = sorted({link for link in route if link in is_shared})
        if uses:
            entry["uses"] = uses
        entries.append(entry)
    return {
        "format": "broadleaf-platform/1",
        "name": name,
        "port_model": "multi-port",
        "nodes": nodes,
        "shared": [
            {"id": link, "bandwidth_bytes_per_s": links[link]["bandwidth_bytes_per_s"]} for link in shared
        ],
        "links": entries,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Reads a SimGrid platform by asking SimGrid.")
    parser.add_argument("xml", type=Path)
    parser.add_argument("hosts", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        platform_of(arguments.xml, arguments.hosts).save(arguments.output)
    except (ReadError, bl.PlatformError, OSError) as error:
        print(f"read_simgrid: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
