"""Reading a plain SimGrid file: one zone of hosts, links and a route for each pair that has one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from xml.parsers import expat

from broadleaf.errors import PlatformError
from broadleaf.files import read_regular
from broadleaf.formats.simgrid.network import Link, Network, Route

# Units as SimGrid writes them; a bit is an eighth of a byte.
PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
PREFIXES |= {f"{letter}i": 1024.0**power for power, letter in enumerate("kMGT", start=1)} | {"Ki": 1024.0}
RATES = {
    f"{prefix}{unit}": factor * part
    for prefix, factor in PREFIXES.items()
    for unit, part in (("Bps", 1.0), ("bps", 1 / 8))
} | {"": 1.0}
TIMES = {"": 1.0, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
QUANTITY = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)\s*")

# Elements that do not affect the time of a transfer.
IGNORED = {"prop", "config"}
POLICIES = {"SHARED", "FATPIPE", "SPLITDUPLEX"}

Attributes = dict[str, str]


class NotPlain(Exception):  # noqa: N818 - no error: SimGrid reads the file instead
    """A file that is not plain; the message names the feature."""


def read_plain(path: Path) -> Network:
    """Raises PlatformError for a fault, naming file and line; NotPlain for a file that needs SimGrid."""
    reader = Reader(path)
    parser = expat.ParserCreate()
    reader.line = lambda: parser.CurrentLineNumber
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    try:
        parser.Parse(read_regular(path), True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise PlatformError(f"{path}: line {error.lineno}: no XML ({reason}); fix the file") from None
    return reader.finished()


class Reader:
    """Takes the file's elements one by one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line: Callable[[], int] = lambda: 0
        self.network = Network()
        self.hosts: dict[str, int] = {}
        self.links: dict[str, tuple[list[int], float]] = {}
        self.zone: str | None = None
        self.route: tuple[int, int, bool, list[tuple[str, str]]] | None = None
        self.depth = 0

    def refused(self, fact: str, remedy: str) -> PlatformError:
        return PlatformError(f"{self.path}: line {self.line()}: {fact}; {remedy}")

    def text(self, attributes: Attributes, name: str, element: str) -> str:
        if name not in attributes:
            raise self.refused(f'<{element}> without "{name}"', "add it")
        return attributes[name]

    def quantity(self, text: str, units: dict[str, float], what: str, example: str) -> float:
        match = QUANTITY.fullmatch(text)
        try:
            value = float(match[1]) * units[match[2]] if match else math.nan
        except (ValueError, KeyError):
            value = math.nan
        if not math.isfinite(value):
            raise self.refused(f'{what} "{text}" is no number with a unit', f"write it as {example}")
        return value

    def begin(self, element: str, attributes: Attributes) -> None:
        self.depth += 1
        if self.depth == 1 and element != "platform":
            raise self.refused(f"<{element}> is no SimGrid platform", "name a file whose root is <platform>")
        match element:
            case "platform":
                version = attributes.get("version", "")
                if not version.startswith("4"):
                    raise self.refused(f'platform version "{version}" is unknown', "convert it to 4.1")
            case "zone" | "AS":
                self.begin_zone(attributes)
            case "host":
                self.add_host(attributes)
            case "link":
                self.add_link(attributes)
            case "route":
                self.begin_route(attributes)
            case "link_ctn":
                if self.route is None:
                    raise self.refused("<link_ctn> outside of a route", "move it into one")
                name = self.text(attributes, "id", element)
                self.route[3].append((name, attributes.get("direction", "NONE")))
            case _ if element not in IGNORED:
                raise NotPlain(f"line {self.line()} has <{element}>")

    def end(self, element: str) -> None:
        self.depth -= 1
        if element == "route":
            self.end_route()

    def begin_zone(self, attributes: Attributes) -> None:
        routing = attributes.get("routing", "")
        if self.zone is not None:
            raise NotPlain(f"line {self.line()} has a second zone")
        if routing.lower() != "full":
            raise NotPlain(f'line {self.line()} has a zone with routing "{routing}"')
        self.zone = self.text(attributes, "id", "zone")

    def add_host(self, attributes: Attributes) -> None:
        name = self.text(attributes, "id", "host")
        if name in self.hosts:
            raise self.refused(f'a second host "{name}"', "give each its own id")
        self.hosts[name] = len(self.network.hosts)
        self.network.hosts.append(name)
        self.network.zones.append(self.zone or "")

    def add_link(self, attributes: Attributes) -> None:
        name = self.text(attributes, "id", "link")
        if name in self.links:
            raise self.refused(f'a second link "{name}"', "give each its own id")
        rate = self.quantity(
            self.text(attributes, "bandwidth", "link"), RATES, "bandwidth", "125MBps or 1Gbps"
        )
        latency_s = self.quantity(attributes.get("latency", "0s"), TIMES, "latency", "50us")
        if rate <= 0:
            raise self.refused(f'link "{name}" has a bandwidth of 0', "give it one, or remove it")
        policy = attributes.get("sharing_policy", "SHARED")
        if policy not in POLICIES:
            raise NotPlain(f'line {self.line()} has the sharing policy "{policy}"')
        ways = ("_UP", "_DOWN") if policy == "SPLITDUPLEX" else ("",)
        numbers = [len(self.network.links) + at for at in range(len(ways))]
        self.network.links += [Link(name + way, rate, policy != "FATPIPE") for way in ways]
        self.links[name] = (numbers, latency_s)

    def begin_route(self, attributes: Attributes) -> None:
        if self.route is not None:
            raise self.refused("a <route> inside of another", "close the other one first")
        ends = [self.text(attributes, side, "route") for side in ("src", "dst")]
        for end in ends:
            if end not in self.hosts:
                raise self.refused(
                    f'a route of the unknown host "{end}"', "declare the host before its routes"
                )
        symmetrical = attributes.get("symmetrical", "YES").upper() not in {"NO", "FALSE", "0"}
        self.route = (self.hosts[ends[0]], self.hosts[ends[1]], symmetrical, [])

    def end_route(self) -> None:
        assert self.route is not None
        source, target, symmetrical, names = self.route
        self.route = None
        if source == target:  # a loopback, which no transfer of a broadcast uses
            return
        if not names:
            raise self.refused("a route without a link", "name its links with <link_ctn>")
        ways = [(source, target, names)]
        if symmetrical:
            turned = {"UP": "DOWN", "DOWN": "UP"}
            back = [(name, turned.get(way, way)) for name, way in reversed(names)]
            ways.append((target, source, back))
        for one, other, parts in ways:
            pair = f'"{self.network.hosts[one]}" to "{self.network.hosts[other]}"'
            if (one, other) in self.network.routes:
                raise self.refused(f"a second route from {pair}", 'keep one, or write symmetrical="NO"')
            self.network.routes[one, other] = self.along(parts)

    def along(self, parts: list[tuple[str, str]]) -> Route:
        latency_s, numbers = 0.0, []
        for name, way in parts:
            if name not in self.links:
                raise self.refused(
                    f'a route over the unknown link "{name}"', "declare the link before its routes"
                )
            ways, each_s = self.links[name]
            if len(ways) == 2 and way not in {"UP", "DOWN"}:
                raise self.refused(
                    f'the SPLITDUPLEX link "{name}" without a direction', 'write direction="UP" or "DOWN"'
                )
            numbers.append(ways[1] if way == "DOWN" and len(ways) == 2 else ways[0])
            latency_s += each_s
        return Route(latency_s, tuple(numbers))

    def finished(self) -> Network:
        if not self.hosts:
            raise self.refused("the platform has no host", "add <host> elements")
        return self.network
