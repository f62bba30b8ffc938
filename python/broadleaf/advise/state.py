"""The state directory: what programs tell the advisor, and the plans it gives them.

    lock        held by the one advisor that works here; process and host of it
    jobs/       one file for each `run --adapt`, locked while it lives
    platforms/  KEY.json: a platform as a program sees it
    inbox/      notes of programs, removed once read
    set-aside/  notes and platforms that could not be read
    plans/      KEY-COMMUNICATOR-ROOT-CLASS.json: the plan to use

Every file appears by rename. Programs write `platforms` and `inbox` and read `plans`; if they cannot, they go
on with the plans they have.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from broadleaf.files import write_whole

FOLDERS = ("jobs", "platforms", "inbox", "set-aside", "plans")
# Of what was set aside, so many files are kept for somebody to look at.
MOST_ASIDE = 100
# Tries to become the advisor.
LOCK_TRIES = 5
# In the name of a plan that belongs to no communicator.
PREPARED = "-0000000000000000-"
LOCK_PAUSE_S = 0.05

Say = Callable[[str], None]


class StateError(ValueError):
    """A state directory that cannot be used, in one line."""


def default_state() -> Path:
    """Where the advisor works unless it is told."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "broadleaf" / "advice"


class State:
    """A state directory that this process may use."""

    def __init__(self, folder: Path) -> None:
        """Makes the folder and those in it. Raises StateError where that cannot be."""
        self.folder = folder.resolve()
        self._lock: int | None = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in FOLDERS:
                (self.folder / name).mkdir(exist_ok=True)
        except OSError as error:
            raise StateError(
                f"{folder}: the advisor cannot keep its files there ({error.strerror}); "
                "name a directory that can be written with --state"
            ) from None

    def lock(self) -> None:
        """Becomes the one advisor here. Raises StateError if there is one, or the directory is read-only."""
        path = self.folder / "lock"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateError(
                f"{path}: cannot be written ({error.strerror}); name another directory with --state"
            ) from None
        for patience in reversed(range(LOCK_TRIES)):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES) and patience:
                    # Somebody may only have looked whether an advisor is there.
                    time.sleep(LOCK_PAUSE_S)
                    continue
                os.close(handle)
                if not patience:
                    raise StateError(
                        f"{self.folder}: another advisor works there ({holder(path)}); "
                        "let programs use that one, stop it, or name another directory with --state"
                    ) from None
                raise StateError(
                    f"{path}: cannot be locked ({error.strerror}); name another directory with --state"
                ) from None
        self._lock = handle
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        except OSError:
            # A full disk; the lock holds all the same.
            pass

    def is_served(self) -> bool:
        """Whether an advisor works here."""
        try:
            handle = os.open(self.folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    def join(self) -> int:
        """Leaves a sign that a job runs, for as long as the process lives or the handle is open."""
        path = self.folder / "jobs" / f"{socket.gethostname()}-{os.getpid()}"
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            # The advisor may have taken it for one of a job that has ended, just before it was locked.
            if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
                return handle
            os.close(handle)

    def has_jobs(self) -> bool:
        """Whether any job that was started with the advisor still runs; forgets those that do not."""
        alive = False
        for path in (self.folder / "jobs").iterdir():
            try:
                handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
            except OSError:
                alive = True
            finally:
                os.close(handle)
        return alive

    def notes(self, say: Say) -> Iterator[dict[str, Any]]:
        """What programs have written since the last time, oldest first; what cannot be read is set aside."""
        inbox = self.folder / "inbox"
        try:
            names = sorted(entry.name for entry in os.scandir(inbox) if entry.name.endswith(".json"))
        except OSError as error:
            say(f"{inbox}: cannot be listed ({error.strerror}); programs are not heard")
            return
        for name in names:
            document = self.document(inbox / name, "broadleaf-notes/1", say)
            if document is not None:
                try:
                    (inbox / name).unlink(missing_ok=True)
                except OSError as error:
                    say(f"{inbox}: cannot be emptied ({error.strerror}); programs are not heard")
                    return
                yield document

    def document(self, path: Path, wanted: str, say: Say) -> dict[str, Any] | None:
        """A JSON object of that format, or None, and then the file is set aside."""
        try:
            found = json.loads(path.read_bytes())
            if not isinstance(found, dict) or found.get("format") != wanted:
                raise ValueError(f'"format" is not "{wanted}"')
            return found
        except (ValueError, RecursionError) as error:
            self.set_aside(path, str(error), say)
        except OSError as error:
            if error.errno != errno.ENOENT:
                say(f"{path}: cannot be read ({error.strerror}); it is left out")
        return None

    def set_aside(self, path: Path, reason: str, say: Say) -> None:
        """Moves a file out of the way and says so in a line."""
        aside = self.folder / "set-aside"
        try:
            path.replace(aside / path.name)
            for old in sorted(aside.iterdir(), key=lambda file: file.stat().st_mtime)[:-MOST_ASIDE]:
                old.unlink(missing_ok=True)
            say(f"{path}: {reason}; set aside in {aside}")
        except OSError as error:
            say(f"{path}: {reason}, and it cannot be set aside ({error.strerror}); it is left out")

    def publish(self, name: str, document: dict[str, Any], say: Say) -> bool:
        """Gives programs a plan; the old one stays where the directory is full or read-only."""
        path = self.folder / "plans" / f"{name}.json"
        try:
            write_whole(path, json.dumps(document))
        except OSError as error:
            say(f"{self.folder}: no plan can be given ({error.strerror}); programs keep the ones they have")
            return False
        return True

    def last_version(self) -> int:
        """The greatest version among the plans that lie there, those of an advisor before this one.

        Plans of that one's communicators are removed, but for the last: who runs still has them.
        """
        last, newest = 0, None
        for path in sorted((self.folder / "plans").glob("*.json")):
            stale: Path | None = path
            try:
                version = int(json.loads(path.read_bytes())["version"])
                if version > last:
                    last, newest, stale = version, path, newest
            except (OSError, ValueError, KeyError, TypeError):
                pass
            if stale is not None and PREPARED not in stale.name:
                with contextlib.suppress(OSError):
                    stale.unlink()
        return last


def holder(path: Path) -> str:
    """Who wrote into the lock."""
    try:
        return path.read_text().strip() or "it has not said who it is"
    except OSError:
        return "it cannot be told which"
