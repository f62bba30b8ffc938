"""The state directory: programs' notes to the advisor, and its plans for them.

    lock        held by the advisor of this directory; has its process and host
    jobs/       one file for each `run --adapt`, locked while it lives
    platforms/  KEY.json: a platform as a program sees it
    inbox/      notes of programs, removed once read
    set-aside/  notes and platforms that could not be read
    plans/      KEY-COMMUNICATOR-ROOT-CLASS.json: the plan to use

The directory belongs to one user, and nobody else may look into it; no link is followed there.
Every file appears by rename. Programs write `platforms` and `inbox` and read `plans`; if they cannot, they go
on with the plans they have.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from broadleaf.files import open_regular, write_whole

FOLDERS = ("jobs", "platforms", "inbox", "set-aside", "plans")
# The most files kept in set-aside, for diagnosis.
MOST_ASIDE = 100
# A note of a tenth of a second has a few kilobytes, with a plan of 1,000 nodes a few megabytes.
MOST_NOTE_BYTES = 64 << 20
# Tries to become the advisor.
LOCK_TRIES = 5
# Versions are counted in 63 bits on both sides.
MOST_VERSION = 1 << 63
# The errors of opening something there that is not a regular file of this user.
UNFIT = (errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.EPERM, errno.EFBIG, errno.ENXIO)
# In the name of a plan that belongs to no communicator.
PREPARED = "-0000000000000000-"
LOCK_PAUSE_S = 0.05
# A program that ends while it writes a note leaves a partial temporary file.
ABANDONED_S = 30.0

Say = Callable[[str], None]


def remove_if_abandoned(entry: os.DirEntry[str]) -> None:
    with contextlib.suppress(OSError):
        if time.time() - entry.stat(follow_symlinks=False).st_mtime > ABANDONED_S:
            Path(entry).unlink()


class StateError(ValueError):
    """A state directory that cannot be used, in one line."""


def default_state() -> Path:
    """The default state directory."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "broadleaf" / "advice"


