"""Reads a map in any of the known forms, which its content shows."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from broadleaf.files import read_text
from broadleaf.maps.hostlist import HostlistError, hostlist
from broadleaf.maps.hwloc import of_hwloc


class MapError(ValueError):
    """A map that is refused, in one line."""


@dataclass(frozen=True)
class Map:
    """The hosts of each switch that has any, in the file's order."""

    name: str
    hosts: Mapping[str, tuple[str, ...]] = field(hash=False)

    def switch_of(self) -> dict[str, str]:
        """Each host's switch."""
        return {host: switch for switch, hosts in self.hosts.items() for host in hosts}

    def host_of(self, name: str) -> str | None:
        """The map's name of a host; one of the two names may lack the domain. None for an unknown host."""
        if name in self.aliases:
            return self.aliases[name]
        short = name.partition(".")[0]
        return short if self.aliases.get(short) == short else None

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Each host by its name, and by the short name if no other has that."""
        names = self.switch_of()
        shorts = Counter(host.partition(".")[0] for host in names)
        short = {host.partition(".")[0]: host for host in names}
        return {**{name: host for name, host in short.items() if shorts[name] == 1}, **{n: n for n in names}}


def read_map(path: str | os.PathLike[str]) -> Map:
    """The map in a file: topology.conf, topology.yaml, a listing of ibnetdiscover, or XML of hwloc; or in a
    folder of hwloc's files, one of each host.

    Raises MapError or OSError, naming the file and where it can the line.
    """
    files = sorted(Path(path).glob("*.xml")) if Path(path).is_dir() else [Path(path)]
    if not files:
        raise MapError(f"{path}: no .xml in the folder; write one on each host by `lstopo --of xml`")
    texts = {file.name: read_text(file) for file in files}
    text = texts[files[0].name]
    try:
        if Path(path).is_dir() or text.lstrip().startswith("<"):
            hosts = of_hwloc(texts)
        elif re.search(r"^\s*switchguid=", text, re.MULTILINE):
            hosts = of_ibnetdiscover(text)
        elif re.search(r"^\s*(SwitchName|BlockName)\s*=", text, re.MULTILINE | re.IGNORECASE):
            hosts = of_topology_conf(text)
        elif re.search(r"""(^|[\s{,"'-])topology["']?\s*:""", text):
            hosts = of_topology_yaml(text)
        else:
            raise MapError(
                "no known map; give Slurm's topology.conf or topology.yaml, ibnetdiscover's or hwloc's file"
            )
    except (HostlistError, MapError) as error:
        raise MapError(f"{path}: {error}") from None
    named = Counter(host for members in hosts.values() for host in members)
    twice = next((host for host, count in named.items() if count > 1), None)
    if twice is not None:
        where = [switch for switch, members in hosts.items() if twice in members]
        raise MapError(f"{path}: {twice} is named twice, on {' and '.join(where)}; keep one")
    if not named:
        raise MapError(f"{path}: no switch has a host")
    return Map(Path(path).stem, {switch: tuple(members) for switch, members in hosts.items() if members})


# As in slurm.conf: blanks may be around the sign, and quotes around the value.
PAIR = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|(\S+))')


def of_topology_conf(text: str) -> dict[str, list[str]]:
    """Lines of `SwitchName=s0 Nodes=tux[0-3]`, or `BlockName=`; switches of switches have no hosts."""
    hosts: dict[str, list[str]] = {}
    for number, line in whole_lines(text):
        if re.match(r"\s*include\s", line, re.IGNORECASE):
            raise MapError(f"line {number}: an Include; write the lines of that file in its place")
        given = {name.lower(): quoted or bare for name, quoted, bare in PAIR.findall(line)}
        name = given.get("switchname") or given.get("blockname")
        if name is None:
            continue
        if name in hosts:
            raise MapError(f"line {number}: {name} is named twice; keep one")
        try:
            hosts[name] = hostlist(given["nodes"]) if given.get("nodes") else []
        except HostlistError as error:
            raise MapError(f"line {number}: {error}") from None
    return hosts


def whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines, joined at backslashes, with the numbers of their first ones.

    As in Slurm, a comment is cut off before: its backslash joins nothing."""
    begun: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        part = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        begun.append(part.removesuffix("\\"))
        if not part.endswith("\\"):
            yield number + 1 - len(begun), " ".join(begun)
            begun = []


def of_topology_yaml(text: str) -> dict[str, list[str]]:
    """The switches or blocks of the cluster's default topology, else of the first."""
    import yaml

    try:
        # Every value as text: a switch may be called 007 or off.
        document = yaml.load(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise MapError(f"no YAML that can be read ({' '.join(str(error).split())})") from None
    kinds = {"tree": ("switches", "switch"), "block": ("blocks", "block")}
    listed = [each for each in document if isinstance(each, dict)] if isinstance(document, list) else []
    listed.sort(key=lambda each: str(each.get("cluster_default")).lower() not in ("true", "yes", "on"))
    for topology in listed:
        for kind, (plural, singular) in kinds.items():
            body = topology.get(kind)
            entries = body.get(plural) if isinstance(body, dict) else None
            if isinstance(entries, list):
                hosts: dict[str, list[str]] = {}
                for name, nodes in (entry_of(entry, singular) for entry in entries):
                    if name in hosts:
                        raise MapError(f"{name} is named twice; keep one")
                    hosts[name] = nodes
                return hosts
    raise MapError("no topology with tree or block; a flat one names no switches")


def entry_of(entry: object, singular: str) -> tuple[str, list[str]]:
    if not isinstance(entry, dict) or not entry.get(singular):
        raise MapError(f"an entry without `{singular}:`; write its name")
    nodes = entry.get("nodes")
    text = ",".join(map(str, nodes)) if isinstance(nodes, list) else str(nodes or "")
    return str(entry[singular]), hostlist(text) if text else []


# [1] "H-f452140300b5c3f0"[1](f452140300b5c3f1)   # "node01 HCA-1" lid 4 4xFDR
IB_SWITCH = re.compile(r'Switch\s+\d+\s+"(?P<id>[^"]+)"\s+#\s+"(?P<name>[^"]*)"')
# An adapter without a host's name describes itself, and so does the aggregation node inside a switch.
IB_MAKER = "Mellanox Technologies"
IB_HOST = re.compile(r'\[\d+\]\s+"H-[0-9a-f]+"\[\d+\](?:\([0-9a-f]+\))?\s+#\s+"(?P<name>[^"]*)"')


def of_ibnetdiscover(text: str) -> dict[str, list[str]]:
    """The hosts on the ports of each switch; a host is on the switch of its first port."""
    hosts: dict[str, list[str]] = {}
    seen: set[str] = set()
    ports: list[str] | None = None
    for line in text.splitlines():
        if found := IB_SWITCH.match(line):
            # A managed switch is "MF0;its-name:model/unit".
            name = found["name"].split(";")[-1] or found["id"]
            # Switches of one make have the same description.
            ports = hosts.setdefault(found["id"] if name in hosts else name, [])
        elif line.startswith("Ca"):
            ports = None
        elif ports is not None and (found := IB_HOST.match(line)) and found["name"].split():
            # The description is the host's name and its adapter's: "node01 mlx5_0".
            host = found["name"].split()[0]
            if host not in seen and IB_MAKER not in found["name"]:
                seen.add(host)
                ports.append(host)
    return hosts
