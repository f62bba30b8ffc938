"""Names that come from files: no markup, no control characters on the terminal, nothing half done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf.errors import visible
from documents import write
from outcome import Command

# Rich's markup, an unbalanced end tag, a terminal's escape sequence, a bell, an override of direction.
NAMES = ("[/a]", "rack[a]", "\x1b[2J\x07", "\u202eevil", "$x_1$", "é")


def platform(names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "format": "broadleaf-platform/1",
        "name": "/".join(names),
        "port_model": "one-port",
        "nodes": [{"id": name, "cluster": name} for name in names],
        "shared": [{"id": names[0], "bandwidth_bytes_per_s": 1e8}],
        "links": [
            {"from": one, "to": other, "latency_s": 1e-4, "bandwidth_bytes_per_s": 1e8, "uses": [names[0]]}
            for one in names
            for other in names
            if one != other
        ],
    }


@pytest.fixture
def named(command: Command) -> Command:
    write("net.json", platform(NAMES))
    network = bl.Platform.load("net.json")
    bl.plan(network, root=NAMES[0], message_bytes=1 << 20, planner="chain").save("plan.json")
    return command


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "net.json", "--root", "[/a]", "--size", "1MiB", "-o", "new.json"),
        ("bound", "net.json", "--root", "[/a]", "--size", "1MiB"),
        ("check", "net.json", "plan.json"),
        ("simulate", "net.json", "plan.json", "--trace", "new.json"),
        ("tune", "net.json", "--for", "openmpi", "-o", "new.conf"),
        ("draw", "net.json", "plan.json", "-o", "new.svg"),
        ("draw", "net.json", "plan.json", "--timeline", "-o", "new.svg"),
        ("convert", "net.json", "-o", "new.nx.json"),
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[3:4]),
)
def test_names_are_shown_as_they_stand(arguments: tuple[str, ...], named: Command) -> None:
    outcome = named(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert all(each.isprintable() for line in outcome.out.splitlines() for each in line), outcome.out
    if arguments[0] in ("plan", "simulate", "convert", "draw"):
        assert "[/a]/rack[a]/\\x1b[2J\\x07" in outcome.out


def test_what_cannot_be_read_is_named_without_its_control_characters(command: Command) -> None:
    outcome = command("check", "none\x1b[2J.json", "plan.json")
    assert outcome.code == 2
    assert "none\\x1b[2J.json" in outcome.err
    assert "\x1b" not in outcome.err


def test_faults_are_shown_without_control_characters(named: Command) -> None:
    document = bl.Plan.load("plan.json").to_dict()
    document["trees"][0]["children"] = {NAMES[0]: list(NAMES[3:])}
    write("plan.json", document)
    outcome = named("check", "net.json", "plan.json")
    assert outcome.code == 1
    assert "\x1b" not in outcome.err
    assert "\\x1b" in outcome.err


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    assert visible(os.fsdecode(b"net\xff.json")) == "net\\udcff.json"


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "broadleaf", *arguments], text=True, check=False, timeout=120, **options
    )


ASKED = ("plan", "net.json", "--root", "[/a]", "--size", "1MiB", "--planner", "chain", "-o", "new.json")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_nothing_is_written_where_nothing_can_be_printed(named: Command, unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        done = run(*ASKED, stdout=full, stderr=subprocess.PIPE, env=environment)
    assert done.returncode == 2
    assert done.stderr == "broadleaf: standard output: No space left on device\n"
    assert not Path("new.json").exists()


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_exit_code_where_nothing_can_be_printed(option: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    argv = [sys.executable, "-m", "broadleaf", option]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr


def test_the_file_is_written_where_nobody_reads_on(named: Command) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = run(*ASKED, "--json", stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")
    assert bl.Plan.load("new.json").root == "[/a]"


def test_a_character_set_that_lacks_a_name(named: Command) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run(*ASKED, capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xe9" in done.stdout
