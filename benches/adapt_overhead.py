"""What following an advisor costs: at most 1 % of 1 MiB broadcasts on an idle local network, 5 % of a core.

Runs with and without the advisor alternate; each pair gives the ratio of the medians of its broadcasts. Two
ranks, as on two hosts (by messages, whose links are timed) and as on one (through shared memory). Both kinds
of runs use one plan, by a planner that is asked for by name: what is measured is the machinery, not the plan.
Then the advisor's processor time while nothing runs. Raw samples go to .bench/adapt_overhead.json; the exit
code is 1 if three of four pairs cost more than is allowed.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from broadleaf.mpi import Mpi, find_mpis, launch_command

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RAW = ROOT / ".bench" / "adapt_overhead.json"
SEVERAL_HOSTS = ROOT / "tests" / "mpi" / "programs" / "several_hosts.c"
ALLOWED_PART = 0.01
ALLOWED_IDLE = 0.05
BYTES = 1 << 20
PAIRS = 15
REPETITIONS = 400
WARM_UP_S = 0.5
PREPARED_S = 20.0
IDLE_S = 20.0


def main() -> int:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for mpi in find_mpis():
            program, hosts = build(mpi, folder)
            for kind, variables in (("messages", {"LD_PRELOAD": str(hosts)}), ("memory", {})):
                rows.append(
                    {"mpi": mpi.flavour, "kind": kind, "pairs": pairs(mpi, program, folder, variables)}
                )
        idle = idle_share(folder / "idle")
    RAW.parent.mkdir(exist_ok=True)
    document = {"machine": platform.platform(), "load": os.getloadavg(), "rows": rows, "idle_share": idle}
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
    print(f"idle advisor: {100 * idle:.2f} % of a core, allowed {100 * ALLOWED_IDLE:.0f} %")
    print(f"raw samples: {RAW.relative_to(ROOT)}")
    return 1 if worst or idle > ALLOWED_IDLE else 0


def build(mpi: Mpi, folder: Path) -> tuple[Path, Path]:
    """The program, and what makes its ranks believe that they are on several hosts."""
    program, hosts = folder / f"overhead_{mpi.flavour}", folder / f"hosts_{mpi.flavour}.so"
    subprocess.run([str(mpi.mpicc), "-O2", HERE / "adapt_overhead.c", "-o", program], check=True)
    subprocess.run([str(mpi.mpicc), "-shared", "-fPIC", SEVERAL_HOSTS, "-o", hosts], check=True)
    return program, hosts


def pairs(mpi: Mpi, program: Path, folder: Path, variables: dict[str, str]) -> list[tuple[float, float]]:
    """Medians without and with the advisor, seconds; which of them goes first takes turns."""
    state = folder / f"state-{mpi.flavour}-{len(variables)}"
    found = []
    with advisor(state) as service:
        for turn in range(PAIRS):
            given = {"BROADLEAF_PLANNER": "chain"} if variables else {}
            sides = {}
            for side in (None, state) if turn % 2 else (state, None):
                advice = {"BROADLEAF_ADVICE": str(side)} if side is not None else {}
                sides[side is not None] = median_s(mpi, program, {**variables, **given, **advice})
            found.append((sides[False], sides[True]))
        service.terminate()
    return found


def median_s(mpi: Mpi, program: Path, variables: dict[str, str]) -> float:
    preload = variables.pop("LD_PRELOAD", None)
    if preload is not None:
        variables["LD_PRELOAD"] = preload
        os.environ["LD_PRELOAD"] = preload
    try:
        arguments = [str(program), str(BYTES), str(REPETITIONS), str(WARM_UP_S)]
        argv, environment = launch_command(mpi, 2, arguments, variables=variables, preload=mpi.runtime)
    finally:
        os.environ.pop("LD_PRELOAD", None)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return statistics.median(float(line) for line in done.stdout.splitlines())


def advisor(state: Path, *options: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "broadleaf", "advise", "--state", str(state), *options]
    process = subprocess.Popen(argv)
    while not (state / "lock").exists():
        time.sleep(0.05)
    return process


def idle_share(state: Path) -> float:
    """Of one core, once everything for a platform of 64 nodes is prepared."""
    with advisor(state, "--platform", str(ROOT / "platforms" / "teragrid-64.json")) as service:
        deadline = time.monotonic() + 300
        # Idle is when a while passes without a new plan.
        last, since = -1, time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - since < PREPARED_S:
            plans = len(list((state / "plans").glob("*.json")))
            if plans != last:
                last, since = plans, time.monotonic()
            time.sleep(0.2)
        before = cpu_s(service.pid)
        time.sleep(IDLE_S)
        share = (cpu_s(service.pid) - before) / IDLE_S
        service.terminate()
    return share


def cpu_s(process: int) -> float:
    """User and system time of a process so far, all its threads together."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
