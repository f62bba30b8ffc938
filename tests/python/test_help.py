"""Each command's help has an example, and each example does what it says."""

from __future__ import annotations

import itertools
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broadleaf.cli import COMMANDS
from broadleaf.papers import PAPERS
from documents import write
from outcome import Command, refused


def example_of(help_text: str) -> str:
    """The one line after `Example:`."""
    lines = help_text.split("Example:\n")[1].splitlines()
    return lines[0].strip()


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_example_runs(
    name: str,
    command: Command,
    chain: dict[str, Any],
    chain_plan: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if name == "run":
        # A platform that does not know this machine would be named in a line.
        chain["nodes"][0]["host"] = socket.gethostname()
    write("net.json", chain)
    write("plan.json", chain_plan)
    # `python3` in an example is this one, as in an activated environment.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    shown = command(name, "--help")
    assert shown.code == 0
    program, *arguments = shlex.split(example_of(shown.out))
    assert program == "broadleaf"
    assert arguments[0] == name
    outcome = command(*arguments)
    assert outcome.code == 0, outcome
    if name == "run":
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


def test_papers_are_listed_by_their_titles(command: Command) -> None:
    help_text = command("paper", "--help").out
    for name, paper in PAPERS.items():
        assert f"{name:12}{paper.title}" in help_text


@pytest.mark.parametrize("name", [["measure"], ["run"], ["bench", "local"]])
def test_ranks_are_counted_as_launchers_have_it(name: list[str], command: Command) -> None:
    for option in ("-n", "-np"):
        refused(command(*name, option, "0"), "'-n' / '-np'", "0 is not in the range")


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_usage_errors_are_one_line(name: str, command: Command) -> None:
    refused(command(name, "--no-such-option"), "--no-such-option", f"broadleaf {name} --help")


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
