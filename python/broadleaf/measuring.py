"""Measures a network: starts the probe under MPI and reads the platform that it prints.

The core decides what is measured, and in which order. The probe's rank 0 writes a line of JSON for each
step; the kinds of lines are those of `crates/broadleaf-mpi/src/probe.rs`."""

from __future__ import annotations

import json
import math
import os
import platform as machine
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from broadleaf._core import Platform
from broadleaf.files import refuse_unwritable, write_whole
from broadleaf.given import Size, bytes_of
from broadleaf.maps import Map, expanded, read_map, representatives
from broadleaf.mpi import (
    Host,
    Mpi,
    Start,
    allocation,
    crowding,
    launch_command,
    read_hosts,
    start_of,
    start_with,
)
from broadleaf.mpi.find import Flavour
from broadleaf.mpi.job import first_complaint, started
from broadleaf.provenance import Asked, date_now, facts
from broadleaf.rehearsal import JOBS, RehearsalError, rehearsed

TOLERANCE = 0.30

# A file to write, or None.
Target = str | os.PathLike[str] | None

# Called with the stage's name, its finished pairs and all its pairs.
Progress = Callable[[str, int, int], None]


class MeasureError(ValueError):
    """A measurement that could not be made, or not to its end; the message is one line.

    `platform` is the partial result, if that is a platform.
    """

    platform: Platform | None = None


class MeasureInterrupted(KeyboardInterrupt):
    """An interrupt that came while measuring; the message is one line, `platform` as in MeasureError."""

    platform: Platform | None = None


class ProbeEndedError(Exception):
    """The probe ended early; the message has the reason."""


class SilentProbeError(ProbeEndedError):
    """The probe failed before it printed anything."""


