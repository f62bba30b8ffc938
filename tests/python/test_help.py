"""Each command's help has an example, and each example runs."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import broadleaf as bl
from beds import ROOT, can_make_namespaces
from broadleaf.cli import commands
from broadleaf.papers import PAPERS
from documents import write
from outcome import Command, refused

COMMANDS = commands()
# Every command line with a separate help: the commands, and the kinds of bench.
LINES = [
    (str(command.name), *inner)
    for command in COMMANDS
    for inner in [(), *((name,) for name in getattr(command, "commands", {}))]
]
# Files that some examples need in addition.
NEEDS: dict[tuple[str, ...], tuple[bool, str]] = {
    ("bench", "smpi"): (shutil.which("smpicc") is not None, "no SimGrid: install libsimgrid-dev"),
    ("bench", "namespaces"): (can_make_namespaces(), "network namespaces need root and iproute2"),
}


def example_of(help_text: str) -> str:
    """The one line after `Example:`."""
    lines = help_text.split("Example:\n")[1].splitlines()
    return lines[0].strip()


# The example of bench is that of its first kind.
@pytest.mark.parametrize("name", [line for line in LINES if line != ("bench",)], ids=" ".join)
def test_example_runs(
    name: tuple[str, ...],
    command: Command,
    chain: dict[str, Any],
    chain_plan: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_possible, reason = NEEDS.get(name, (True, ""))
    if not is_possible:
        pytest.skip(reason)
    if name == ("bench", "smpi"):
        # The example's platform is one of the clone's.
        Path("platforms").symlink_to(ROOT / "platforms")
    if name == ("run",):
        # A platform without this machine would be named in a line.
        chain["nodes"][0]["host"] = socket.gethostname()
    write("net.json", chain)
    write("plan.json", chain_plan)
    # `python3` in an example is this one, as in an activated environment.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    shown = command(*name, "--help")
    assert shown.code == 0
    program, *arguments = shlex.split(example_of(shown.out))
    assert program == "broadleaf"
    assert arguments[: len(name)] == list(name)
    outcome = command(*arguments)
    assert outcome.code == 0, outcome
    if name == ("run",):
        assert "broadleaf: 1 of 2 broadcasts planned: 1.049 MB in " in outcome.err
    else:
        assert outcome.err == ""
    for option, file in itertools.pairwise(arguments):
        if option in ("-o", "--trace", "--stats"):
            assert Path(file).stat().st_size > 0


def test_commands_stand_in_the_order_of_work_each_in_a_line_of_a_terminal(command: Command) -> None:
    lines = command("--help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == [each.name for each in COMMANDS]
    assert not [line for line in lines if len(line) > 80 or line.endswith("...")]


@pytest.mark.parametrize("name", [(), *LINES], ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(
    name: tuple[str, ...], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = command(*name, "--help").out.splitlines()
    # An example is one line, to be copied.
    assert [line for line in lines if len(line) > 80 and not line.startswith("    broadleaf ")] == []
    # Click ends a summary that it cuts in three dots; "ARGS]..." is its way of writing several.
    assert [line for line in lines if line.endswith(" ...") or re.search(r"[a-z]\.\.\.$", line)] == []


@pytest.mark.parametrize("name", LINES, ids=" ".join)
def test_every_option_is_described(name: tuple[str, ...]) -> None:
    command: click.Command = next(each for each in COMMANDS if each.name == name[0])
    for inner in name[1:]:
        assert isinstance(command, click.Group)
        command = command.commands[inner]
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [each.name for each in options if not each.help] == []


@pytest.mark.parametrize("columns", [80, 120])
def test_planners_fit_the_terminal(columns: int, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for arguments in ([], ["ecef-lat-min", "makespan"]):
        lines = command("planners", *arguments).out.splitlines()
        assert [line for line in lines if len(line) > columns or line != line.rstrip()] == []
    listed = " ".join(command("planners").out.split())
    assert all(f"{card.name} {' '.join(card.summary.split())}" in listed for card in bl.planners())


def test_papers_are_listed_by_their_titles(command: Command) -> None:
    help_text = " ".join(command("paper", "--help").out.split())
    for name, paper in PAPERS.items():
        assert f"{name} {paper.title}" in help_text


@pytest.mark.parametrize("name", [["measure"], ["run"], ["bench", "local"]])
def test_ranks_are_counted_as_launchers_have_it(name: list[str], command: Command) -> None:
    for option in ("-n", "-np"):
        refused(command(*name, option, "0"), "'-n' / '-np'", "0 is not in the range")


@pytest.mark.parametrize("name", LINES, ids=" ".join)
def test_usage_errors_are_one_line(name: tuple[str, ...], command: Command) -> None:
    line = " ".join(name)
    refused(command(*name, "--no-such-option"), "--no-such-option", f"broadleaf {line} --help")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("plan net.json --sise 1MiB", "--size"),
        ("report net.json plan.json --ouput x.html", "--output"),
        ("plan net.json --size 1MiB --planner binomal", "binomial"),
        ("planners chian", "chain"),
        ("simulat net.json plan.json", "simulate"),
        ("bench namespace", "namespaces"),
    ],
)
def test_misspelt_words_get_a_suggestion(line: str, meant: str, command: Command) -> None:
    refused(command(*line.split()), meant)


@pytest.mark.parametrize("name", [(), ("bench",)], ids=" ".join)
def test_without_a_command_the_help_is_shown(name: tuple[str, ...], command: Command) -> None:
    shown = command(*name)
    assert (shown.code, shown.out, shown.err) == (2, "", command(*name, "--help").out)


def test_unknown_command(command: Command) -> None:
    refused(command("brodcast"), "brodcast", "broadleaf --help")


def test_group_help_names_every_command(command: Command) -> None:
    shown = command("--help")
    assert shown.code == 0
    for each in COMMANDS:
        assert f"\n  {each.name} " in shown.out


def test_version(command: Command) -> None:
    assert command("--version").out.startswith("broadleaf, version ")


def test_installed_command_and_module_agree() -> None:
    script = Path(sys.executable).with_name("broadleaf")
    outputs = [
        subprocess.check_output([*start, "planners", "--json"], text=True, timeout=60)
        for start in ([str(script)], [sys.executable, "-m", "broadleaf"])
    ]
    assert outputs[0] == outputs[1]


def test_a_reader_that_goes_away_is_no_error() -> None:
    line = f"{shlex.quote(sys.executable)} -m broadleaf planners --json | head -c 1"
    shell = ["bash", "-o", "pipefail", "-c", line]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")
