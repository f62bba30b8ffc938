"""A platform's record of its measurement (`provenance.measured`), and the line that summarises it.

`provenance` may be any JSON in files from elsewhere; only fields in the form that `measure` writes are
used."""

from __future__ import annotations

from typing import Any

from broadleaf._core import Platform


def measured_of(platform: Platform) -> dict[str, Any] | None:
    """`provenance.measured`, if `measure` wrote it."""
    provenance = platform.to_dict().get("provenance")
    measured = provenance.get("measured") if isinstance(provenance, dict) else None
    if not isinstance(measured, dict):
        return None
    texts = all(isinstance(measured.get(name), str) for name in ("date", "quality"))
    lists = all(isinstance(measured.get(name), list) for name in ("hosts", "warnings"))
    return measured if texts and lists else None


def measured_line(platform: Platform) -> str | None:
    """When, where and how well a platform was measured; None for one that was not."""
    measured = measured_of(platform)
    if measured is None:
        return None
    hosts, warnings = measured["hosts"], measured["warnings"]
    loads = [host.get("load") for host in hosts if isinstance(host, dict)]
    known = [load for load in loads if isinstance(load, int | float)]
    load = f", load up to {max(known):.2g}" if known else ""
    when = measured["date"][:16].replace("T", " ")
    line = f"{platform.name} measured {when} on {len(hosts)} host{'s' * (len(hosts) != 1)}{load}"
    line += f", quality {measured['quality']}"
    if warnings:
        line += f": {warnings[0]}" + (f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else "")
    return line
