"""Manual pages and shell completion, from the commands themselves."""

from __future__ import annotations

import inspect
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from broadleaf import __version__
from broadleaf.cli import broadleaf, commands

PROGRAM = "broadleaf"
# By shell: the path below share/ that each shell searches by default.
COMPLETIONS = {
    "bash": f"bash-completion/completions/{PROGRAM}",
    "zsh": f"zsh/site-functions/_{PROGRAM}",
    "fish": f"fish/vendor_completions.d/{PROGRAM}.fish",
}


def write_manual(folder: Path) -> None:
    """A page for the program and one for each command."""
    folder.mkdir(parents=True, exist_ok=True)
    top = click.Context(broadleaf, info_name=PROGRAM)
    (folder / f"{PROGRAM}.1").write_text(manual_page(top, commands()))
    for command in commands():
        context = click.Context(command, info_name=command.name, parent=top)
        (folder / f"{PROGRAM}-{command.name}.1").write_text(manual_page(context, []))


def write_completions(share: Path) -> None:
    for shell, name in COMPLETIONS.items():
        made = get_completion_class(shell)
        assert made is not None
        script = share / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(made(broadleaf, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


def manual_page(context: click.Context, commands: list[click.Command]) -> str:
    command, title = context.command, context.command_path
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{title.replace(" ", "-").upper()}" 1 "" "Broadleaf {__version__}"',
        ".SH NAME",
        f"{escaped(title.replace(' ', '-'))} \\- {escaped(command.get_short_help_str(200))}",
        ".SH SYNOPSIS",
        f".B {escaped(title)}",
        escaped(usage),
        ".SH DESCRIPTION",
        *paragraphs(command.help or ""),
        ".SH OPTIONS",
    ]
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            lines += [".TP", f".B {escaped(record[0])}", escaped(" ".join(record[1].split())) or "\\&"]
    if commands:
        lines.append(".SH COMMANDS")
    for each in commands:
        lines += [".TP", f".B {escaped(str(each.name))}", escaped(each.get_short_help_str(200))]
    if command.epilog:
        lines += [".SH EXAMPLE" if "Example:" in command.epilog else ".SH NOTES", *paragraphs(command.epilog)]
    return "\n".join(lines) + "\n"


def paragraphs(text: str) -> list[str]:
    """click's text: paragraphs between empty lines, those after a \\b verbatim."""
    lines = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        as_it_stands = paragraph.startswith("\b")
        body = [
            escaped(line) for line in paragraph.removeprefix("\b\n").removeprefix("Example:\n").splitlines()
        ]
        lines += [".PP", *([".nf", *body, ".fi"] if as_it_stands else body)]
    return lines


def escaped(text: str) -> str:
    """Text for roff: no command at the beginning of a line, and hyphens that can be copied."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
