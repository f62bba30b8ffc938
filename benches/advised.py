"""What the advisor believes of links, beside what was done to them: for intervals.py."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from laws import Setting

from broadleaf.benchmarks import BenchError
from broadleaf.rehearsal import times_of

BYTES = 1 << 18
# In each job; the first are untimed, since the runtime plans and links warm up.
UNTIMED, TIMED = 4, 40
JOB_S = 60
START_S = 20.0
# The part that is left of the rates from one cluster to the other.
SLOWED = 0.1
# Broadcasts with an advisor may take this much longer while nothing changes: conditions change as much.
SLOWER = 1.15
WANTED = 0.9


def advised(setting: Setting, net: Path, folder: Path) -> dict[str, Any]:
    """Broadcasts without an advisor, with one, and with one before and after links between clusters slow."""
    found: dict[str, Any] = {"alone_s": broadcasts(setting, net, [])}
    found["unchanged"] = watched(setting, net, folder / "unchanged", [1.0])
    if setting.bed is not None:
        found["changed"] = watched(setting, net, folder / "changed", [1.0, SLOWED])
        set_rates(setting, 1.0)
    return found


def set_rates(setting: Setting, part: float) -> None:
    """Lets the hosts of the first cluster of a shaped network send to the others at a part of their rates."""
    if setting.bed is None:
        return
    rates = setting.bed.rates
    for at, row in enumerate(rates.pairs):
        for to, rate in enumerate(row):
            if is_crossing(rates.hosts[at], rates.hosts[to]):
                setting.bed.set_pair_rate(rates.hosts[at], rates.hosts[to], part * rate)


def is_crossing(one: str, other: str) -> bool:
    """Whether a link of the bed leads from its first cluster to the second."""
    return (one[0], other[0]) == ("a", "b")


def broadcasts(setting: Setting, net: Path, more: Sequence[str]) -> list[float]:
    program = [str(setting.mpi.program("rehearse")), str(JOB_S), str(UNTIMED), str(TIMED), str(BYTES)]
    started = ["run", *setting.words, "--platform", str(net), *more, "--", *program]
    return times_of(setting.broadleaf(started)).get(BYTES, [])


def watched(setting: Setting, net: Path, state: Path, parts: Sequence[float]) -> dict[str, Any]:
    """The seconds of the broadcasts of a job with each of these parts of the rates left, and the summary with
    which their advisor ends."""
    command = [sys.executable, "-m", "broadleaf", "advise", "--state", str(state), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as advisor:
        try:
            until = time.monotonic() + START_S
            while not (state / "lock").exists() and advisor.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            seconds = []
            for part in parts:
                set_rates(setting, part)
                seconds.append(broadcasts(setting, net, ["--adapt", "--state", str(state)]))
            # The last notes are read.
            time.sleep(1.0)
        finally:
            advisor.send_signal(signal.SIGTERM)
            said = advisor.communicate(timeout=START_S)[0]
    if advisor.returncode:
        raise BenchError(f"the advisor ended with exit code {advisor.returncode}")
    return {"seconds": seconds, **json.loads(said)}


def is_right(row: Mapping[str, Any]) -> bool:
    """Whether the interval of a believed link's rate has the part that is left."""
    left = SLOWED if is_crossing(row["from"], row["to"]) else 1.0
    low, high = row["rate_interval"]
    return bool(low <= left <= high)


def shown(row: Mapping[str, Any]) -> str:
    low, high = row["rate_interval"]
    return f"{row['from']} to {row['to']} {row['rate']:.2g} in {low:.2g} to {high:.2g}"


def verdict(found: Mapping[str, Any], ranks: int) -> tuple[str, bool]:
    """A line, and whether what the advisor believed holds and its plans were no slower."""
    calm = found["unchanged"]
    if not calm["samples"]:
        return "times no link here, believes nothing", not calm["believed"]
    links, wrong = ranks * (ranks - 1), len(calm["believed"])
    longer = statistics.median(calm["seconds"][0]) / statistics.median(found["alone_s"])
    lines = [f"unchanged: {wrong} of {links} links believed changed, {longer:.2f} x as long as without"]
    holds = wrong <= (1 - WANTED) * links and longer <= SLOWER
    if "changed" in found:
        rows = found["changed"]["believed"]
        right = sum(map(is_right, rows))
        rates = ", ".join(map(shown, rows))
        lines.append(f"{SLOWED:g} of the rate between clusters left: {right} of {len(rows)} right ({rates})")
        holds &= bool(rows) and right >= WANTED * len(rows)
    return "; ".join(lines), holds
