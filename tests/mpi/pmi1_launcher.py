"""A launcher like `flux run`: it serves PMI-1 without a name service. What a rank puts, ranks of its own
host see at once, and others after the next barrier.

    python pmi1_launcher.py HOSTS RANKS_PER_HOST PROGRAM [ARGUMENT...]"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TextIO

# Commands with the same answer for all.
ANSWERS = {
    "init": "response_to_init rc=0 pmi_version=1 pmi_subversion=1",
    "get_maxes": "maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024",
    "get_appnum": "appnum rc=0 appnum=0",
    "publish_name": "publish_result rc=-1 msg=command not implemented",
    "lookup_name": "lookup_result rc=-1 msg=command not implemented",
    "finalize": "finalize_ack rc=0",
}


@dataclass(frozen=True)
class Rank:
    """A rank's connection, and the values that its host has."""

    process: subprocess.Popen[bytes]
    socket: socket.socket
    lines: TextIO
    host: dict[str, str]
    host_number: int

    def send(self, answer: str) -> None:
        self.socket.sendall(f"cmd={answer}\n".encode())


@dataclass
class Job:
    """All ranks."""

    ranks: list[Rank]
    waiting: list[Rank] = field(default_factory=list)

    def answer(self, rank: Rank, line: str) -> None:
        # The last field, a value, may contain blanks.
        head, _, value = line.partition(" value=")
        fields = dict(word.split("=", 1) for word in head.split())
        command, key = fields["cmd"], fields.get("key", "")
        if command == "put":
            rank.host[key] = value
            rank.send("put_result rc=0")
        elif command == "get":
            known = rank.host.get(key)
            rank.send("get_result rc=4" if known is None else f"get_result rc=0 value={known}")
        elif command == "get_my_kvsname":
            # MPICH names its shared memory after it, and these hosts share one machine.
            rank.send(f"my_kvsname rc=0 kvsname=job-{os.getpid()}-{rank.host_number}")
        elif command == "barrier_in":
            self.waiting.append(rank)
            if len(self.waiting) == len(self.ranks):
                self.exchange()
        else:
            rank.send(ANSWERS[command])

    def kill(self) -> int:
        """One failed rank ends the job."""
        for rank in self.ranks:
            rank.process.kill()
        return 1

    def exchange(self) -> None:
        everything = {key: value for rank in self.ranks for key, value in rank.host.items()}
        for rank in self.waiting:
            rank.host.update(everything)
            rank.send("barrier_out rc=0")
        self.waiting.clear()


def main() -> int:
    hosts, each = int(sys.argv[1]), int(sys.argv[2])
    stores = [{"PMI_process_mapping": f"(vector,(0,{hosts},{each}))"} for _ in range(hosts)]
    job, ready = Job([]), selectors.DefaultSelector()
    for number in range(hosts * each):
        ours, theirs = socket.socketpair()
        names = {"PMI_FD": theirs.fileno(), "PMI_RANK": number, "PMI_SIZE": hosts * each, "FLUX_JOB_ID": "f1"}
        environment = os.environ | {name: str(value) for name, value in names.items()}
        process = subprocess.Popen(sys.argv[3:], env=environment, pass_fds=[theirs.fileno()])
        theirs.close()
        job.ranks.append(Rank(process, ours, ours.makefile(), stores[number // each], number // each))
        ready.register(ours, selectors.EVENT_READ, job.ranks[-1])
    while ready.get_map():
        for key, _ in ready.select():
            line = key.data.lines.readline()
            if line:
                job.answer(key.data, line.rstrip("\n"))
            else:
                ready.unregister(key.fileobj)
                if key.data.process.wait() != 0:
                    return job.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
