"""Rates change while a real program runs over real TCP, and its plan follows."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import broadleaf as bl
from beds import ROOT, can_make_namespaces, prefix, triangle
from broadleaf.mpi import find_mpi

BED = ROOT / "testbeds/namespaces"
# Slow enough that the processor does not matter.
BYTES = 1 << 20
FAST = 2.5e6
SLOW = 2.5e5
BROADCASTS = 12
CHANGED_AFTER = 3
# Over the slowed link even half of the message takes twice as long as this.
STALE_S = 2.5 * BYTES / FAST

pytestmark = [
    pytest.mark.skipif(not can_make_namespaces(), reason="network namespaces need root and iproute2"),
    # Three ranks that wait for the processor look like three slow links.
    pytest.mark.skipif(
        "BROADLEAF_SOAK" not in os.environ, reason="wants a machine of its own; run by make soak"
    ),
]


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
def test_the_plan_follows_a_rate(flavour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BED))
    for module in ("launch", "network", "run"):
        # Another bed has modules of these names too.
        monkeypatch.delitem(sys.modules, module, raising=False)
    launch, network, run = map(importlib.import_module, ("launch", "network", "run"))
    platform, state = triangle(tmp_path, FAST), tmp_path / "advice"
    mpi = prefix(flavour)
    program = str(run.build(ROOT / "testbeds/bcast.c", mpi, tmp_path))
    variables = {
        "BROADLEAF_ADVICE": str(state),
        "BROADLEAF_PLATFORM": str(platform),
        # The initial plan.
        "BROADLEAF_PLANNER": "chain",
        "LD_PRELOAD": str(find_mpi("mpich" if flavour == "mpich" else "openmpi").runtime),
    }
    # Preloaded into the ranks, not into their launcher.
    program_line = ["env", *(f"{name}={value}" for name, value in variables.items())]
    program_line += [program, str(BYTES), str(BROADCASTS), "0"]
    advise = [sys.executable, "-m", "broadleaf", "advise", "--state", str(state)]
    with (
        subprocess.Popen(advise, stderr=subprocess.PIPE, text=True) as advisor,
        network.Network(f"bladapt{os.getpid()}", network.rates_of(bl.Platform.load(platform))) as bed,
    ):
        try:
            while not (state / "lock").exists() and advisor.poll() is None:
                time.sleep(0.05)
            agent = launch.write_agent(bed, tmp_path)
            argv, environment = launch.command_of(mpi, bed, agent, 3, [], program_line)
            environment["TMPDIR"] = str(tmp_path)
            seconds: list[float] = []
            with subprocess.Popen(
                argv, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
            ) as job:
                limit = threading.Timer(120, os.killpg, (job.pid, signal.SIGKILL))
                limit.start()
                assert job.stdout is not None
                for line in job.stdout:
                    found = re.search(r"seconds=([0-9.]+) wrong_bytes=0$", line.strip())
                    assert found, line
                    seconds.append(float(found[1]))
                    if len(seconds) == CHANGED_AFTER:
                        # Whichever of the two the root serves first.
                        used = first_child(state)
                        bed.set_pair_rate("r", used, SLOW)
                limit.cancel()
        finally:
            advisor.terminate()
            said = advisor.communicate(timeout=30)[1]
    assert len(seconds) == BROADCASTS, (seconds, said)
    print(f"{flavour}: " + " ".join(f"{taken:.2f}" for taken in seconds))
    stale = [at for at, taken in enumerate(seconds) if at >= CHANGED_AFTER and taken > STALE_S]
    # Two by design; a machine that is busy with other things may be late by one or two more.
    assert 1 <= len(stale) <= 4, (seconds, said)
    assert max(seconds[-3:]) < STALE_S, (seconds, said)
    assert said == ""


def first_child(state: Path) -> str:
    """The child that the root serves first: in the advisor's plan, if there is one yet, else in the chain."""
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        for path in (state / "plans").glob("*-20.json"):
            if "-0000000000000000-" not in path.name:
                return str(json.loads(path.read_text())["plan"]["trees"][0]["children"]["r"][0])
        time.sleep(0.1)
    return "a"
