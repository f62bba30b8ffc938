"""Parameter types and options that several commands share: sizes, `--json`, existing files."""

from __future__ import annotations

from collections.abc import Callable
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
    """The node that was asked for, or the first host."""
    return platform.hosts[0] if root is None else root


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
