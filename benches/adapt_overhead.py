"""The cost of an advisor: at most 1 % of 1 MiB broadcasts on an idle local network, and 5 % of a core.

Runs with and without the advisor alternate; each pair gives the ratio of the medians of its broadcasts. Two
ranks, as on two hosts (over TCP, whose links are timed) and as on one (through shared memory). Both kinds of
runs use one plan, by a planner selected by name, so that the plan does not affect the ratio. Then the
advisor's processor time while no program runs: after a program, whose broadcasts it has recorded, and with
all plans prepared for smp-16. Raw samples go to .bench/adapt_overhead.json; the exit code is 1 if three of
four pairs exceed the limit. Takes about two minutes, and needs an otherwise idle machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from refusals import exit_with

from broadleaf.mpi import Mpi, launch_command, required_mpis

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RAW = ROOT / ".bench" / "adapt_overhead.json"
SEVERAL_HOSTS = ROOT / "tests" / "mpi" / "programs" / "several_hosts.c"
ALLOWED_PART = 0.01
ALLOWED_IDLE = 0.05
BYTES = 1 << 20
PAIRS = 7
MEASURED_S = 0.7
WARM_UP_S = 0.3
# A run takes a second or two, more where ranks that wait for each other also wait for a core.
LIMIT_S = 60.0
# Settings of Open MPI, of MPICH, and the planner: for two ranks every plan is a chain.
NETWORK = {
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "tcp,self",
    "MPIR_CVAR_NOLOCAL": "1",
    "FI_PROVIDER": "tcp",
    "BROADLEAF_PLANNER": "chain",
}
# Preparation has ended after PREPARED_S without a new plan; the bench waits for that MOST_PREPARING_S at
# most.
PREPARED_S = 5.0
MOST_PREPARING_S = 60.0
IDLE_S = 5.0


def main() -> int:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for mpi in required_mpis().values():
            program, hosts = build(mpi, folder)
            for kind, variables in (("network", {**NETWORK, "LD_PRELOAD": str(hosts)}), ("memory", {})):
                found, after = pairs(mpi, program, folder, variables)
                rows.append({"mpi": mpi.flavour, "kind": kind, "pairs": found, "idle_share_after": after})
        prepared = idle_share(folder / "idle")
    idle = max(prepared, *(row["idle_share_after"] for row in rows))
    RAW.parent.mkdir(exist_ok=True)
    document = {"machine": platform.platform(), "load": os.getloadavg(), "rows": rows, "idle_share": prepared}
    RAW.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{'mpi':8} {'way':9} {'alone us':>9} {'advised us':>10} {'ratio':>7} {'quartiles':>15}")
    worst = 0
    for row in rows:
        ratios = [advised / alone for alone, advised in row["pairs"]]
        low, middle, high = statistics.quantiles(ratios, n=4)
        worst += low > 1 + ALLOWED_PART
        alone, advised = (statistics.median(side) * 1e6 for side in zip(*row["pairs"], strict=True))
        spread = f"{low:.3f}-{high:.3f}"
        print(f"{row['mpi']:8} {row['kind']:9} {alone:9.1f} {advised:10.1f} {middle:7.4f} {spread:>15}")
    print(f"idle advisor: at most {100 * idle:.2f} % of a core, allowed {100 * ALLOWED_IDLE:.0f} %")
    print(f"raw samples: {RAW.relative_to(ROOT)}")
    return 1 if worst or idle > ALLOWED_IDLE else 0


def build(mpi: Mpi, folder: Path) -> tuple[Path, Path]:
    """The program, and the library that gives its ranks different host names."""
    program, hosts = folder / f"overhead_{mpi.flavour}", folder / f"hosts_{mpi.flavour}.so"
    subprocess.run([str(mpi.compiler), "-O2", HERE / "adapt_overhead.c", "-o", program], check=True)
    subprocess.run([str(mpi.compiler), "-shared", "-fPIC", SEVERAL_HOSTS, "-o", hosts], check=True)
    return program, hosts


def pairs(
    mpi: Mpi, program: Path, folder: Path, variables: dict[str, str]
) -> tuple[list[tuple[float, float]], float]:
    """Medians without and with the advisor, seconds, and the advisor's share of a core after the runs.

    The two sides take turns in going first.
    """
    state = folder / f"state-{mpi.flavour}-{len(variables)}"
    found = []
    with advisor(state) as service:
        for turn in range(PAIRS):
            sides = {}
            for side in (None, state) if turn % 2 else (state, None):
                advice = {"BROADLEAF_ADVICE": str(side)} if side is not None else {}
                sides[side is not None] = median_s(mpi, program, {**variables, **advice})
            found.append((sides[False], sides[True]))
        # The advisor may still plan for the program's last broadcasts.
        time.sleep(PREPARED_S)
        after = share_of_a_core(service)
    return found, after


def median_s(mpi: Mpi, program: Path, variables: dict[str, str]) -> float:
    preload = variables.pop("LD_PRELOAD", None)
    if preload is not None:
        variables["LD_PRELOAD"] = preload
        os.environ["LD_PRELOAD"] = preload
    try:
        arguments = [str(program), str(BYTES), str(MEASURED_S), str(WARM_UP_S)]
        argv, environment = launch_command(mpi, 2, arguments, variables=variables, preload=mpi.runtime)
    finally:
        os.environ.pop("LD_PRELOAD", None)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return statistics.median(float(line) for line in done.stdout.splitlines())


@contextlib.contextmanager
def advisor(state: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-m", "broadleaf", "advise", "--state", str(state), *options]
    with subprocess.Popen(argv) as process:
        try:
            while not (state / "lock").exists() and process.poll() is None:
                time.sleep(0.05)
            yield process
        finally:
            process.terminate()


def idle_share(state: Path) -> float:
    """The advisor's share of one core, once all plans for a platform are prepared."""
    with advisor(state, "--platform", str(ROOT / "platforms" / "smp-16.json")) as service:
        deadline = time.monotonic() + MOST_PREPARING_S
        # The advisor is idle after PREPARED_S without a new plan.
        last, since = -1, time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - since < PREPARED_S:
            plans = len(list((state / "plans").glob("*.json")))
            if plans != last:
                last, since = plans, time.monotonic()
            time.sleep(0.2)
        return share_of_a_core(service)


def share_of_a_core(service: subprocess.Popen[bytes]) -> float:
    before = cpu_s(service.pid)
    time.sleep(IDLE_S)
    return (cpu_s(service.pid) - before) / IDLE_S


def cpu_s(process: int) -> float:
    """User and system time of a process so far, all its threads together."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    exit_with(main)
