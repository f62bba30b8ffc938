"""Parameter types and options that several commands share: sizes, `--json`, existing files."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import broadleaf as bl
from broadleaf.given import refuse_unknown_planner
from broadleaf.units import parse_size

F = TypeVar("F", bound=Callable[..., Any])


class Size(click.ParamType[int]):
    """A message or segment size on the command line."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class SegmentSize(click.ParamType[int | None]):
    """A segment size, or `auto` (None) for the searched one."""

    name = "auto|size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        return None if value == "auto" else Size().convert(value, param, ctx)


class Sizes(click.ParamType[list[int]]):
    """Message sizes, separated by commas, each once and the smallest first."""

    name = "sizes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        if isinstance(value, list):
            return value
        return sorted({Size().convert(part, param, ctx) for part in str(value).split(",")})


class Weights(click.ParamType[dict[str, float]]):
    """Weights of hosts: `a=3,b=0.5`, or a JSON file of an object."""

    name = "weights"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, float]:
        if isinstance(value, dict):
            return value
        try:
            return weights_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def weights_of(text: str) -> dict[str, float]:
    """Hosts and their weights, of a list or of a JSON file; raises ValueError for anything else.

    >>> weights_of("a=3,b=0.5")
    {'a': 3.0, 'b': 0.5}
    """
    if "=" not in text:
        return weights_in(text)
    weights: dict[str, float] = {}
    for part in text.split(","):
        host, _, number = part.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            raise ValueError(f"{part!r} is no host=number; write a=3,b=0.5, or name a JSON file") from None
        if host in weights:
            raise ValueError(f"{host!r} has two weights; write one")
        weights[host] = weight
    return weights


def weights_in(file: str) -> dict[str, float]:
    remedy = 'write a=3,b=0.5, or name a JSON file such as {"a": 3}'
    try:
        document = json.loads(Path(file).read_text())
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}; {remedy}") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}; {remedy}") from None
    numbers = isinstance(document, dict) and all(type(value) in (int, float) for value in document.values())
    if not numbers:
        raise ValueError(f"{file}: no object of hosts and numbers; {remedy}")
    return {host: float(weight) for host, weight in document.items()}


def weights_option(function: F) -> F:
    """Adds `--weights` as the parameter `weights`: a dict, or None."""
    help_text = "Unequal blocks, --size times these: a=3,b=0.5, or a JSON file; 1 for other hosts."
    return click.option("--weights", type=Weights(), metavar="LIST|FILE", help=help_text)(function)


def collective_option(function: F) -> F:
    """Adds `--collective` as the parameter `collective`."""
    return click.option(
        "--collective",
        metavar="NAME",
        default="bcast",
        show_default=True,
        help="bcast, scatter, allgather; their mirrors reduce, gather, reduce-scatter; allreduce.",
    )(function)


class PlannerName(click.ParamType[str]):
    """A planner's name, or `best`; one that is misspelt gets a suggestion."""

    name = "name"

    def __init__(self, *, best: bool = True) -> None:
        self.with_best = best

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            refuse_unknown_planner(str(value), with_best=self.with_best)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


def root_option(function: F) -> F:
    """Adds `--root` as the parameter `root`: a node, or None where `root_of` chooses."""
    help_text = "The node that has the message.  [default: the first host]"
    return click.option("--root", metavar="NODE", help=help_text)(function)


def root_of(platform: bl.Platform, root: str | None) -> str:
    """The given root, or the first host. Raises PlatformError for an unknown node, with a suggestion."""
    if root is None:
        return platform.hosts[0]
    near = [] if root in platform.nodes else difflib.get_close_matches(root, platform.nodes, n=1, cutoff=0.5)
    if near:
        raise bl.PlatformError(
            f"no node is called {root!r} in platform {platform.name!r}; did you mean {near[0]!r}?"
        )
    return root


def ranks_option(least: int, help_text: str, **settings: Any) -> Callable[[F], F]:
    """Adds `-n RANKS`, and `-np` as launchers spell it."""
    return click.option(
        "-n", "-np", "ranks", type=click.IntRange(least), metavar="RANKS", help=help_text, **settings
    )


def launcher_options(function: F) -> F:
    """Adds `--mpi`, `--launcher` and `--launcher-args`: what starts the ranks."""
    options = [
        click.option(
            "--mpi",
            "flavour",
            type=click.Choice(["openmpi", "mpich"]),
            help="The MPI, where several are found.",
        ),
        click.option(
            "--launcher",
            "--mpiexec",
            "launcher",
            metavar="mpiexec|srun|flux|PATH",
            help="Launcher of the ranks.  [default: the allocation's, else that of the program's MPI]",
        ),
        click.option("--launcher-args", metavar="TEXT", help='Options for the launcher: "-N2 --mpi=pmix".'),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def example(line: str) -> str:
    """A command's epilog: one example, which the tests run as it stands."""
    return f"\b\nExample:\n  {line}"


def json_option(function: F) -> F:
    """Adds `--json` as the parameter `as_json`."""
    option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
    return option(function)


def output_option(help_text: str, *, required: bool = False) -> Callable[[F], F]:
    """Adds `-o FILE` as the parameter `output`."""
    return click.option(
        "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), required=required, help=help_text
    )
