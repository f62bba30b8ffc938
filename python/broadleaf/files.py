"""Writing result files so that nobody ever sees half of one, or one that cannot be read."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path

# What is no Char of XML 1.0, section 2.2: names may have it, files of that kind may not.
NO_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


# Where a process finds its own open files: links, which may lead to regular ones.
SELVES = (Path("/dev"), Path("/dev/fd"))


def refuse_unwritable(*paths: str | os.PathLike[str] | None) -> None:
    """Raises OSError, naming the file, where a result could not be written: before the work, not after.

    None stands for a result that nobody asked for.
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
    """Whether it takes what is written and passes it on, as a device or a pipe does.

    Renaming onto /dev/null would take it away from everybody.
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
        # What a shell sent to that file before is not cut off.
        with target.open("ab") as stream:
            stream.write(data)
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
