"""A file or a folder to every host: the push program under MPI, with its broadcasts planned.

The logic is in `crates/broadleaf-push`. Its rank 0 writes a line of JSON for each step; the kinds of lines
are those of `crates/broadleaf-push/src/push.rs`."""

from __future__ import annotations

import grp
import json
import math
import os
import pwd
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from broadleaf._core import Platform, plan
from broadleaf.errors import visible
from broadleaf.files import refuse_unwritable
from broadleaf.given import File, platform_of
from broadleaf.measuring import measure
from broadleaf.mpi import Host, Launcher, Start, find_mpi, launch_command, read_hosts, start_of
from broadleaf.mpi.find import Flavour
from broadleaf.mpi.job import first_complaint, started
from broadleaf.mpi.own_rank import OwnRank, own_environment
from broadleaf.mpi.presence import is_remote, refuse_without_runtime
from broadleaf.reporting import report as write_page
from broadleaf.reporting.measured import planned_rows

# A push without a platform that takes longer ends with a hint.
LONG_S = 30.0

# Launchers' messages on a host whose process has died or that is lost. For a rank that ends because another
# one has, they have other messages.
LOST = (
    r"process rank \d+ with PID \d+ on node (\S+) exited on signal \d+",
    r"lost communication with a remote daemon.*?Remote daemon: .*? on node (\S+)",
    r"PID \d+ RUNNING AT (\S+)\s+=\s+EXIT CODE: 9\b",
    r"error: ([^\s:]+): task \d+: Killed",
)
# Open MPI may report the rank that aborts because its peer died, and not the peer's end. The first
# disconnection is that of the host that died: others follow when ranks abort.
DISCONNECTED = r"peer process has unexpectedly disconnected\..*?Peer host: (\S+)"

# Called with the slowest host's bytes so far, the bytes that it needs, the seconds so far, and its name.
Progress = Callable[[int, int, float, str], None]


class PushError(ValueError):
    """A push that failed; the message is one line."""


class LateError(PushError):
    """A push that failed after its ranks had started."""


class JobEndedError(Exception):
    """The job ended early; with the launcher's messages."""


@dataclass(frozen=True)
class Pushed:
    """The result of a push: `hosts` has a dictionary for each target host."""

    sources: list[str]
    to: str
    bytes: int
    files: int
    # BLAKE3 of the file, as `b3sum` prints it; of a folder that of the lines `DIGEST  NAME` of its files.
    digest: str
    seconds: float
    hosts: list[dict[str, Any]] = field(repr=False)

    @property
    def is_everywhere(self) -> bool:
        """Whether every host has it."""
        return all(host["fault"] is None for host in self.hosts)

    def to_dict(self) -> dict[str, Any]:
        """The document of `broadleaf push --json`."""
        return {**vars(self), "complete": self.is_everywhere}


