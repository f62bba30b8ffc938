"""Mutated files of every kind that Python reads: read or refused, within 2 s of processor time and 256 MiB.

What is refused is a ValueError or an OSError. Each target has `SOAK_CASES` cases, drawn from the seeds from
`SOAK_SEED` on. They run in a forked process, because a limit of memory ends native code, and one of time
everything.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import broadleaf as bl
from broadleaf.advise.service import Service
from broadleaf.advise.state import State
from broadleaf.formats.forms import load_any
from broadleaf.formats.graphml import load_graphml, save_graphml
from broadleaf.formats.msccl import msccl_xml
from broadleaf.formats.perfetto import trace_text
from broadleaf.formats.simgrid.assemble import platform_of
from broadleaf.formats.simgrid.plain import NotPlain, read_plain
from broadleaf.mpi import read_hosts
from broadleaf.reporting.measured import beside_predicted, planned_rows
from broadleaf.smpi.profiles import read_rates
from documents import TWO_SITES
from mutation import mutated_document, mutated_json, mutated_text

CASES = int(os.environ.get("SOAK_CASES", "300"))
FIRST = int(os.environ.get("SOAK_SEED", "0"))
MOST_BYTES = 256 << 20
MOST_S = 2.0
# A plan that is simulated: its reader's limits are no part of that.
MOST_SEGMENTS = 1000

Case = Callable[[random.Random], None]

SIMGRID = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full"><prop id="x" value="1"/>
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="98.095Mf"/>
<link id="l" bandwidth="125MBps" latency="50us"/>
<link id="m" bandwidth="1.25GBps" latency="1ms" sharing_policy="FATPIPE"/>
<link id="n" bandwidth="41.279125MBps" latency="59.904us" sharing_policy="SPLITDUPLEX"/>
<route src="a" dst="b"><link_ctn id="l"/><link_ctn id="m"/></route>
<route src="a" dst="c" symmetrical="NO"><link_ctn id="n" direction="UP"/></route>
<route src="c" dst="a" symmetrical="NO"><link_ctn id="n" direction="DOWN"/></route>
<route src="b" dst="c"><link_ctn id="l"/></route></zone></platform>"""

STATS = {
    "format": "broadleaf-stats/1",
    "mpi": "openmpi",
    "ranks": 3,
    "min_bytes": 65536,
    "planned": 4,
    "planned_bytes": 4096,
    "passed_through": {"under-threshold": 2},
    "broadcasts": [
        {
            "communicator": "MPI_COMM_WORLD",
            "ranks": 3,
            "root": root,
            "bytes": 1 << 20,
            "planned": 4,
            "planner": planner,
            "segment_bytes": 65536,
            "seconds": 0.5,
            "fastest_s": 0.1,
        }
        for root, planner in enumerate(("chain", "binomial", "shared-memory"))
    ],
}


def four_hosts(port_model: str) -> bl.Platform:
    names = ["a", "b", "[/c]", "d\x1b"]
    link = {"bandwidth_bytes_per_s": 1e6, "latency_s": 1e-4}
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "four",
            "port_model": port_model,
            "nodes": [{"id": name} for name in names],
            "meshes": [{"nodes": names, "link": link}],
        }
    )


def plans(platform: bl.Platform) -> list[dict[str, Any]]:
    """Every planner's broadcast, without the digest that the platform's own would have to be."""
    found = []
    for card in bl.planners():
        try:
            plan = bl.plan(platform, "a", 1000, card.name, segment_bytes=100)
        except ValueError:
            continue
        found.append(plan.to_dict())
    assert len(found) > 10
    return found


def notes(platform: bl.Platform) -> dict[str, Any]:
    """A program's notes for its advisor."""
    key = platform.digest.removeprefix("sha256:")[:16]
    plan = bl.plan(platform, "a", 1000, "chain", segment_bytes=100).to_dict()
    call = {"age_s": 0.1, "platform": key, "communicator": "a7", "call": 3, "root": 0, "bytes": 1000}
    sample = {"age_s": 0.1, "communicator": "a7", "call": 3, "root": 0, "message_bytes": 1000, "version": 1}
    return {
        "format": "broadleaf-notes/1",
        "process": "host-1",
        "calls": [
            {**call, "version": 0},
            {**call, "version": 1, "brought": {"version": 1, "plan": plan, "nodes": [0, 1, 2, 3]}},
        ],
        "samples": [
            {**sample, "from": rank, "to": rank + 1, "bytes": [500, 400], "seconds": [0.1, 0.2]}
            for rank in range(3)
        ],
    }


def simgrid(folder: Path) -> Case:
    file = folder / "net.xml"

    def case(draw: random.Random) -> None:
        file.write_bytes(mutated_text(draw, [SIMGRID]))
        with contextlib.suppress(NotPlain):
            platform_of(file, read_plain(file), draw.choice(("one-port", "multi-port")))

    return case


def graphml(folder: Path) -> Case:
    texts = []
    for name, document in (("two", TWO_SITES), ("four", four_hosts("one-port").to_dict())):
        if name == "four":
            document = json.loads(json.dumps(document).replace("\\u001b", ""))
        save_graphml(bl.Platform.from_dict(document), folder / f"{name}.graphml")
        texts.append((folder / f"{name}.graphml").read_text())
    file = folder / "net.graphml"

    def case(draw: random.Random) -> None:
        file.write_bytes(mutated_text(draw, texts))
        load_graphml(file)

    return case


def node_link(folder: Path) -> Case:
    corpus = [bl.Platform.from_dict(TWO_SITES).to_node_link(), four_hosts("multi-port").to_node_link()]
    texts = [json.dumps(each) for each in corpus]
    file = folder / "net.nx.json"

    def case(draw: random.Random) -> None:
        file.write_bytes(mutated_json(draw, corpus, texts))
        load_any(file)

    return case


