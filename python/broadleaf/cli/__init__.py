"""The `broadleaf` command: one file a command, and the one place where errors become a line and an exit code.

Exit codes: 0 done, 1 `check` found faults, 2 bad input or usage. Results go to standard output, everything
else to standard error; with `--json` standard output is one JSON document and nothing else.
"""

from __future__ import annotations

import io
import os
import sys

import click

from broadleaf import __version__
from broadleaf.cli import (
    advise,
    bench,
    bound,
    check,
    convert,
    doctor,
    draw,
    env,
    measure,
    paper,
    plan,
    planners,
    push,
    report,
    run,
    simulate,
    tune,
)
from broadleaf.errors import visible

BAD_INPUT = 2

COMMANDS: tuple[click.Command, ...] = (
    measure.command,
    plan.command,
    bound.command,
    planners.command,
    check.command,
    simulate.command,
    run.command,
    push.command,
    env.command,
    doctor.command,
    advise.command,
    tune.command,
    convert.command,
    draw.command,
    report.command,
    paper.command,
    bench.command,
)


class InOrderOfWork(click.Group):
    """Help lists the commands in the order of use: measure, plan, run, then analysis."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [str(command.name) for command in COMMANDS]


@click.group(
    cls=InOrderOfWork,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Each command has its own --help, with an example.",
)
@click.version_option(__version__)
def broadleaf() -> None:
    """Fast broadcasts of large messages on heterogeneous networks: measure, plan, simulate, run."""


for _command in COMMANDS:
    broadleaf.add_command(_command)


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
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "broadleaf"
        return fail(f"{error.format_message()} See: {command} --help")
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
