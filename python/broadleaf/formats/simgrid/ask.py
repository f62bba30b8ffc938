"""Platform files of any zone type, by the routes that SimGrid computes for them."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from xml.parsers import expat

from broadleaf.errors import PlatformError
from broadleaf.files import read_regular
from broadleaf.formats.simgrid.network import Link, Network, Route
from broadleaf.formats.simgrid.plain import QUANTITY, RATES

TIMEOUT_S = 300.0
# SimGrid computes the route of every pair: 2,048 hosts take about half a minute.
MOST_HOSTS = 4096
FEWER = "name the hosts you use in a file, one a line, and give it with --hosts"


def ask_simgrid(path: Path, reason: str, hosts: Sequence[str] | None = None) -> Network:
    """The network as SimGrid builds it. `reason` states why SimGrid is needed. With `hosts`, only the routes
    between these are computed: those of thousands of hosts take minutes.

    A small C++ program, compiled against the installed SimGrid, prints the routes. Raises PlatformError
    where SimGrid is not installed, and for a file that it refuses.
    """
    with tempfile.TemporaryDirectory(prefix="broadleaf-simgrid-") as folder:
        program = Path(folder) / "routes"
        build(program, path, reason)
        try:
            done = subprocess.run(
                [str(program), str(path.resolve()), str(MOST_HOSTS), "--log=root.thres:error"],
                input="".join(f"{host}\n" for host in hosts or ()),
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                cwd=folder,
            )
        except subprocess.TimeoutExpired:
            raise PlatformError(
                f"{path}: SimGrid has not given all routes after {TIMEOUT_S:g} s; {FEWER}"
            ) from None
    if done.returncode:
        raise PlatformError(f"{path}: SimGrid refuses it ({refusal(done.stderr, path)}); fix the file")
    return answered(path, done.stdout)


def first_rates(path: Path) -> dict[str, float]:
    """The first rate of each Wi-Fi link in the file, bytes/s; SimGrid gives it to simulated programs only."""
    rates: dict[str, float] = {}

    def begin(element: str, attributes: dict[str, str]) -> None:
        first = QUANTITY.fullmatch(attributes.get("bandwidth", "").split(",")[0])
        if element == "link" and attributes.get("sharing_policy") == "WIFI" and first is not None:
            rates[attributes["id"]] = float(first[1]) * RATES[first[2]]

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.Parse(read_regular(path), True)
    return rates


def build(program: Path, path: Path, reason: str) -> None:
    """Compiles the program that prints the routes; it usually fails because SimGrid is not installed."""
    compiler = shutil.which("c++") or shutil.which("g++")
    with as_file(files("broadleaf.formats.simgrid") / "routes.cpp") as source:
        done = compiler is not None and subprocess.run(
            [compiler, "-std=c++17", "-o", str(program), str(source), "-lsimgrid"],
            capture_output=True,
            check=False,
        )
    if not done or done.returncode:
        raise PlatformError(
            f"{path}: {reason}, which only SimGrid can read; install it with a C++ compiler "
            "(Debian: apt-get install libsimgrid-dev g++)"
        )


def refusal(text: str, path: Path) -> str:
    """SimGrid's messages, without time stamps and source positions."""
    lines = [re.sub(r"^\[[^]]*\]\s*(\[[^]]*\]\s*)*", "", line).strip() for line in text.splitlines()]
    said = next((line for line in lines if line), "no reason given")
    return said.replace(str(path.resolve()), path.name)


def answered(path: Path, text: str) -> Network:
    """The network in the program's output, hosts in natural order (n2 before n10)."""
    network = Network()
    rates: dict[str, float] = {}
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        if kind == "N":
            raise PlatformError(
                f"{path}: {fields[0]} hosts; SimGrid is asked for every route of at most {MOST_HOSTS}, so "
                f"{FEWER}"
            )
        if kind == "H":
            network.hosts.append(fields[0])
            network.zones.append(fields[1])
        elif kind == "L":
            rate = float(fields[1])
            if fields[2] == "wifi":
                rates = rates or first_rates(path)
                rate = rates[fields[0]]
            network.links.append(Link(fields[0], rate, fields[2] != "fatpipe"))
        elif kind == "R":
            source, target, *links = fields[:2] + fields[3:]
            route = Route(float(fields[2]), tuple(map(int, links)))
            network.routes[int(source), int(target)] = route
    if not network.hosts:
        raise PlatformError(f"{path}: the platform has no host; add <host> elements")
    order = sorted(range(len(network.hosts)), key=lambda at: natural(network.hosts[at]))
    place = {old: new for new, old in enumerate(order)}
    return Network(
        [network.hosts[old] for old in order],
        [network.zones[old] for old in order],
        network.links,
        {(place[one], place[other]): route for (one, other), route in network.routes.items()},
    )


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts n2 before n10."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", name)]