def msccl(folder: Path) -> Case:
    platform = four_hosts("link-capacity")
    corpus = plans(platform)

    def case(draw: random.Random) -> None:
        document = mutated_document(draw, corpus)
        plan = bl.Plan.from_dict(document)
        bl.check(platform, plan)
        limits = (draw.choice((None, 0, 2**63)), draw.choice((None, 0, 10**30)))
        ElementTree.fromstring(msccl_xml(platform, plan, *limits))

    return case


def trace(folder: Path) -> Case:
    platform = four_hosts("one-port")
    corpus = plans(platform)

    def case(draw: random.Random) -> None:
        plan = bl.Plan.from_dict(mutated_document(draw, corpus))
        bl.check(platform, plan)
        if plan.message_bytes // plan.segment_bytes <= MOST_SEGMENTS:
            json.loads(trace_text(platform, bl.simulate(platform, plan))[0])

    return case


def stats(folder: Path) -> Case:
    platform = bl.Platform.from_dict(TWO_SITES)
    file = folder / "stats.json"
    texts = [json.dumps(STATS)]

    def case(draw: random.Random) -> None:
        file.write_bytes(mutated_json(draw, [STATS], texts))
        beside_predicted(platform, planned_rows(file), str(file))

    return case


def advisor_in(folder: Path, say: Callable[[str], None]) -> tuple[Service, Path, bl.Platform]:
    """An advisor, the note that it reads next, and its platform."""
    platform = four_hosts("one-port")
    state = State(folder / "advice")
    state.lock()
    key = platform.digest.removeprefix("sha256:")[:16]
    platform.save(state.folder / "platforms" / f"{key}.json")
    return Service(state, None, say), state.folder / "inbox" / "note.json", platform


def advice(folder: Path) -> Case:
    service, inbox, platform = advisor_in(folder, lambda line: None)
    corpus = [notes(platform)]
    texts = [json.dumps(each) for each in corpus]
    now_s = 0.0

    def case(draw: random.Random) -> None:
        nonlocal now_s
        now_s += draw.choice((0.05, 0.2, 100.0))
        inbox.write_bytes(mutated_json(draw, corpus, texts))
        service.turn(now_s)

    return case


def hosts(folder: Path) -> Case:
    file = folder / "hosts"

    def case(draw: random.Random) -> None:
        file.write_bytes(mutated_text(draw, ["n1 slots=4\nn2:3 # two\n\nn3\n", "a:1\nb:2\n"]))
        read_hosts(file)

    return case


def rates(folder: Path) -> Case:
    file = folder / "rates.json"
    corpus = [{"wan": [[0.0, 1.0], [120.0, 0.2], [540, 1]], "lan": [[1.5, 2]]}]

    def case(draw: random.Random) -> None:
        file.write_bytes(mutated_json(draw, corpus, [json.dumps(corpus[0])]))
        read_rates(file)

    return case


def run_cases(case: Case, seeds: range, reached: mmap.mmap) -> None:
    """The forked process; it ends with 0, or by the fault of a case."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MOST_BYTES, held + MOST_BYTES))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for seed in seeds:
        struct.pack_into("q", reached, 0, seed)
        signal.setitimer(signal.ITIMER_PROF, MOST_S)
        try:
            case(random.Random(seed))
        except (ValueError, OSError):
            pass
        except BaseException:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            traceback.print_exc()
            os._exit(1)
    os._exit(0)


@pytest.mark.parametrize(
    "target",
    [simgrid, graphml, node_link, msccl, trace, stats, advice, hosts, rates],
    ids=lambda f: f.__name__,
)
def test_mutated_files(target: Callable[[Path], Case], tmp_path: Path) -> None:
    reached = mmap.mmap(-1, 8)
    # Fresh for each: threads do not live on in a fork.
    child = os.fork()
    if child == 0:
        try:
            run_cases(target(tmp_path), range(FIRST, FIRST + CASES), reached)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    (seed,) = struct.unpack_from("q", reached, 0)
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
    sys.stderr.flush()
    assert status == 0, f"{target.__name__}: {how} at SOAK_SEED={seed} SOAK_CASES=1"


def test_a_note_of_more_bytes_than_mpi_counts_is_not_believed(tmp_path: Path) -> None:
    """Found here: the advisor ended when it drew conclusions from it."""
    service, inbox, platform = advisor_in(tmp_path, lambda line: None)
    note = notes(platform)
    for size in (1 << 64, 1 << 63, -1):
        for sample in note["samples"]:
            sample["bytes"] = [1000, size]
        inbox.write_text(json.dumps(note))
        service.turn(0.0)
        service.turn(100.0)


def test_a_plan_for_other_hosts_is_not_believed(tmp_path: Path) -> None:
    """Found here: the advisor ended when it looked for the links that the plan uses."""
    said: list[str] = []
    service, inbox, platform = advisor_in(tmp_path, said.append)
    inbox.write_text(json.dumps(notes(platform)).replace('"[/c]"', '"stranger"'))
    service.turn(0.0)
    service.turn(100.0)
    assert any("stranger" in line for line in said)


def test_a_plan_whose_tree_goes_round_in_a_circle_is_not_believed(tmp_path: Path) -> None:
    """Found here: the advisor followed it for ever, and took all memory."""
    said: list[str] = []
    service, inbox, platform = advisor_in(tmp_path, said.append)
    note = notes(platform)
    note["calls"][1]["brought"]["plan"]["trees"][0]["children"] = {"a": ["b"], "b": ["a"]}
    inbox.write_text(json.dumps(note))
    service.turn(0.0)
    service.turn(100.0)
    assert any("the root is a child of" in line for line in said), said
