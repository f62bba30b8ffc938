"""SimGrid platform files: plain ones are read directly, others through SimGrid."""

from __future__ import annotations

from pathlib import Path

from broadleaf._core import Platform
from broadleaf.errors import PlatformError
from broadleaf.files import read_text
from broadleaf.formats.simgrid.ask import ask_simgrid
from broadleaf.formats.simgrid.assemble import PORT_MODELS, platform_of
from broadleaf.formats.simgrid.network import only
from broadleaf.formats.simgrid.plain import NotPlain, read_plain
from broadleaf.formats.simgrid.write import write_simgrid

__all__ = ["PORT_MODELS", "load_simgrid", "write_simgrid"]


def load_simgrid(path: Path, hosts: Path | None = None, port_model: str = "one-port") -> Platform:
    """The platform of a SimGrid XML file; links that several hosts' routes share become shared resources.

    `hosts` names a file with a host a line, as for smpirun; the platform then has these hosts only.
    `port_model` is one of PORT_MODELS. Hosts, links and routes in one zone are read without SimGrid; for
    all other files SimGrid computes the route of each pair of hosts. Raises PlatformError, naming file and
    line, for a file that cannot be read, or that needs SimGrid where SimGrid is not installed.
    """
    names = None if hosts is None else names_in(hosts)
    try:
        network = read_plain(path)
    except NotPlain as reason:
        network = ask_simgrid(path, str(reason), names)
    if names is not None:
        unknown = [name for name in names if name not in network.hosts]
        if unknown:
            raise PlatformError(f'{hosts}: no host "{unknown[0]}" in {path}; name hosts of that file')
        network = only(network, names)
    return platform_of(path, network, port_model)


def names_in(hosts: Path) -> list[str]:
    """The hosts of a host file, each once; `name:ranks` is smpirun's notation for several ranks of a host."""
    names = [line.split(":")[0].strip() for line in read_text(hosts).splitlines()]
    found = list(dict.fromkeys(name for name in names if name))
    if not found:
        raise PlatformError(f"{hosts}: no host in it; write the name of one in each line")
    return found
