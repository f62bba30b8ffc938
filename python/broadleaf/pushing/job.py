"""The push program on all hosts, started again where a host is lost or a plan is worth a restart."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broadleaf.errors import visible
from broadleaf.mpi import Host, Start, launch_command
from broadleaf.mpi.job import first_complaint, started
from broadleaf.mpi.own_rank import OwnRank, own_environment
from broadleaf.pushing.unknown_links import UnknownLinks

# Bytes of settings in an argument; rank 0 reads longer ones from a file. The system takes 128 KiB an
# argument, and Open MPI puts all of them into one variable.
LONGEST_ARGUMENT = 64 << 10

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


class LongPushError(Exception):
    """A push over unknown or wrong links takes long enough to measure them; with the seconds left."""

    def __init__(self, left_s: float) -> None:
        super().__init__(left_s)
        self.left_s = left_s


@dataclass
class Job:
    """The push program on all hosts; restarted without those that are lost."""

    start: Start
    ranks: int
    machines: list[Host]
    settings: dict[str, Any]
    # A folder for files of the job.
    scratch: Path
    platform: Path | None
    # Where the statistics of the broadcasts go.
    stats: Path | None
    progress: Progress | None
    # Set if this process is to become rank 0; else a launcher starts all ranks.
    own: OwnRank | None = None
    # If they are to be measured where the push takes long.
    unknown: UnknownLinks | None = None
    # Of an advisor that follows the network.
    advice: str | None = None
    # As the push program reports hosts.
    lost: list[dict[str, Any]] = field(default_factory=list)

    def to_the_end(self) -> dict[str, Any]:
        """Runs it until all remaining hosts have the data; its last events by kind."""
        is_repeated = False
        while True:
            try:
                return self.run()
            except LongPushError as push:
                unknown, self.unknown = self.unknown, None
                assert unknown is not None
                self.platform = unknown.measured(self.ranks, self.machines, push.left_s) or self.platform
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
        files = {
            "BROADLEAF_PLATFORM": self.platform,
            "BROADLEAF_STATS": self.stats,
            "BROADLEAF_ADVICE": self.advice,
        }
        variables = {name: str(path) for name, path in files.items() if path is not None}
        text = json.dumps(self.settings, ensure_ascii=False)
        if len(text.encode()) > LONGEST_ARGUMENT:
            listed = self.scratch / "settings.json"
            listed.write_text(text, encoding="utf-8")
            text = f"@{listed}"
        program = [str(self.start.mpi.program("push")), text]
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
        if self.unknown is not None:
            self.unknown.first = None
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
                        if event["event"] == "progress":
                            self.follow(event)
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

    def follow(self, event: dict[str, Any]) -> None:
        """Reports progress; raises LongPushError if a measurement is worth its time."""
        if self.progress is not None:
            words = ("done_bytes", "total_bytes", "seconds", "slowest")
            self.progress(*(event[word] for word in words))
        left_s = None if self.unknown is None else self.unknown.worth_measuring(event)
        if left_s is not None:
            raise LongPushError(left_s)


def lost_host(complaint: str) -> tuple[str | None, str]:
    """The host whose death a launcher reports, and its words for that."""
    text = " ".join(complaint.split())
    for pattern in LOST:
        if match := re.search(pattern, text):
            return match[1].rstrip(".,;"), match[0]
    if match := re.search(DISCONNECTED, text):
        return match[1], f"the process on node {match[1]} disconnected unexpectedly"
    return None, ""