def measure(
    n: int | None = None,
    hosts: str | os.PathLike[str] | Sequence[Host] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    mpi: Mpi | Flavour | None = None,
    launcher: str | os.PathLike[str] | None = None,
    launcher_args: str | None = None,
    map: str | os.PathLike[str] | None = None,
    name: str | None = None,
    tolerance: float = TOLERANCE,
    budget_s: float | None = None,
    largest_bytes: Size | None = None,
    samples: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    shortfall: Callable[[str], None] | None = None,
    remark: Callable[[str], None] | None = None,
) -> Platform:
    """The network between `n` ranks, started on the machines of `hosts` (file or list) or all on this one.

    Each rank becomes a node. `tolerance` is that of Lowekamp's clustering, and the difference up to which
    pairs count as equal; `budget_s` is the time limit (default: by the number of ranks), which a slow
    network may exceed; `largest_bytes` is the last size of gap tables. `out` receives the platform and
    `samples` every raw sample with the environment it was taken in, one JSON object a line; both appear
    whole or not at all. `shortfall` is called with a few words on what the time was too short for, `remark`
    with a line on other findings, e.g. delayed acknowledgements.

    `launcher` is `mpiexec`, `srun`, `flux` or a launcher's path, by default the one that fits;
    `launcher_args` are more options for it.

    `map` is a site's map of hosts and switches (Slurm's topology.conf or topology.yaml, a listing of
    ibnetdiscover, or a folder of hwloc's XML of each host). Then only a few hosts of each switch are
    measured, one rank each, out of `hosts` or the allocation's; the platform has all hosts of the map. `n` is
    needed without a map only.

    The platform's `provenance` records when, where and how it was measured, and impossible values that a
    second measurement confirmed. At the end some broadcasts are rehearsed with the runtime, for the interval
    of predictions.

    After an interrupt, or when a rank or the launcher dies, both files are written if the samples make a
    platform; the MeasureInterrupted or MeasureError names what is missing.

    Raises MeasureError, LaunchError, PlatformError, MapError, MpiNotFoundError, HostsFileError or OSError,
    each one line.
    """
    site = None if map is None else read_map(map)
    if n is None and site is None:
        raise MeasureError("neither a number of ranks nor a map was given; give one")
    if n is not None and n < 1:
        raise MeasureError(f"{n} ranks cannot be started; measure between at least 1")
    for what, value in (("tolerance", tolerance), ("time budget", budget_s)):
        if value is not None and not math.isfinite(value):
            raise MeasureError(f"the {what} {value} is not a finite number; write one")
    refuse_unwritable(out, samples)
    hosts_file = hosts if isinstance(hosts, str | os.PathLike) else None
    machines = (
        read_hosts(Path(hosts_file)) if hosts_file is not None else list(cast(Sequence[Host], hosts or ()))
    )
    if site is not None:
        names = [host.name for host in machines] or allocation.hosts()
        if not names:
            raise MeasureError(
                f"{map}: no hosts to measure on; list them in --hosts, or run in an allocation"
            )
        machines = [Host(name, 1) for name in representatives(site, names)]
        n = len(machines)
    assert n is not None
    named = None if launcher is None else os.fspath(launcher)
    if isinstance(mpi, Mpi):
        start = start_with(mpi, named, launcher_args)
    else:
        start = start_of(flavour=mpi, launcher=named, arguments=launcher_args)
    crowded = crowding(start.mpi, start.launcher, n, machines).line
    if crowded is not None:
        print(f"broadleaf: {crowded}", file=sys.stderr)
    largest = None if largest_bytes is None else bytes_of(largest_bytes)
    settings = {
        "name": name or (Path(out).stem if out is not None else "measured"),
        "tolerance": tolerance,
        "budget_s": budget_s,
        "largest_bytes": largest,
        "raw": samples is not None,
    }
    asked = Asked(
        *(n, machines, start.mpi.flavour, tolerance, budget_s, largest),
        launcher=named,
        launcher_args=launcher_args,
    )
    command = asked.command(hosts_file, out, map)
    made = Made(asked, command, f"{start.mpi.flavour} {start.mpi.version}", site)
    heard = Heard([json.dumps(environment(start, n, machines, settings))], made)
    try:
        for event in events(start, n, machines, settings):
            if event["event"] == "progress" and progress is not None:
                progress(event["stage"], event["done"], event["total"])
            else:
                heard.take(event)
            if event["event"] == "shortfall" and shortfall is not None:
                shortfall(event["message"])
            elif event["event"] == "remark" and remark is not None:
                remark(event["message"])
        if heard.is_complete and n > 1:
            heard.rehearse(start, n, machines, budget_s, progress)
    except KeyboardInterrupt:
        found, line = heard.keep(out, samples)
        interrupted = MeasureInterrupted(f"interrupted; {line}")
        interrupted.platform = found
        raise interrupted from None
    except ProbeEndedError as ended:
        found, line = heard.keep(out, samples)
        error = MeasureError(f"{ended}; {line}, measure again")
        error.platform = found
        raise error from None
    if not heard.is_complete:
        raise MeasureError("the probe ended without a platform; please report this")
    return heard.save(out, samples)


@dataclass
class Made:
    """The settings of the measurement."""

    asked: Asked
    command: str
    mpi: str
    map: Map | None
    date: str = field(default_factory=date_now)
    started_s: float = field(default_factory=time.monotonic)


