"""SimGrid platform files: read here where they are plain, and by SimGrid itself where they are not."""

from __future__ import annotations

from pathlib import Path

from broadleaf._core import Platform
from broadleaf.simgrid.ask import ask_simgrid
from broadleaf.simgrid.assemble import platform_of
from broadleaf.simgrid.plain import NotPlain, read_plain


def load_simgrid(path: Path) -> Platform:
    """The platform that a SimGrid XML file describes: one-port, with what several hosts' routes share as
    shared resources.

    Hosts, links and routes in one zone are read without SimGrid; for everything else SimGrid is asked for the
    route of each two hosts. Raises PlatformError, naming file and line, for what cannot be read, and for a
    file that needs a SimGrid that is not installed.
    """
    try:
        network = read_plain(path)
    except NotPlain as reason:
        network = ask_simgrid(path, str(reason))
    return platform_of(path, network)
