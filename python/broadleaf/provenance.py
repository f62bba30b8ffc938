"""The arguments of `measure`, and the `provenance` that it writes into its platform."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from broadleaf._core import Platform, __version__
from broadleaf.measured import measured_of
from broadleaf.mpi import Host
from broadleaf.mpi.find import Flavour

# Pairs in doubt that a warning names one by one.
MOST_NAMED = 3

File = str | os.PathLike[str]


class NotMeasuredError(ValueError):
    """A platform without a record of its measurement; the message is one line."""


@dataclass(frozen=True)
class Asked:
    """The arguments of a measurement, with which it can be repeated."""

    ranks: int
    hosts: Sequence[Host]
    flavour: Flavour | None
    tolerance: float
    budget_s: float | None
    largest_bytes: int | None
    # As given to --launcher and --launcher-args.
    launcher: str | None = None
    launcher_args: str | None = None

    def command(self, hosts_file: File | None, out: File | None, map: File | None = None) -> str:
        """The command line of the measurement."""
        words = ["broadleaf", "measure"]
        options = {
            # A map decides how many.
            "-n": self.ranks if map is None else None,
            "--map": map,
            "--hosts": hosts_file,
            "--tolerance": self.tolerance,
            "--time": self.budget_s,
            "--largest": self.largest_bytes,
            "--mpi": self.flavour,
            "--launcher": self.launcher,
            "--launcher-args": self.launcher_args,
            "-o": out,
        }
        for option, value in options.items():
            if value is not None:
                words += [option, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        return shlex.join(words)


def date_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def facts(
    asked: Asked,
    command: str,
    date: str,
    took_s: float,
    mpi: str,
    hosts: Sequence[dict[str, Any]],
    quality: dict[str, Any],
    warnings: Sequence[str],
    missing: Sequence[str],
    rehearsed: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """The `provenance` of a measured platform. `hosts` and `quality` are as the probe prints them."""
    lacking = [f"ended early, missing: {what}" for what in missing]
    shared = oversubscribed(hosts)
    word = quality.get("quality", "good")
    return {
        "source": f"broadleaf measure {__version__}",
        "measured": {
            "date": date,
            "seconds": round(took_s, 1),
            "command": command,
            "mpi": mpi,
            "ranks": asked.ranks,
            "hosts": list(hosts),
            "given_hosts": [{"name": host.name, "slots": host.slots} for host in asked.hosts],
            "settings": {
                "tolerance": asked.tolerance,
                "budget_s": asked.budget_s,
                "largest_bytes": asked.largest_bytes,
                "launcher": asked.launcher,
                "launcher_args": asked.launcher_args,
            },
            **quality,
            "quality": "incomplete" if missing else "oversubscribed" if shared and word == "good" else word,
            "rehearsed": list(rehearsed),
            "warnings": [*lacking, *warnings, *shared, *doubts_in(quality)],
        },
    }


def oversubscribed(hosts: Sequence[dict[str, Any]]) -> list[str]:
    """The hosts with more ranks than cores, a line each, the first few by name.

    Pairs are measured one at a time, so their times hold for ranks with a core each.
    """
    crowded = [host for host in hosts if host["ranks"] > host["cores"]]
    lines = [
        f"{host['name']}: {host['ranks']} ranks share {host['cores']} cores and are slower while all work"
        for host in crowded[:MOST_NAMED]
    ]
    rest = len(crowded) - len(lines)
    return lines + ([f"{rest} more hosts have fewer cores than ranks"] if rest else [])


def doubts_in(quality: dict[str, Any]) -> list[str]:
    """Impossible measured values, a line each, the first few by name."""
    doubtful = quality.get("doubtful", [])
    lines = [f"{each['from']} to {each['to']}: {each['why']}" for each in doubtful[:MOST_NAMED]]
    rest = len(doubtful) - len(lines)
    return lines + ([f"{rest} more pairs are in doubt"] if rest else [])


def asked_of(platform: Platform, name: str) -> Asked:
    """The arguments of the measurement of the file `name`. Raises NotMeasuredError."""
    measured = measured_of(platform) or {}
    try:
        settings, budget_s = measured["settings"], measured["settings"]["budget_s"]
        largest = settings["largest_bytes"]
        flavour = str(measured["mpi"]).split()[0]
        return Asked(
            ranks=int(measured["ranks"]),
            hosts=[Host(str(host["name"]), int(host["slots"])) for host in measured["given_hosts"]],
            flavour="mpich" if flavour == "mpich" else "openmpi",
            tolerance=float(settings["tolerance"]),
            budget_s=None if budget_s is None else float(budget_s),
            largest_bytes=None if largest is None else int(largest),
            # Absent in files of earlier versions.
            launcher=text_of(settings.get("launcher")),
            launcher_args=text_of(settings.get("launcher_args")),
        )
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        raise NotMeasuredError(
            f"{name}: $.provenance.measured does not say how it was measured; measure with -n, and --hosts"
        ) from None


def text_of(value: object) -> str | None:
    """Raises TypeError for what is neither a text nor absent."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(value)