@dataclass
class Heard:
    """The probe's output that is kept."""

    # Lines of the file of raw samples.
    raw: list[str]
    made: Made
    # The platform, or the last partial one, and what it lacks.
    document: dict[str, Any] | None = None
    missing: Sequence[str] = ("all of it",)
    is_complete: bool = False
    # As the probe prints them: the machines, the quality, and warnings.
    hosts: Sequence[dict[str, Any]] = ()
    quality: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    # Rows of rehearsed broadcasts.
    rehearsed: list[dict[str, Any]] = field(default_factory=list)

    def rehearse(
        self,
        start: Start,
        n: int,
        machines: Sequence[Host],
        budget_s: float | None,
        progress: Progress | None,
    ) -> None:
        """Times broadcasts on the platform that was found; a warning remains where that fails."""
        say = progress or (lambda stage, done, total: None)
        say("rehearsal", 0, JOBS)
        try:
            found = Platform.from_dict(self.document or {})
            self.rehearsed = rehearsed(
                *(start, n, machines, found, budget_s),
                progress=lambda done, total: say("rehearsal", done, total),
            )
        except RehearsalError as error:
            self.warnings.append(f"no rehearsal, so predictions have no interval: {error}")
        say("rehearsal", JOBS, JOBS)

    def take(self, event: dict[str, Any]) -> None:
        if event["event"] == "round":
            self.raw.append(json.dumps(event))
        elif event["event"] == "error":
            raise MeasureError(event["message"])
        elif event["event"] == "so_far":
            self.document, self.missing = event.get("document"), event["missing"]
            self.quality = event.get("quality", {})
        elif event["event"] == "platform":
            self.document, self.missing, self.is_complete = event["document"], (), True
            self.quality = event["quality"]
        elif event["event"] == "hosts":
            # A probe that is run again prints it again.
            self.hosts, self.warnings = event["hosts"], []
            site = self.made.map
            unknown = [host["name"] for host in self.hosts if site and site.host_of(host["name"]) is None]
            if site is not None and unknown:
                raise MeasureError(
                    f"{site.name}: a rank runs on {unknown[0]}, which is on no switch of the map; "
                    "write this name there"
                )
        elif event["event"] == "shortfall":
            self.warnings.append(f"too little time for {event['message']}")
        elif event["event"] == "remark":
            self.warnings.append(event["message"])

    def save(self, out: Target, samples: Target) -> Platform:
        took_s = time.monotonic() - self.made.started_s
        said = facts(
            *(self.made.asked, self.made.command, self.made.date, took_s, self.made.mpi),
            *(self.hosts, self.quality, self.warnings, self.missing, self.rehearsed),
        )
        found = Platform.from_dict({**(self.document or {}), "provenance": said})
        if self.made.map is not None:
            found = expanded(found, self.made.map)
        if samples is not None:
            write_whole(samples, "\n".join(self.raw) + "\n")
        if out is not None:
            found.save(Path(out))
        return found

    def keep(self, out: Target, samples: Target) -> tuple[Platform | None, str]:
        """Saves the measurements so far, if they make a platform, and prints what is missing."""
        missing = f"missing: {', '.join(self.missing)}" if self.missing else "nothing is missing in it"
        if self.document is None:
            if samples is None or len(self.raw) == 1:
                return None, f"nothing was written, {missing}"
            write_whole(samples, "\n".join(self.raw) + "\n")
            return None, f"only {samples} was written, {missing}"
        kept = f"{out or 'the platform'} has what was measured by then"
        return self.save(out, samples), f"{kept}, {missing}"


def environment(start: Start, n: int, hosts: Sequence[Host], settings: dict[str, Any]) -> dict[str, Any]:
    """The environment that the samples depend on besides the network."""
    return {
        "event": "environment",
        "mpi": f"{start.mpi.flavour} {start.mpi.version}",
        "launcher": [str(start.launcher.program), *start.launcher.arguments],
        "ranks": n,
        "hosts": [{"name": host.name, "slots": host.slots} for host in hosts],
        "launched_on": machine.node(),
        "kernel": machine.release(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "settings": settings,
    }


def events(start: Start, n: int, hosts: Sequence[Host], settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The probe's lines; raises ProbeEndedError if it fails without a reason.

    A launcher may lose the output of failing ranks; without any output, the probe is run again.
    """
    try:
        yield from probe_events(start, n, hosts, settings)
    except SilentProbeError:
        yield from probe_events(start, n, hosts, settings)


def probe_events(
    start: Start, n: int, hosts: Sequence[Host], settings: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    program = [str(start.mpi.probe), json.dumps(settings)]
    argv, variables = launch_command(start.mpi, n, program, launcher=start.launcher, hosts=hosts)
    with (
        tempfile.TemporaryFile("w+", errors="replace") as complaints,
        started(argv, variables, complaints) as job,
    ):
        assert job.stdout is not None
        heard = explained = False
        for line in job.stdout:
            # Some launchers write to standard output too, and a dying one may cut a line short.
            if line.startswith('{"event"') and line.endswith("\n"):
                event = json.loads(line)
                heard = True
                explained = explained or event["event"] == "error"
                yield event
        code = job.wait()
        if code != 0 and not explained:
            complaints.seek(0)
            complaint = complaints.read()
            failure = ProbeEndedError if heard or complaint.strip() else SilentProbeError
            ended = f"the probe ended early under {start.launcher.program} (exit code {code})"
            raise failure(f"{ended}: {first_complaint(complaint)}")