class State:
    """A state directory that this process may use."""

    def __init__(self, folder: Path) -> None:
        """Makes the folder and its subfolders. Raises StateError where that fails."""
        # Absolute, without resolving the last part, which may be a link to refuse.
        self.folder = folder.parent.resolve() / folder.name
        self._lock: int | None = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            refuse_shared(self.folder)
            for name in FOLDERS:
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
                refuse_foreign(self.folder / name)
        except OSError as error:
            raise StateError(
                f"{folder}: the advisor cannot keep its files there ({error.strerror}); "
                "name a directory that can be written with --state"
            ) from None

    def lock(self) -> None:
        """Becomes the one advisor here. Raises StateError if there is one, or the directory is read-only."""
        path = self.folder / "lock"
        try:
            handle = open_own(path, os.O_RDWR | os.O_CREAT)
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
                    # Another process may hold the lock for a moment, to test for an advisor.
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
            # A full disk; the lock is valid anyway.
            pass

    def is_served(self) -> bool:
        """Whether an advisor works here."""
        try:
            handle = open_own(self.folder / "lock", os.O_RDONLY)
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
        """Marks a job as running while the process lives or the handle is open."""
        path = self.folder / "jobs" / f"{socket.gethostname()}-{os.getpid()}"
        while True:
            handle = open_own(path, os.O_RDWR | os.O_CREAT)
            fcntl.flock(handle, fcntl.LOCK_EX)
            # Before the lock, the advisor may have removed the file as one of an ended job.
            if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
                return handle
            os.close(handle)

    def has_jobs(self) -> bool:
        """Whether any job that was started with the advisor still runs; removes the files of those that do
        not."""
        alive = False
        for path in (self.folder / "jobs").iterdir():
            try:
                handle = open_own(path, os.O_RDWR)
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
        """Notes written since the last call, oldest first; unreadable ones are set aside."""
        inbox = self.folder / "inbox"
        try:
            entries = list(os.scandir(inbox))
        except OSError as error:
            say(f"{inbox}: cannot be listed ({error.strerror}); programs are not heard")
            return
        for entry in entries:
            if entry.name.endswith(".tmp"):
                remove_if_abandoned(entry)
        for name in sorted(entry.name for entry in entries if entry.name.endswith(".json")):
            document = self.document(inbox / name, "broadleaf-notes/1", say)
            if document is not None:
                try:
                    (inbox / name).unlink(missing_ok=True)
                except OSError as error:
                    say(f"{inbox}: cannot be emptied ({error.strerror}); programs are not heard")
                    return
                yield document

    def document(self, path: Path, wanted: str, say: Say) -> dict[str, Any] | None:
        """A JSON object of that format; or None, with the file set aside."""
        try:
            found = json.loads(read_own(path))
            if not isinstance(found, dict) or found.get("format") != wanted:
                raise ValueError(f'"format" is not "{wanted}"')
            return found
        except (ValueError, RecursionError) as error:
            self.set_aside(path, str(error), say)
        except OSError as error:
            if error.errno in UNFIT:
                self.set_aside(path, f"cannot be read ({error.strerror})", say)
            elif error.errno != errno.ENOENT:
                say(f"{path}: cannot be read ({error.strerror}); it is left out")
        return None

    def set_aside(self, path: Path, reason: str, say: Say) -> None:
        """Moves a file out of the way and prints a line."""
        aside = self.folder / "set-aside"
        try:
            path.replace(aside / path.name)
            for old in sorted(aside.iterdir(), key=lambda file: file.lstat().st_mtime)[:-MOST_ASIDE]:
                if stat.S_ISDIR(old.lstat().st_mode):
                    shutil.rmtree(old)
                else:
                    old.unlink(missing_ok=True)
            say(f"{path}: {reason}; set aside in {aside}")
        except OSError as error:
            say(f"{path}: {reason}, and it cannot be set aside ({error.strerror}); it is left out")

    def publish(self, name: str, document: dict[str, Any], say: Say) -> bool:
        """Gives programs a plan; the old one stays where the directory is full or read-only."""
        path = self.folder / "plans" / f"{name}.json"
        try:
            if path.is_symlink() or path.is_fifo():
                # A write to it would go elsewhere or block the advisor.
                path.unlink()
            write_whole(path, json.dumps(document))
        except OSError as error:
            say(f"{self.folder}: no plan can be given ({error.strerror}); programs keep the ones they have")
            return False
        return True

    def last_version(self) -> int:
        """The greatest version among plans of an earlier advisor.

        Plans for its communicators are removed, except the latest: running programs keep their own copies.
        """
        last, newest = 0, None
        for path in sorted((self.folder / "plans").glob("*.json")):
            stale: Path | None = path
            try:
                version = int(json.loads(read_own(path))["version"])
                if MOST_VERSION > version > last:
                    last, newest, stale = version, path, newest
            except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
                pass
            if stale is not None and PREPARED not in stale.name:
                with contextlib.suppress(OSError):
                    stale.unlink()
        return last


def holder(path: Path) -> str:
    """Who wrote into the lock."""
    try:
        return read_own(path).decode(errors="replace").strip() or "it has not said who it is"
    except OSError:
        return "it cannot be told which"


def refuse_shared(folder: Path) -> None:
    """Raises StateError for a state directory that another user owns or may access."""
    refuse_foreign(folder)
    mode = stat.S_IMODE(folder.lstat().st_mode)
    if mode & 0o077:
        raise StateError(
            f"{folder}: others may use it (mode {mode:04o}), and who writes there changes what programs do; "
            f"chmod 700 {folder}, or name another directory with --state"
        )


def refuse_foreign(folder: Path) -> None:
    """Raises StateError for a link and for another user's directory."""
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise StateError(f"{folder}: a link; name the directory itself with --state")
    if not stat.S_ISDIR(found.st_mode):
        raise StateError(f"{folder}: no directory; name another one with --state")
    if found.st_uid != os.geteuid():
        raise StateError(
            f"{folder}: belongs to user {found.st_uid}; name a directory of your own with --state"
        )


def open_own(path: Path, flags: int) -> int:
    """A handle of this user's regular file with one name. Raises OSError for anything else."""
    handle = open_regular(path, flags | os.O_NOFOLLOW)
    found = os.fstat(handle)
    if found.st_uid == os.geteuid() and found.st_nlink <= 1:
        return handle
    os.close(handle)
    raise OSError(errno.EPERM, "it has another owner or another name", str(path))


def read_own(path: Path) -> bytes:
    """The content of such a file; of more than MOST_NOTE_BYTES, OSError."""
    with os.fdopen(open_own(path, os.O_RDONLY), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_NOTE_BYTES:
            raise OSError(errno.EFBIG, f"it has {size} bytes, more than {MOST_NOTE_BYTES}", str(path))
        return file.read()
