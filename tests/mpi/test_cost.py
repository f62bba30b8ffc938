"""The runtime's own instructions in calls that it passes through: they do not depend on the load.

benches/mpi_overhead.py measures the times.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench

LONG = bool(os.environ.get("BROADLEAF_SOAK"))
CALLS = 1000
# At one instruction per cycle and 3 GHz, these take the 50 ns allowed.
MOST = 150
FUNCTIONS = {"bcast": "MPI_Bcast", "allreduce": "MPI_Allreduce"}


def instructions(bench: Bench, call: str, size_bytes: int) -> float:
    """Instructions inside the runtime per call, of the rank with more of them."""
    logs = bench.folder / f"cost-{call}-{size_bytes}"
    logs.mkdir()
    count = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={logs}/%p"]
    count.append(f"--toggle-collect={FUNCTIONS[call]}")
    arguments = [call, str(CALLS), str(size_bytes)]
    run = bench.run(2, [*count, bench.compile("unplanned"), *arguments], shared_memory="0")
    assert run.returncode == 0, run.stderr
    assert run.stats is not None
    assert run.stats["planned"] == 0
    most = 0
    for log in logs.iterdir():
        command = ["callgrind_annotate", "--threshold=100", str(log)]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        ours = re.findall(rf"^ *([\d,]+).*{re.escape(bench.runtime.name)}", listed, re.MULTILINE)
        most = max(most, sum(int(number.replace(",", "")) for number in ours))
    return most / CALLS


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no Valgrind: apt-get install valgrind")
@pytest.mark.parametrize("call", FUNCTIONS if LONG else ["bcast"])
def test_a_call_that_is_passed_through_takes_few_instructions(bench: Bench, call: str) -> None:
    """In the soak, as few for a short message as for a longer one: the length alone decides."""
    each = {size: instructions(bench, call, size) for size in ((8, 32768) if LONG else (32768,))}
    print(each)
    assert all(20 < taken < MOST for taken in each.values()), each
    assert max(each.values()) - min(each.values()) < 3, each
