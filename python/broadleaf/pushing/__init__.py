"""A file or a folder to every host: the push program under MPI, with its broadcasts planned.

The logic is in `crates/broadleaf-push`. Its rank 0 writes a line of JSON for each step; the kinds of lines
are those of `crates/broadleaf-push/src/push.rs`. `job` starts the program and reads them;
`unknown_links` measures for a long push without a platform."""

from __future__ import annotations

import grp
import json
import math
import os
import pwd
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from broadleaf._core import Platform, plan
from broadleaf.errors import visible
from broadleaf.files import refuse_unwritable
from broadleaf.given import File, platform_of
from broadleaf.measuring import measure
from broadleaf.mpi import Host, Launcher, Start, find_mpi, read_hosts, start_of
from broadleaf.mpi.find import Flavour
from broadleaf.mpi.job import started
from broadleaf.mpi.own_rank import OwnRank, own_environment
from broadleaf.mpi.presence import is_remote, refuse_without_runtime
from broadleaf.pushing.job import Job, Progress, PushError
from broadleaf.pushing.unknown_links import UnknownLinks
from broadleaf.reporting import report as write_page
from broadleaf.reporting.measured import planned_rows

# A push without a platform that takes longer ends with a hint, in seconds.
HINT_S = 30.0


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
    adapt: bool = False,
    state: File | None = None,
    mpi: Flavour | None = None,
    launcher: File | None = None,
    launcher_args: str | None = None,
    progress: Progress | None = None,
    own: OwnRank | None = None,
) -> Pushed:
    """Sends the file or folder `source` to the path `to` on `n` hosts, one rank on each; several go into the
    folder `to`, in one stream.

    `hosts` names the machines (file or list); the first has the source. In `to`, `{host}` and `{rank}`
    stand for the host's name and the rank's number. `platform` is the network to plan for; with
    `save_platform` it is measured first, and saved. Without either, or where the platform promises more
    than twice the rate, a push that takes long is stopped, the network measured, and the push resumed.
    With `adapt` an advisor follows the network; it exchanges files with the ranks in the folder `state`.
    Blocks that a host has already, from an interrupted push or in an older version of a file, are not
    sent again. `verify` reads all files again in the end; no host receives more than `limit_bytes_per_s`.
    `mode` is the mode of all files, by default that of the source; `owner` is `USER` or `USER:GROUP`;
    set-user-id and set-group-id bits are dropped without `keep_set_id`. `report` is a page to write, with
    the map of the network and the times of the broadcasts. `own` is for the command line: the launcher
    that started this process has started the other ranks too.

    A host that cannot write does not affect the others; if a host dies, the job starts again without it.
    The result names every host, and its error, if any.

    Raises PushError, MpiNotFoundError, HostsFileError, PlatformError or OSError, each one line.
    """
    # Imports numpy, which would slow down every import of broadleaf.
    from broadleaf.advise.start import advisor

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
    if not to:
        raise PushError("nowhere to push to; name a path with --to")
    refuse_unwritable(save_platform)
    if report is not None:
        refuse_unwritable(report)
        if platform is None and save_platform is None:
            raise PushError(
                "a report needs the network; name it with --platform, or measure it with --save-platform"
            )
    if own is not None:
        if adapt:
            raise PushError(
                "--adapt starts an advisor beside ranks of its own; run `broadleaf advise`, and name its "
                "--state in BROADLEAF_ADVICE"
            )
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
        name = next(name for name in (*settings["sources"], to) if not is_text(name))
        raise PushError(f"{visible(name)}: the name is no UTF-8 text; rename it") from None
    with tempfile.TemporaryDirectory(prefix="broadleaf-") as scratch:
        described = known = None
        if platform is not None:
            described, known = Path(scratch) / "platform.json", platform_of(platform)
            known.save(described)
        stats = None if report is None else Path(scratch) / "stats.json"
        # Ranks that this process has not started cannot be started again, and measuring keeps to no limit.
        unknown = None
        # A rate is promised to all hosts of a platform, not to some of them. An advisor judges by itself.
        is_promised = known is not None and {each.name for each in machines} == set(known.hosts)
        is_judged = known is None or (is_promised and save_platform is None and not adapt)
        if own is None and limit_bytes_per_s is None and count > 2 and is_judged:
            root = machines[0].name if machines else None
            out = Path(scratch) / "measured.json"
            unknown = UnknownLinks(start, launcher, launcher_args, out, known, root)
        files = (Path(scratch), described, stats)
        job = Job(*(start, count, machines, settings, *files, progress, own, unknown))
        hosts_file = str(hosts) if isinstance(hosts, str | os.PathLike) else None
        folder = None if state is None else str(state)
        with advisor(
            folder, None if described is None else str(described), hosts_file, start, wanted=adapt
        ) as job.advice:
            events = job.to_the_end()
        if report is not None and job.platform is not None and stats is not None:
            write_report(Platform.load(job.platform), stats, events["hosts"]["hosts"][0]["host"], report)
    begun, ended = events["start"], events["hosts"]
    took_s = time.monotonic() - began_s
    if job.platform is None and count > 2 and took_s > HINT_S:
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


def is_text(name: str) -> bool:
    """Whether a path is UTF-8 throughout; its other bytes are surrogates."""
    return not any("\ud800" <= each <= "\udfff" for each in name)


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
