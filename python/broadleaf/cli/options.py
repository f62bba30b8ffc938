"""Parameter types and options that several commands share: sizes, `--json`, existing files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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
