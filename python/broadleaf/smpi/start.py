"""Runs a program of smpicc in simulated time, with the clean model and a time limit; returns its output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

# A transfer takes latency + bytes / rate and nothing else: SMPI's defaults stretch latencies by 2 to 11.6,
# charge for crossing traffic, and bill the program's own computing to simulated time.
CLEAN = {
    "smpi/bw-factor": "0:1",
    "smpi/lat-factor": "0:1",
    "network/weight-S": "0",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "1e12",
    "smpi/wtime": "0",
    "smpi/simulate-computation": "no",
}

# Resets the clean model's network settings to SimGrid's own.
DEFAULT_MODEL: dict[str, str | None] = dict.fromkeys(
    ("smpi/bw-factor", "smpi/lat-factor", "network/weight-S", "network/crosstraffic", "network/TCP-gamma")
)

# The collectives with which programs start: trees, since SMPI's defaults for them are linear.
START_UP = {
    "smpi/reduce": "binomial",
    "smpi/allreduce": "rdb",
    "smpi/barrier": "ompi_tree",
    # With thousands of messages at once, SMPI searches all of them for each completion.
    "smpi/gather": "ompi_binomial",
    "smpi/scatter": "ompi_binomial",
}

TIMEOUT_S = 600.0


class SmpiError(ValueError):
    """A program that cannot be built or run; the message is one line."""


class SmpiTimeoutError(SmpiError):
    """A program that timed out."""


def missing() -> str | None:
    """The reason why programs cannot be built and run; None if they can."""
    try:
        need("smpirun")
        need("smpicc")
    except SmpiError as error:
        return str(error)
    return None


def need(tool: str) -> str:
    path = shutil.which(tool)
    if path is None:
        raise SmpiError(f"{tool} is missing; install SimGrid (Debian: apt-get install libsimgrid-dev)")
    return path


def simulate(
    xml: Path,
    hosts: Path,
    program: list[str],
    *,
    ranks: int | None = None,
    settings: Mapping[str, str | None] | None = None,
    variables: dict[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
    errors: TextIO | None = None,
) -> str:
    """The program's output when run on the simulated platform, one rank per line of `hosts`.

    `settings` are SimGrid's, and win over the clean model's, e.g. {"smpi/bcast": "mpich"}; None stands for
    SimGrid's default. `variables` are for the program's environment. Its standard error is passed to
    `errors`.

    Raises SmpiError, and SmpiTimeoutError after `timeout_s` of real time.
    """
    with tempfile.TemporaryDirectory(prefix="broadleaf-smpi-") as copies:
        # SMPI puts a copy of the program per rank there, and leaves them if the run is killed.
        configuration = {**CLEAN, **START_UP, "smpi/tmpdir": copies, **(settings or {})}
        command = [need("smpirun"), "-platform", str(xml), "-hostfile", str(hosts)]
        command += ["-np", str(ranks)] if ranks else []
        command += ["--log=root.thres:warning"]
        command += [f"--cfg={key}:{value}" for key, value in configuration.items() if value is not None]
        # A separate session, so that the time limit also ends smpirun's children.
        with subprocess.Popen(
            [*command, *program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **(variables or {})},
        ) as process:
            try:
                out, err = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                raise SmpiTimeoutError(
                    f"{Path(program[0]).name} still runs after {timeout_s:g} s; give it more time"
                ) from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, 9)
    if process.returncode:
        raise SmpiError(f"{Path(program[0]).name} failed under smpirun: {first_error(err)}")
    # SMPI's MPI_Abort exits with 0, so only the program's output shows it.
    if errors is not None:
        errors.write(err)
    return out


def broadcast_algorithms(xml: Path, hosts: Path, program: list[str]) -> list[str]:
    """The names that `smpi/bcast` takes."""
    return algorithms("bcast", xml, hosts, program)


def algorithms(collective: str, xml: Path, hosts: Path, program: list[str]) -> list[str]:
    """The names that `smpi/COLLECTIVE` takes. SMPI lists them only when it refuses one."""
    try:
        simulate(xml, hosts, program, ranks=1, settings={f"smpi/{collective}": "?"}, timeout_s=60)
    except SmpiError as refusal:
        listed = re.search(r"Valid algorithms: ([^.]*)\.", str(refusal))
        if listed:
            return listed[1].split(", ")
    raise SmpiError(f"this SMPI does not list its {collective} algorithms; Broadleaf was tried with 3.32")


def first_error(text: str) -> str:
    """The most useful line: the first that reports an error, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|CRITICAL|Cannot|No such", line)]
    return (telling or lines or ["no message"])[0]
