"""The `broadleaf` command: one file a command, and the one place where errors become a line and an exit code.

Exit codes: 0 done, 1 `check` found faults, 2 bad input or usage. Results go to standard output, everything
else to standard error; with `--json` standard output is one JSON document and nothing else.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
from importlib import import_module

import click

from broadleaf import __version__
from broadleaf.errors import visible

BAD_INPUT = 2

# In the order of use: measure, plan, run, then analysis. Each is the `command` of the module of its name.
NAMES = (
    "measure",
    "plan",
    "bound",
    "planners",
    "check",
    "simulate",
    "run",
    "push",
    "env",
    "doctor",
    "advise",
    "tune",
    "convert",
    "draw",
    "report",
    "paper",
    "bench",
)


class Commands(click.Group):
    """Imports a command when it is used: all of them take three times as long to start."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command(cmd_name) if cmd_name in NAMES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # Click would look for similar names among the commands that were imported.
        if args[0] not in NAMES and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], NAMES, n=1)
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean '{near[0]}'?" if near else ""))
        return super().resolve_command(ctx, args)


def command(name: str) -> click.Command:
    """The command of one of the `NAMES`."""
    found: click.Command = import_module(f"broadleaf.cli.{name}").command
    return found


def commands() -> list[click.Command]:
    """All, in the order of use."""
    return [command(name) for name in NAMES]


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Each command has its own --help, with an example.",
)
@click.version_option(__version__)
def broadleaf() -> None:
    """Fast broadcasts of large messages on heterogeneous networks: measure, plan, simulate, run."""


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and ends the process with its exit code; any failure is one line on standard error."""
    code = exit_code(arguments)
    try:
        sys.stdout.flush()
    except OSError:
        # The error was printed already, and Python flushes once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def exit_code(arguments: list[str] | None = None) -> int:
    """Runs a command; every failure is one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks must not end a table halfway.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = broadleaf.main(arguments, prog_name="broadleaf", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort) as stop:
        # Click wraps an interrupt in its own exception; the cause may name files that were kept.
        interrupt = stop.__cause__ if isinstance(stop, click.Abort) else stop
        return fail(str(interrupt or "") or "interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return BAD_INPUT
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "broadleaf"
        said = error.format_message()
        return fail(f"{said if said.endswith(('.', '?')) else f'{said}.'} See: {command} --help")
    except click.ClickException as error:
        return fail(error.format_message())
    except (BrokenPipeError, SystemExit):
        # The reader has closed the pipe (`| head`), which click turns into SystemExit; Python must not flush
        # into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ValueError as error:
        return fail(str(error))
    except BaseException as error:
        # A bug of Broadleaf, a Rust panic included, is one line as well.
        if os.environ.get("BROADLEAF_TRACEBACK"):
            raise
        return fail(
            f"internal error: {type(error).__name__}: {error}; "
            "please report it with the output of BROADLEAF_TRACEBACK=1"
        )


def fail(message: str, code: int = BAD_INPUT) -> int:
    """Writes the message as exactly one line and hands back the exit code."""
    print("broadleaf:", visible(" ".join(message.split())), file=sys.stderr)
    return code