def push(
    source: File | Sequence[File],
    to: str,
    n: int | None = None,
    *,
    hosts: File | Sequence[Host] | None = None,
    platform: Platform | File | None = None,
    save_platform: File | None = None,
    verify: bool = False,
    limit_bytes_per_s: float | None = None,
    mode: int | None = None,
    owner: str | None = None,
    keep_set_id: bool = False,
    report: File | None = None,
    mpi: Flavour | None = None,
    launcher: File | None = None,
    launcher_args: str | None = None,
    progress: Progress | None = None,
    own: OwnRank | None = None,
) -> Pushed:
    """Sends the file or folder `source` to the path `to` on `n` hosts, one rank on each; several go into the
    folder `to`, in one stream.

    `hosts` names the machines (file or list); the first has the source. In `to`, `{host}` and `{rank}` stand
    for the host's name and the rank's number. `platform` is the network to plan for; with `save_platform` it
    is measured first, and saved. Blocks that a host has already, from an interrupted push or in an older
    version of a file, are not sent again. `verify` reads all files again in the end; no host receives more
    than `limit_bytes_per_s`. `mode` is the mode of all files, by default that of the source; `owner` is
    `USER` or `USER:GROUP`; set-user-id and set-group-id bits are dropped without `keep_set_id`. `report` is a
    page to write, with the map of the network and the times of the broadcasts. `own` is for the command line:
    the launcher that started this process has started the other ranks too.

    A host that cannot write does not affect the others; if a host dies, the job starts again without it.
    The result names every host, and its error, if any.

    Raises PushError, MpiNotFoundError, HostsFileError, PlatformError or OSError, each one line.
    """
    began_s = time.monotonic()
    machines = read_hosts(Path(hosts)) if isinstance(hosts, str | os.PathLike) else list(hosts or ())
    machines = [Host(machine.name, 1) for machine in machines]
    if own is not None:
        n = own.ranks
    count = len(machines) if n is None else n
    if count < 1:
        raise PushError("no hosts to push to; give their number with -n, or their names with --hosts")
    if machines and count > len(machines):
        raise PushError(f"{count} hosts are asked for and {len(machines)} are named; name more, or lower -n")
    machines = machines[:count]
    if limit_bytes_per_s is not None and not (math.isfinite(limit_bytes_per_s) and limit_bytes_per_s > 0):
        raise PushError(f"the limit {limit_bytes_per_s} is no rate; give bytes per second above 0")
    if mode is not None and not 0 <= mode <= 0o7777:
        raise PushError(f"the mode {mode:o} is none; give up to four octal digits, such as 644")
    user, group = owner_of(owner)
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not sources:
        raise PushError("nothing to push; name a file or a folder")
    refuse_unwritable(save_platform)
    if report is not None:
        refuse_unwritable(report)
        if platform is None and save_platform is None:
            raise PushError(
                "a report needs the network; name it with --platform, or measure it with --save-platform"
            )
    if own is not None:
        if platform is None and save_platform is not None:
            raise PushError(
                "--save-platform measures with ranks of its own; run `broadleaf measure` first, "
                "and name its file with --platform"
            )
        found = find_mpi(own.flavour or mpi)
        start = Start(found, Launcher(found.mpiexec, found.dialect), found.runtime)
    else:
        start = start_of(
            flavour=mpi, launcher=None if launcher is None else str(launcher), arguments=launcher_args
        )
    if machines and is_remote(machines):
        refuse_without_runtime(start, machines)
    if platform is None and save_platform is not None:
        print(f"broadleaf: measuring the network between {count} hosts", file=sys.stderr)
        platform = measure(
            *(count, machines or None, save_platform),
            mpi=start.mpi,
            launcher=launcher,
            launcher_args=launcher_args,
        )
    settings: dict[str, Any] = {
        "sources": [str(Path.cwd() / each) for each in sources],
        "to": to,
        "verify": verify,
        "limit_bytes_per_s": limit_bytes_per_s,
        "mode": mode,
        "user": user,
        "group": group,
        "keep_set_id": keep_set_id,
    }
    try:
        json.dumps(settings, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        names = " ".join(map(str, sources))
        raise PushError(f"{visible(names)}: the name is no UTF-8 text; rename it") from None
    with tempfile.TemporaryDirectory(prefix="broadleaf-") as scratch:
        described = None
        if platform is not None:
            described = Path(scratch) / "platform.json"
            platform_of(platform).save(described)
        stats = None if report is None else Path(scratch) / "stats.json"
        job = Job(start, count, machines, settings, described, stats, progress, own)
        events = job.to_the_end()
        if report is not None and platform is not None and stats is not None:
            write_report(platform_of(platform), stats, events["hosts"]["hosts"][0]["host"], report)
    begun, ended = events["start"], events["hosts"]
    took_s = time.monotonic() - began_s
    if platform is None and count > 2 and took_s > LONG_S:
        print(
            "broadleaf: without a platform all links count as equal; where they are not, a push is faster "
            "with the file of `broadleaf measure` as --platform",
            file=sys.stderr,
        )
    return Pushed(
        sources=settings["sources"],
        to=to,
        bytes=begun["bytes"],
        files=begun["files"],
        digest=ended["digest"],
        seconds=took_s,
        hosts=[*ended["hosts"], *job.lost],
    )


def join(own: OwnRank, *, mpi: Flavour | None, platform: File | None, has_report: bool) -> NoReturn:
    """Makes this process, another one than the first, a rank of the push program."""
    found = find_mpi(own.flavour or mpi)
    program = str(found.program("push"))
    variables = {} if platform is None else {"BROADLEAF_PLATFORM": str(platform)}
    if has_report:
        # Written by rank 0, at its own path.
        variables["BROADLEAF_STATS"] = os.devnull
    os.execve(program, [program, "{}"], own_environment(found, variables))


def release(own: OwnRank, mpi: Flavour | None) -> None:
    """Ends the other ranks, which wait for this one, after bad input: it takes part without settings."""
    found = find_mpi(own.flavour or mpi)
    with (
        tempfile.TemporaryFile("w+") as complaints,
        started([str(found.program("push")), "{}"], own_environment(found, {}), complaints) as job,
    ):
        job.communicate()


def write_report(platform: Platform, stats: Path, root: str, path: File) -> None:
    """Writes the page of the broadcast that took the most time in total, with its measured times."""
    rows = planned_rows(stats) if stats.exists() else []
    if not rows:
        print("broadleaf: no broadcast was planned, so there is no report", file=sys.stderr)
        return
    longest = max(rows, key=lambda row: row["seconds"])
    made = plan(
        platform,
        root if root in platform.hosts else platform.hosts[0],
        longest["bytes"],
        planner=longest["planner"],
    )
    write_page(platform, made, path, stats=stats, sizes=[])


def owner_of(text: str | None) -> tuple[int | None, int | None]:
    """User and group by number of `USER`, `USER:GROUP` or `:GROUP`, by names of this machine or numbers."""
    if text is None:
        return None, None
    user, _, group = text.partition(":")

    def number(name: str, known: Callable[[str], int], what: str) -> int | None:
        if not name:
            return None
        try:
            return int(name) if name.isdecimal() else known(name)
        except KeyError:
            raise PushError(f"there is no {what} {name!r} here; give its number") from None

    return (
        number(user, lambda name: pwd.getpwnam(name).pw_uid, "user"),
        number(group, lambda name: grp.getgrnam(name).gr_gid, "group"),
    )


@dataclass
class Job:
    """The push program on all hosts; restarted without those that are lost."""

    start: Start
    ranks: int
    machines: list[Host]
    settings: dict[str, Any]
    platform: Path | None
    # Where the statistics of the broadcasts go.
    stats: Path | None
    progress: Progress | None
    # Set if this process is to become rank 0; else a launcher starts all ranks.
    own: OwnRank | None = None
    # As the push program reports hosts.
    lost: list[dict[str, Any]] = field(default_factory=list)

    def to_the_end(self) -> dict[str, Any]:
        """Runs it until all remaining hosts have the data; its last events by kind."""
        is_repeated = False
        while True:
            try:
                return self.run()
            except JobEndedError as ended:
                complaint = str(ended)
                name, how = lost_host(complaint)
                gone = next((host for host in self.machines[1:] if host.name == name), None)
                line = visible(how if gone else first_complaint(complaint))
                if self.own is not None:
                    raise LateError(
                        f"the push ended early: {line}; push again, it goes on from there"
                    ) from None
                if gone is not None:
                    self.drop(gone, line)
                    print(f"broadleaf: {line}; starting again without {visible(gone.name)}", file=sys.stderr)
                elif is_repeated:
                    raise PushError(
                        f"the push ended early: {line}; push again, it goes on from there"
                    ) from None
                else:
                    is_repeated = True
                    print(f"broadleaf: the push ended early: {line}; starting again", file=sys.stderr)

    def drop(self, gone: Host, line: str) -> None:
        """Continues without a host."""
        self.machines.remove(gone)
        self.ranks -= 1
        unknown = dict.fromkeys(
            ("rank", "path", "received_bytes", "written_bytes", "damaged_blocks", "seconds", "digest")
        )
        self.lost.append({"host": gone.name, **unknown, "fault": f"lost on the way: {line}"})

    def run(self) -> dict[str, Any]:
        variables = {} if self.platform is None else {"BROADLEAF_PLATFORM": str(self.platform)}
        if self.stats is not None:
            variables["BROADLEAF_STATS"] = str(self.stats)
        program = [str(self.start.mpi.program("push")), json.dumps(self.settings, ensure_ascii=False)]
        if self.own is not None:
            argv, environment = program, own_environment(self.start.mpi, variables)
        else:
            argv, environment = launch_command(
                self.start.mpi,
                self.ranks,
                program,
                launcher=self.start.launcher,
                hosts=self.machines,
                variables=variables,
                preload=self.start.runtime,
                has_threads=True,
            )
        heard: dict[str, Any] = {}
        with (
            tempfile.TemporaryFile("w+", errors="replace") as complaints,
            started(argv, environment, complaints) as job,
        ):
            assert job.stdout is not None
            with closing(job.stdout) as lines:
                for line in lines:
                    # Launchers write to standard output too, and one that dies may cut a line short.
                    if line.startswith('{"') and line.endswith("\n"):
                        event = json.loads(line)
                        if event["event"] == "error":
                            # The ranks end by themselves, all at once.
                            job.wait()
                            raise LateError(event["message"])
                        if event["event"] == "progress" and self.progress is not None:
                            self.progress(
                                *(
                                    event["done_bytes"],
                                    event["total_bytes"],
                                    event["seconds"],
                                    event["slowest"],
                                )
                            )
                        heard[event["event"]] = event
            code = job.wait()
            complaints.seek(0)
            complaint = complaints.read()
        if "hosts" not in heard:
            raise JobEndedError(complaint or f"{argv[0]} ended with exit code {code} and gave no reason")
        for line in complaint.splitlines():
            if line.startswith("broadleaf: "):
                print(visible(line), file=sys.stderr)
        return heard


def lost_host(complaint: str) -> tuple[str | None, str]:
    """The host whose death a launcher reports, and its words for that."""
    text = " ".join(complaint.split())
    for pattern in LOST:
        if match := re.search(pattern, text):
            return match[1].rstrip(".,;"), match[0]
    if match := re.search(DISCONNECTED, text):
        return match[1], f"the process on node {match[1]} disconnected unexpectedly"
    return None, ""
