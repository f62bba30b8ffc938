"""The package's exceptions for wrong input; each message is the line that the command line prints.

All are `ValueError`s, so that a caller who does not care which stage refused can catch just that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class PlatformError(ValueError):
    """A platform file or dictionary that is refused, or a node that it does not have."""


class PlanError(ValueError):
    """A plan file or dictionary that is refused, or a plan that cannot be made."""


class InvalidPlan(PlanError):  # noqa: N818 - the contract's name
    """A well-formed plan that does not broadcast correctly on its platform; `faults` has a line a reason."""

    def __init__(self, faults: list[str]) -> None:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(f"the plan has {count}: {faults[0]}" if faults else "the plan is not valid")
        self.faults = faults


@contextmanager
def naming(file: object) -> Iterator[None]:
    """Prefixes the message of an invalid plan with its file's name, if it has one."""
    try:
        yield
    except InvalidPlan as error:
        if not isinstance(file, str | os.PathLike):
            raise
        raise PlanError(f"{file}: {error}; broadleaf check lists all") from None


def visible(text: str) -> str:
    """The text with everything that does not print written as Python's escapes.

    A name may contain terminal control characters, and a file's name bytes that are not UTF-8.

    >>> visible("rack\\x1b[2J \\u202eé")
    'rack\\\\x1b[2J \\\\u202eé'
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )
