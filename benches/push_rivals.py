#!/usr/bin/env python3
"""Other programs that copy a file to every host, over the real TCP that benches/push.py measures.

    benches/push_rivals.py [--sizes 64MiB,1GiB] [--mpi openmpi|mpich] [--only PROGRAM]...

`broadleaf push`, then TakTuk (the engine of kanif), aria2 with all hosts as peers, rsync down a binomial
tree, and sbcast of a Slurm that has a slurmd on each host copy a file to the seven other hosts of
testbeds/namespaces/two-clusters.json, once each. All times
include a program's start; that of `broadleaf push` without the start of MPI is beside it. TakTuk and
rsync connect through a remote shell over plain TCP, which costs less than ssh. Debian's packages are laid
over the system in memory. Each time is kept in .bench/push_rivals.json at once; --only repeats one program,
and the table has the kept times of the others: 1 GiB takes most of them 5 to 9 minutes. udpcast and uftp are
left out: they send by multicast, which the bed cannot shape between two hosts. Needs root.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import push_sbcast
from push_bed import BED, ROOT, push_bed
from refusals import exit_with

import broadleaf as bl
from broadleaf.benchmarks import BenchError
from broadleaf.benchmarks.limit import limit_s
from broadleaf.benchmarks.namespaces import DEFAULT_PLATFORM, LUMP, PAYLOAD
from broadleaf.mpi import Mpi, find_mpi
from broadleaf.units import parse_size
from push import MEMORY

sys.path[:0] = [str(BED), str(BED.parent)]
from network import Network, rates_of  # noqa: E402
from overlay import UnavailableError, folder_in_memory, in_namespaces, install  # noqa: E402

PUSH = "broadleaf push"
OUT = ROOT / ".bench/push_rivals.json"
PACKAGES = ["kanif", "taktuk", "aria2", "rsync", "iproute2", *push_sbcast.PACKAGES]
TIMEOUT_S = 900.0
PORT = 5514
# aria2's manual has no advice on pieces; this is what most makers of torrents use for files of this size.
PIECE_BYTES = 1 << 20

# A remote shell's server: one command a connection, its input and output the connection itself.
SERVER = """
import socket, subprocess, sys
with socket.create_server(("", int(sys.argv[1])), backlog=64) as server:
    while True:
        link, _ = server.accept()
        word = b""
        while not word.endswith(b"\\0"):
            word += link.recv(1)
        subprocess.Popen(["/bin/sh", "-c", word[:-1].decode()], stdin=link, stdout=link)
        link.close()
"""
# Its client: SHELL [-l USER] HOST COMMAND...
CLIENT = """#!{python}
import os, socket, sys, threading
words = sys.argv[1:]
while words[0].startswith("-"):
    words = words[2 if words[0] == "-l" else 1:]
link = socket.create_connection((words[0].split("@")[-1], {port}))
link.sendall(" ".join(words[1:]).encode() + b"\\0")
def pump():
    while data := os.read(0, 1 << 16):
        link.sendall(data)
    link.shutdown(socket.SHUT_WR)
threading.Thread(target=pump, daemon=True).start()
while data := link.recv(1 << 16):
    while data:
        data = data[os.write(1, data):]
