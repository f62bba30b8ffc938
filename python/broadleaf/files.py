"""Reads files without blocking on pipes, and writes result files atomically."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Any

# All but Char of XML 1.0, section 2.2: names may contain such characters, XML files may not.
NO_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


# Folders with a process's own open files, as links that may lead to regular files.
SELVES = (Path("/dev"), Path("/dev/fd"))


def open_regular(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """A handle of a regular file: opening a pipe without a writer would block.

    Raises OSError, naming the file, for anything else.
    """
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return handle
    os.close(handle)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file", str(path))
    raise OSError(errno.EINVAL, "not a regular file; save its contents to a file first", str(path))


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file. Raises OSError, naming the file, for anything else."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read()


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a regular file, without a byte-order mark.

    Raises OSError or ValueError, naming the file.
    """
    try:
        return read_regular(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} is no UTF-8 text; save the file as UTF-8") from None


def read_json(path: str | os.PathLike[str]) -> Any:
    """A JSON document. Raises OSError or ValueError, naming the file."""
    text = read_text(path)
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path}: no JSON that can be read ({error}); write the file again") from None
    except RecursionError:
        raise ValueError(f"{path}: nested too deeply; write the file again") from None


def refuse_unwritable(*paths: str | os.PathLike[str] | None) -> None:
    """Raises OSError, naming the file, where a result could not be written: before the work, not after.

    None stands for a result that is not requested.
    """
    for path in paths:
        if path is None:
            continue
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "its folder does not exist; make it first", str(target))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file", str(target))
        if not os.access(target if is_stream(target) else target.parent, os.W_OK):
            what = "it" if is_stream(target) else "its folder"
            raise PermissionError(errno.EACCES, f"{what} cannot be written; name another", str(target))


def is_stream(target: Path) -> bool:
    """Whether a file is a device, a pipe or a socket, which is written to.

    A rename onto /dev/null would replace the device for all users.
    """
    return target.exists() and (target.parent in SELVES or not (target.is_file() or target.is_dir()))


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Makes `path` appear with all of `content`, by rename, or leaves what was there; a device or a pipe is
    written to.

    Raises OSError, naming `path`, where the folder is missing or cannot be written.
    """
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    if is_stream(target):
        # Earlier output in that file is kept.
        try:
            with target.open("ab") as stream:
                stream.write(data)
        except OSError as error:
            # The error of a full device has no file name.
            raise OSError(error.errno, error.strerror, str(target)) from None
        return
    try:
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes private files; a result has the permissions that the user's umask gives any new file.
        umask = os.umask(0)
        os.umask(umask)
        Path(draft).chmod(0o666 & ~umask)
        Path(draft).replace(target)
    except OSError as error:
        Path(draft).unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(target)) from None
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
