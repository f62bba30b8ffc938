#!/usr/bin/env python3
"""Runs a command with Debian's packages laid over the system, in memory; they are gone when it ends.

    packages.py [--or-skip] PACKAGE... -- COMMAND...

Needs root, mount namespaces and apt-get; with --or-skip, one line and exit code 0 where one is missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from overlay import UnavailableError, folder_in_memory, in_namespaces, install


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--or-skip", action="store_true", help="no error where nothing can be laid over")
    # For the script's call of itself in namespaces.
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("packages", nargs="+")
    given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    options, command = parser.parse_args(given[:at]), given[at + 1 :]
    if not command:
        parser.error("no command; give one after --")
    try:
        if not options.inside:
            return in_namespaces([__file__, "--inside", *given])
        with folder_in_memory("packages") as folder:
            install(options.packages, folder)
            return subprocess.run(command).returncode
    except UnavailableError as error:
        print(f"packages: {'skipped' if options.or_skip else 'unavailable'}: {error}", file=sys.stderr)
        return 0 if options.or_skip else 2


if __name__ == "__main__":
    sys.exit(main())