"""


class Bed:
    """The hosts, a folder for each, and a remote shell between them."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.network, self.folder = network, folder
        self.hosts = network.rates.hosts
        self.shell = folder / "shell"
        self.shell.write_text(CLIENT.format(python=sys.executable, port=PORT))
        self.shell.chmod(0o755)
        # A path that is another folder on each host.
        self.here = folder / "here"
        for name in ["here", *self.hosts]:
            (folder / name).mkdir()
        self.servers = [self.start(host, [sys.executable, "-c", SERVER, str(PORT)]) for host in self.hosts]

    def on(self, host: str, words: list[str]) -> list[str]:
        # `ip netns exec` gives each command its own mounts.
        enter = f'hostname {host}; mount --bind {self.folder / host} {self.here}; exec "$0" "$@"'
        named = ["unshare", "--uts", "sh", "-c", enter, *words]
        return ["ip", "netns", "exec", self.network.namespace(host), *named]

    def start(self, host: str, words: list[str]) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(self.on(host, words), stdin=quiet, stdout=quiet, stderr=quiet)

    def run(self, host: str, words: list[str]) -> None:
        done = subprocess.run(
            self.on(host, words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise BenchError(f"{words[0]}: {lines[-1]}")

    def close(self) -> None:
        for server in self.servers:
            server.terminate()
            server.wait()


def taktuk(bed: Bed, source: Path) -> None:
    """kanif's engine in its adaptive tree, by its manual's command for a file."""
    machines = [word for host in bed.hosts[1:] for word in ("-m", host)]
    put = ["synchronize", "broadcast", "put", "[", str(source), "]", "[", f"{bed.here}/source", "]"]
    bed.run(bed.hosts[0], ["taktuk", "-s", "-c", str(bed.shell), *machines, *put])


def rsync(bed: Bed, source: Path) -> None:
    """Whole files, as its manual advises where the network is faster than the disk; in each round every host
    that has the file sends it to another one."""
    have, lacking = [bed.hosts[0]], bed.hosts[1:]
    place = {host: source if host == bed.hosts[0] else bed.folder / host / "source" for host in bed.hosts}
    with ThreadPoolExecutor() as pool:
        while lacking:
            pairs = list(zip(have, lacking, strict=False))
            words = ["rsync", "--whole-file", "--rsh", str(bed.shell)]
            runs = [
                pool.submit(bed.run, one, [*words, str(place[one]), f"{other}:{place[other]}"])
                for one, other in pairs
            ]
            for each in runs:
                each.result()
            have += [other for _, other in pairs]
            lacking = lacking[len(pairs) :]


def bencoded(value: object) -> bytes:
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    assert isinstance(value, dict)
    return b"d" + b"".join(bencoded(key) + bencoded(value[key]) for key in sorted(value)) + b"e"


def torrent_of(source: Path) -> bytes:
    data = source.read_bytes()
    pieces = [data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)]
    info = {
        b"length": len(data),
        b"name": source.name.encode(),
        b"piece length": PIECE_BYTES,
        b"pieces": b"".join(hashlib.sha1(piece).digest() for piece in pieces),
    }
    return bencoded({b"info": info})


def aria2(bed: Bed, source: Path) -> None:
    """A torrent without a tracker: peers find each other on the local network, and share until all have the
    file."""
    torrent = bed.folder / "torrent"
    torrent.write_bytes(torrent_of(source))
    hook = bed.folder / "hook"
    hook.write_text('#!/bin/sh\ntouch "$(dirname "$3").done"\n')
    hook.chmod(0o755)
    words = ["aria2c", "--enable-dht=false", "--enable-dht6=false", "--bt-enable-lpd=true", "--seed-ratio=0"]
    words += ["--bt-lpd-interface=e0", "--interface=e0", "--file-allocation=none", "--max-upload-limit=0"]
    words += ["--bt-max-peers=0", "--allow-overwrite=true", "--quiet=true", str(torrent)]
    seed = ["--check-integrity=true", f"--dir={source.parent}"]
    running = [bed.start(bed.hosts[0], [*words[:-1], *seed, words[-1]])]
    try:
        for host in bed.hosts[1:]:
            more = [f"--dir={bed.folder / host}", f"--on-bt-download-complete={hook}"]
            running.append(bed.start(host, [*words[:-1], *more, words[-1]]))
        end = time.monotonic() + TIMEOUT_S
        while not all((bed.folder / f"{host}.done").exists() for host in bed.hosts[1:]):
            if time.monotonic() > end:
                raise BenchError(f"aria2c: not on all hosts after {TIMEOUT_S:g} s")
            time.sleep(0.05)
    finally:
        for each in running:
            each.kill()
            each.wait()


def sbcast(bed: Bed, source: Path) -> None:
    bed.run(bed.hosts[0], push_sbcast.command(len(bed.hosts), source, bed.here / "source"))


RIVALS: dict[str, Callable[[Bed, Path], None]] = {
    "taktuk (kanif)": taktuk,
    "aria2 with peers": aria2,
    "rsync, binomial tree": rsync,
    "sbcast (Slurm)": sbcast,
}


def rival_s(copy: Callable[[Bed, Path], None], size: int) -> float:
    """Seconds until every host has the file, which is compared."""
    platform = bl.Platform.load(str(DEFAULT_PLATFORM))
    with (
        tempfile.TemporaryDirectory(
            prefix="broadleaf-rival-", dir=MEMORY, ignore_cleanup_errors=True
        ) as made,
        Network(f"blrival{os.getpid()}", rates_of(platform), LUMP) as network,
    ):
        folder = Path(made)
        (folder / "from").mkdir()
        source = folder / "from" / "source"
        source.write_bytes(os.urandom(size))
        bed = Bed(network, folder)
        try:
            with push_sbcast.slurm(bed.hosts, folder, bed.start) if copy is sbcast else nullcontext():
                # The servers listen.
                time.sleep(1)
                began = time.perf_counter()
                copy(bed, source)
                took = time.perf_counter() - began
        finally:
            bed.close()
        for host in bed.hosts[1:]:
            if subprocess.run(["cmp", "-s", source, folder / host / "source"]).returncode:
                raise BenchError(f"{host} has another file")
        return took


def push_times(mpi: Mpi, size: int) -> dict[str, float]:
    """Seconds of the whole call, and without the start of MPI."""
    with tempfile.TemporaryDirectory(prefix="broadleaf-push-", dir=MEMORY) as made:
        source = Path(made) / "source"
        source.write_bytes(os.urandom(size))
        with push_bed(mpi, Path(made)) as bed:
            push = bed.push(source)
    return {"seconds": push.call_s, "without_start_s": push.ranks_s}


def kept() -> list[dict[str, Any]]:
    """The times of this and of earlier runs."""
    rows: list[dict[str, Any]] = json.loads(OUT.read_text())["rows"] if OUT.exists() else []
    return rows


def keep(row: dict[str, Any]) -> None:
    """Keeps a time, in place of an earlier one for the same."""
    others = [each for each in kept() if (each["program"], each["bytes"]) != (row["program"], row["bytes"])]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"rows": [*others, row]}, indent=1))


