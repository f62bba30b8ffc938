"""The broadcasts that `measure` rehearses with the runtime, on real MPI."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

import pytest

import broadleaf as bl
from broadleaf.mpi import Start, start_of
from broadleaf.mpi.find import Flavour
from broadleaf.rehearsal import JOBS, TIMED, RehearsalError, is_planned, rehearsed, times_of


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def start(request: pytest.FixtureRequest) -> Start:
    flavour: Flavour = request.param
    return start_of(flavour=flavour)


def net(latency_s: float = 1e-6) -> bl.Platform:
    hosts = ["a", "b", "c"]
    link = {"latency_s": latency_s, "bandwidth_bytes_per_s": 1e10}
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "net",
            "port_model": "one-port",
            "nodes": [{"id": host, "host": socket.gethostname()} for host in hosts],
            "meshes": [{"nodes": hosts, "link": link}],
        }
    )


def test_broadcasts_are_timed_beside_their_predictions(start: Start) -> None:
    rows = rehearsed(start, 3, [], net())
    assert [row["bytes"] for row in rows] == [1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24]
    for row in rows:
        assert row["calls"] == JOBS * TIMED
        assert 0 < row["least_s"] <= row["median_s"] <= row["greatest_s"]
        assert row["predicted_s"] == bl.plan(net(), "a", row["bytes"]).makespan_s


def test_sizes_that_do_not_fit_in_the_time_are_an_error(start: Start) -> None:
    # A message takes 40 ms at least, and 63 of them 2.5 s.
    slow = net(latency_s=0.02)
    with pytest.raises(RehearsalError, match=r"63 broadcasts of 64 KiB do not fit in 0\.1 s"):
        rehearsed(start, 3, [], slow, budget_s=1.0)


def test_a_job_that_fails_is_an_error_in_one_line(start: Start) -> None:
    unknown = dataclasses.replace(start.launcher, arguments=("--no-such-option",))
    with pytest.raises(RehearsalError, match="broadcasts failed: ") as caught:
        rehearsed(dataclasses.replace(start, launcher=unknown), 3, [], net())
    assert "\n" not in str(caught.value)


def test_lines_of_launchers_are_not_times() -> None:
    assert times_of("65536 0.5\nhello\n1 2 3\n65536 0.25\n") == {65536: [0.5, 0.25]}


def test_broadcasts_that_the_mpi_had_to_carry_do_not_count(tmp_path: Path) -> None:
    stats = tmp_path / "stats.json"
    assert not is_planned(stats)
    stats.write_text('{"passed_through": {"under-threshold": 3}}')
    assert is_planned(stats)
    stats.write_text('{"passed_through": {"under-threshold": 3, "no-runtime": 1}}')
    assert not is_planned(stats)


def test_a_measured_platform_has_intervals(tmp_path: Path) -> None:
    platform = bl.measure(3, out=tmp_path / "net.json", mpi="mpich", budget_s=100)
    rows = platform.to_dict()["provenance"]["measured"]["rehearsed"]
    assert [row["calls"] for row in rows] == [JOBS * TIMED] * len(rows)
    plan = bl.plan(bl.Platform.load(tmp_path / "net.json"), platform.hosts[0], rows[0]["bytes"])
    assert plan.makespan_interval_s == pytest.approx(
        (rows[0]["least_s"] / 1.15, rows[0]["greatest_s"] * 1.15)
    )
