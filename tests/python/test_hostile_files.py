"""Files that are no files, that are nested or numbered beyond reason, or that an editor has marked."""

from __future__ import annotations

import codecs
import json
import os
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf.mpi import read_hosts
from broadleaf.smpi.profiles import read_rates
from documents import write
from outcome import Command, refused

DEEP = 100_000


@pytest.mark.parametrize("given", ["net.json", "net.xml", "net.graphml", "net.csv", "net.nx.json"])
def test_pipes_are_refused_at_once(given: str, command: Command) -> None:
    os.mkfifo(given)
    if given == "net.csv":
        os.mkfifo("net.latency.csv")
        os.mkfifo("net.bandwidth.csv")
    refused(command("convert", given, "-o", "out.nx.json"), "net.", "not a regular file")


def test_a_pipe_as_platform_plan_hosts_or_statistics(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    os.mkfifo("pipe")
    write("net.json", chain)
    write("plan.json", chain_plan)
    refused(command("check", "pipe", "plan.json"), "pipe: not a regular file")
    refused(command("check", "net.json", "pipe"), "pipe: not a regular file")
    refused(command("run", "-n", "1", "--hosts", "pipe", "--", "true"), "pipe", "not a regular file")
    refused(command("report", "net.json", "plan.json", "--stats", "pipe", "-o", "x.html"), "pipe")
    refused(command("check", ".", "plan.json"), "folder")


def test_a_platform_from_a_pipe_that_is_open_already(chain: dict[str, Any]) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        json.dump(chain, pipe)
    assert bl.Platform.load(f"/dev/fd/{reading}").name == chain["name"]
    os.close(reading)


@pytest.mark.parametrize("given", ["net.json", "net.nx.json"])
def test_deep_json(given: str, command: Command) -> None:
    Path(given).write_text("[" * DEEP + "]" * DEEP)
    refused(command("convert", given, "-o", "out.nx.json"), given, "recursion limit exceeded")
    Path(given).write_text('{"directed": true, "nodes": ' + "[" * DEEP + "]" * DEEP + "}")
    refused(command("convert", given, "-o", "out.nx.json"), given, "recursion limit exceeded")


def test_deep_documents_of_python() -> None:
    deep: Any = []
    for _ in range(DEEP):
        deep = [deep]
    with pytest.raises(bl.PlatformError, match="nested"):
        bl.Platform.from_dict({"format": "broadleaf-platform/1", "provenance": deep})
    with pytest.raises(bl.PlanError, match="nested"):
        bl.Plan.from_dict({"format": "broadleaf-plan/1", "trees": deep})


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="g" for="edge" attr.name="gap" attr.type="string"/>
<key id="s" for="edge" attr.name="LinkSpeedRaw" attr.type="long"/>
<key id="l" for="edge" attr.name="latency_s" attr.type="long"/>
<graph edgedefault="directed"><node id="a"/><node id="b"/>
<edge source="a" target="b"><data key="KEY">VALUE</data></edge></graph></graphml>"""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("g", "[" * DEEP + "]" * DEEP),
        ("s", "9" * 400),
        ("s", "9" * 5000),
        ("l", "9" * 400),
        ("s", "1" + "0" * 308),
    ],
    ids=["deep", "400 digits", "5000 digits", "a latency", "the largest"],
)
def test_graphml(key: str, value: str, command: Command) -> None:
    Path("net.graphml").write_text(GRAPHML.replace("KEY", key).replace("VALUE", value))
    outcome = command("convert", "net.graphml", "-o", "out.json")
    refused(outcome, "net.graphml")
    assert "internal error" not in outcome.err


SIMGRID = """<?xml version='1.0'?><platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="RATE" latency="1us"/>
ROUTES</zone></platform>"""
ROUTE = '<route src="a" dst="b"><link_ctn id="l"/></route>'


def test_simgrid(command: Command) -> None:
    nested = ROUTE.replace("</route>", ROUTE + "</route>")
    for rate, routes, what in (
        ("9" * 400 + "Bps", ROUTE, "no number with a unit"),
        ("9" * 5000 + "Bps", ROUTE, "no number with a unit"),
        ("1GBps", nested, "a <route> inside of another"),
    ):
        Path("net.xml").write_text(SIMGRID.replace("RATE", rate).replace("ROUTES", routes))
        refused(command("convert", "net.xml", "-o", "out.json"), "net.xml: line ", what)


def test_a_byte_order_mark_is_passed_over(
    command: Command, chain: dict[str, Any], chain_plan: dict[str, Any]
) -> None:
    for name, document in (("net.json", chain), ("plan.json", chain_plan)):
        Path(name).write_bytes(codecs.BOM_UTF8 + json.dumps(document).encode())
    assert command("check", "net.json", "plan.json").code == 0
    assert command("convert", "net.json", "-o", "net.nx.json").code == 0
    Path("net.nx.json").write_bytes(codecs.BOM_UTF8 + Path("net.nx.json").read_bytes())
    assert command("convert", "net.nx.json", "-o", "again.json").code == 0
    assert bl.Platform.load("again.json").nodes == bl.Platform.load("net.json").nodes
    Path("hosts").write_bytes(codecs.BOM_UTF8 + b"n1 slots=2\n")
    assert [host.name for host in read_hosts(Path("hosts"))] == ["n1"]


def test_another_encoding_is_named(command: Command, chain: dict[str, Any]) -> None:
    Path("net.json").write_bytes(json.dumps(chain).encode("utf-16"))
    refused(command("bound", "net.json", "--root", "a"), "net.json", "save the file as UTF-8")


def test_numbers_beyond_all_reason(command: Command, chain: dict[str, Any]) -> None:
    write("net.json", chain)
    for size in ("9" * 5000, "9" * 400 + ".5", "9" * 60 + ".5"):
        outcome = command("plan", "net.json", "--root", "a", "--size", size)
        refused(outcome, "size" if len(size) > 64 else "more than any message")
        assert len(outcome.err) < 200
    Path("hosts").write_text("n1 slots=" + "9" * 5000)
    refused(command("run", "-n", "1", "--hosts", "hosts", "--", "true"), "hosts line 1", "slots=4")
    Path("rates").write_text('{"pipe": [[' + "9" * 400 + ", 1]]}")
    with pytest.raises(ValueError, match="give a time of at least 0"):
        read_rates(Path("rates"))


def test_a_full_device_is_named(command: Command, chain: dict[str, Any]) -> None:
    write("net.json", chain)
    asked = ("plan", "net.json", "--root", "a", "--size", "1KiB", "--planner", "chain", "-o", "/dev/full")
    outcome = command(*asked)
    assert outcome.code == 2
    assert outcome.err == "broadleaf: /dev/full: No space left on device\n"