def run_all(mpi: Mpi, sizes: list[int], programs: list[str]) -> None:
    platform = bl.Platform.load(str(DEFAULT_PLATFORM))
    for size in sizes:
        limit = limit_s(platform, platform.hosts[0], size) / PAYLOAD
        for name in programs:
            print(f"{time.strftime('%H:%M:%S')} {size >> 20} MiB: {name}", file=sys.stderr, flush=True)
            try:
                times = push_times(mpi, size) if name == PUSH else {"seconds": rival_s(RIVALS[name], size)}
            except (BenchError, subprocess.TimeoutExpired) as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            keep({"program": name, "bytes": size, **times, "limit_s": limit})


def print_table(sizes: list[int]) -> None:
    print("| size | program | s | without the start of MPI | of the limit |\n| --- | --- | --- | --- | --- |")
    order = [PUSH, *RIVALS]
    for row in sorted(kept(), key=lambda row: (row["bytes"], order.index(row["program"]))):
        if row["bytes"] in sizes:
            bare = f"{row['without_start_s']:.1f}" if "without_start_s" in row else ""
            cells = f"{row['seconds']:.1f} | {bare} | {row['seconds'] / row['limit_s']:.2f}"
            print(f"| {row['bytes'] >> 20} MiB | {row['program']} | {cells} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="64MiB,1GiB")
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--only", choices=[PUSH, *RIVALS], action="append", help="this program alone")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    programs = options.only or [PUSH, *RIVALS]
    if not options.inside:
        try:
            return in_namespaces([__file__, "--inside", *sys.argv[1:]])
        except UnavailableError as error:
            raise BenchError(str(error)) from None
    sizes = [int(parse_size(size)) for size in options.sizes.split(",")]
    with folder_in_memory("rivals") as packages:
        try:
            install(PACKAGES, packages)
        except UnavailableError as error:
            raise BenchError(str(error)) from None
        run_all(find_mpi(options.mpi), sizes, programs)
    print_table(sizes)
    return 0


if __name__ == "__main__":
    exit_with(main)
