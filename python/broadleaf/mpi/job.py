"""A job under its launcher: started, ended on any exit, and its most useful complaint."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import IO, NoReturn

# The launcher's time to end its ranks before it is killed.
GRACE_S = 5.0

# From `kill` or a scheduler; from a terminal that is closed or a connection that is lost.
ENDS = (signal.SIGTERM, signal.SIGHUP)


class LaunchError(ValueError):
    """A launcher that cannot be started; the message is one line."""


def first_complaint(text: str) -> str:
    """The launcher's most useful line: the first that names a failure, else the first at all."""
    lines = [line.strip(" \t=-|*") for line in text.splitlines()]
    lines = [line for line in lines if any(letter.isalpha() for letter in line)]
    signs = ("broadleaf", "signal", "killed", "terminat", "error", "unable", "not ", "fail", "abort")
    telling = (line for sign in signs for line in lines if sign in line.lower())
    return next(telling, lines[0] if lines else "it gave no reason")


@contextmanager
def started(
    argv: Sequence[str], variables: dict[str, str], complaints: IO[str]
) -> Iterator[subprocess.Popen[str]]:
    """Runs the launcher, and ends it and its ranks on any exit from the block.

    The launcher has its own session: an interrupt in the terminal reaches only this process, which ends the
    launcher."""
    with termination_raises():
        try:
            job = subprocess.Popen(
                argv,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                errors="replace",
                start_new_session=True,
                # A rank's connection to its launcher, where `argv` is to be that rank.
                pass_fds=[int(variables["PMI_FD"])] if variables.get("PMI_FD", "").isdecimal() else [],
            )
        except OSError as error:
            raise LaunchError(
                f"{argv[0]} cannot be started: {error.strerror}; name another with --launcher"
            ) from None
        try:
            yield job
        finally:
            end(job)
            if job.stdout is not None:
                job.stdout.close()


def end(job: subprocess.Popen[str]) -> None:
    """Terminates the launcher, which ends the ranks; kills it after GRACE_S."""
    if job.poll() is not None:
        return
    job.terminate()
    try:
        job.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


@contextmanager
def termination_raises() -> Iterator[None]:
    """Makes SIGTERM, and the end of the terminal, act as an interrupt, so that the launcher is ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in ENDS if is_heard(number)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def is_heard(number: int) -> bool:
    """Whether a signal is not ignored, as `nohup` has it."""
    return signal.getsignal(number) != signal.SIG_IGN
