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
    assert outcome.err == ""
    for option, file in itertools.pairwise(arguments):
        if option in ("-o", "--trace", "--stats"):
            assert Path(file).stat().st_size > 0


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
