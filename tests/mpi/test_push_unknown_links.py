"""Pushes that measure the network on the way: without a platform, or far below the rate of theirs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import broadleaf as bl
from broadleaf import pushing
from broadleaf.mpi import start_of
from broadleaf.pushing import unknown_links
from broadleaf.pushing.unknown_links import UnknownLinks

if TYPE_CHECKING:
    from conftest import Bench

HOSTS = 3
# Several windows.
BYTES = 256 << 20
TWO_HOSTS: dict[str, Any] = {
    "format": "broadleaf-platform/1",
    "name": "two hosts",
    "port_model": "one-port",
    "nodes": [{"id": "a"}, {"id": "b"}],
}


def test_a_long_push_without_a_platform_names_the_remedy(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"text")
    hint = "broadleaf: without a platform all links count as equal"
    for long_s, ranks, is_hinted in ((0.0, 3, True), (0.0, 2, False), (60.0, 3, False)):
        monkeypatch.setattr(pushing, "HINT_S", long_s)
        pushing.push(source, f"{tmp_path}/out{{rank}}", ranks, launcher=bench.mpi.mpiexec)
        assert (hint in capfd.readouterr().err) == is_hinted, (long_s, ranks)


def test_a_long_push_over_unknown_links_is_measured_and_goes_on_with_a_plan(
    hosts_of: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(unknown_links, "SETTLED_S", 0.0)
    monkeypatch.setattr(unknown_links, "LONG_S", 0.0)
    monkeypatch.setattr(pushing, "HINT_S", 0.0)
    for host in range(HOSTS):
        (tmp_path / f"host{host}").mkdir()
    data = os.urandom(BYTES)
    (tmp_path / "source").write_bytes(data)
    to = f"{tmp_path}/{{host}}/out"
    pushed = bl.push(tmp_path / "source", to, HOSTS, launcher=hosts_of.mpi.mpiexec)
    assert pushed.is_everywhere
    said = capfd.readouterr().err
    assert said.count("left without a platform; stopping to measure the network") == 1
    assert "without a platform all links count as equal" not in said
    for host in range(HOSTS):
        assert (tmp_path / f"host{host}" / "out").read_bytes() == data
    # The second job resumes.
    assert 0 < pushed.hosts[1]["written_bytes"] < len(data)


def test_only_a_slow_push_is_worth_a_measurement(bench: Bench, tmp_path: Path) -> None:
    def event(seconds: float, done: int) -> dict[str, Any]:
        return {"seconds": seconds, "done_bytes": done, "total_bytes": 1000}

    unknown = UnknownLinks(start_of(flavour=bench.mpi.flavour), None, None, tmp_path / "measured.json")
    assert unknown.worth_measuring(event(1, 10)) is None
    # Too early to tell; nothing has come since; 38 bytes in 10 s leave 250 s.
    assert unknown.worth_measuring(event(5, 11)) is None
    assert unknown.worth_measuring(event(7, 10)) is None
    assert unknown.worth_measuring(event(11, 48)) == pytest.approx(952 / 38 * 10)
    # 90 bytes in 10 s leave 100 s.
    assert unknown.worth_measuring(event(11, 100)) is None

    # Of 8 or 7 bytes/s between the two hosts, 3.8 bytes/s are less than half of the first alone.
    for rate, left_s in ((8.0, pytest.approx(952 / 38 * 10)), (7.0, None)):
        link = {"bandwidth_bytes_per_s": rate}
        platform = bl.Platform.from_dict({**TWO_HOSTS, "links": [{"from": "a", "to": "b", **link}]})
        known = UnknownLinks(unknown.start, None, None, tmp_path / "measured.json", platform, "a")
        assert known.worth_measuring(event(1, 10)) is None
        assert known.worth_measuring(event(11, 48)) == left_s


@pytest.mark.parametrize("bench", ["openmpi"], indirect=True)
def test_a_push_far_below_the_rate_of_its_platform_is_measured(
    bench: Bench, agent: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(agent)
    monkeypatch.setattr(unknown_links, "SETTLED_S", 0.0)
    monkeypatch.setattr(unknown_links, "LONG_S", 0.0)
    data = os.urandom(BYTES)
    (agent / "source").write_bytes(data)
    names = ["localhost", "first", "second"]
    (agent / "hosts").write_text("\n".join(names) + "\n")
    for rate, is_measured in ((1e15, True), (1e6, False)):
        links = [
            {"from": one, "to": other, "bandwidth_bytes_per_s": rate}
            for one in names
            for other in names
            if one != other
        ]
        platform = bl.Platform.from_dict(
            {
                "format": "broadleaf-platform/1",
                "name": f"{rate:g} bytes/s",
                "port_model": "one-port",
                "nodes": [{"id": name} for name in names],
                "links": links,
            }
        )
        to = f"{agent}/{rate:g}-{{rank}}"
        pushed = bl.push(
            agent / "source", to, hosts=agent / "hosts", platform=platform, launcher=bench.mpi.mpiexec
        )
        assert pushed.is_everywhere
        said = capfd.readouterr().err
        assert ("left at less than half of the platform's rate; stopping to measure" in said) == is_measured
        for rank in range(len(names)):
            assert (agent / f"{rate:g}-{rank}").read_bytes() == data
