"""How every benchmark ends: one line and exit 2 where it cannot run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from broadleaf.benchmarks import BenchError
from broadleaf.mpi.find import MpiNotFoundError
from broadleaf.smpi import SmpiError


def exit_with(main: Callable[[], int]) -> None:
    """Ends the process with the exit code that `main` returns."""
    try:
        code = main()
    except (BenchError, MpiNotFoundError, SmpiError) as error:
        print(f"{Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        code = 2
    sys.exit(code)
