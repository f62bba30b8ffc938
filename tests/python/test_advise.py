"""The advisor's service without programs: the links it finds slow, its share of probes, its refusals."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from broadleaf._core import Advisor
from broadleaf.advise import State, StateError
from broadleaf.advise.monitor import Monitor, Probed, representatives
from broadleaf.advise.network import Network, Observed
from broadleaf.advise.samples import Expectation, Expected, Usual, findings
from broadleaf.advise.service import Service
from broadleaf.mpi import start_of
from broadleaf.mpi.hosts import Host
from outcome import Command, refused

MEBIBYTE = 1 << 20
RATE = 1e7


@pytest.fixture
def platform() -> bl.Platform:
    """A chain is the way through it: 0 -> 1 -> 2 -> 3."""
    nodes = [{"id": f"n{node}"} for node in range(4)]
    links = [{"from": f"n{at}", "to": f"n{at + 1}", "bandwidth_bytes_per_s": RATE} for at in range(3)]
    links.append({"from": "n0", "to": "n3", "bandwidth_bytes_per_s": RATE / 2})
    return bl.Platform.from_dict(
        {
            "format": "broadleaf-platform/1",
            "name": "chain",
            "port_model": "one-port",
            "nodes": nodes,
            "links": links,
        }
    )


def halves(seconds: float) -> Any:
    return ((1000, seconds), (1000, seconds))


def test_only_the_link_that_is_behind_its_own_sender_is_blamed() -> None:
    expected = Expectation(dict.fromkeys(((0, 1), (1, 2), (2, 3)), (1.0, 1.0)))
    seen = {(0, 1): halves(1.0), (1, 2): halves(4.0), (2, 3): halves(4.1)}
    found = {(f.source, f.target): f.seconds for f in findings(seen, expected)}
    # The last link only waits for the middle one; the first has its measured rate, which is kept too.
    assert found == {(0, 1): 1.0, (1, 2): 4.0}
    # If it is even slower, it is slow itself.
    seen[2, 3] = halves(9.0)
    assert {(f.source, f.target) for f in findings(seen, expected)} == {(0, 1), (1, 2), (2, 3)}


def test_a_link_is_not_blamed_for_a_sender_that_was_slow_before() -> None:
    expected = Expectation(dict.fromkeys(((0, 1), (1, 2)), (1.0, 1.0)))
    known: dict[Any, float] = {}
    assert [f.target for f in findings({(0, 1): halves(4.0)}, expected, known)] == [1, 1]
    # The first link is as slow as it was, and is not told again.
    assert list(findings({(1, 2): halves(4.1)}, expected, known)) == []
    assert [f.seconds for f in findings({(0, 1): halves(1.0)}, expected, known)] == [1.0, 1.0]
    assert [f.target for f in findings({(1, 2): halves(4.1)}, expected, known)] == [2, 2]


def test_a_slow_link_may_have_waited_for_its_senders_other_links() -> None:
    links = ((0, 1), (1, 2), (1, 3), (0, 4))
    expected = Expectation(dict.fromkeys(links, (1.0, 1.0)))
    seen = dict(zip(links, map(halves, (2.0, 4.0, 6.0, 0.5)), strict=True))
    others = {(found.source, found.target): found.others for found in findings(seen, expected)}
    # The slowest of a sender's inputs and other outputs; faster ones delay nothing.
    assert others == {(0, 1): 1.0, (1, 2): 6.0, (1, 3): 4.0, (0, 4): 2.0}


def test_a_link_that_the_plan_does_not_have_says_nothing() -> None:
    assert list(findings({(0, 9): halves(1.0)}, Expectation({(0, 1): (1.0, 1.0)}))) == []


def test_times_that_vary_as_in_the_rehearsal_are_no_change() -> None:
    """Rehearsed broadcasts took one to four times the predicted time: a factor of two both ways."""
    links = ((0, 1), (0, 2), (0, 3), (1, 4), (2, 5))
    expected = Expectation(dict.fromkeys(links, (1.0, 1.0)), (1.0, 4.0))
    seen = dict(zip(links, map(halves, (0.5, 2.0, 4.0, 3.0, 2.2)), strict=True))
    # The sender of the last but one received as ever, so that link is slow; the last one may have waited.
    found = {(f.source, f.target): f.seconds for f in findings(seen, expected)}
    assert found == {(0, 1): 1.0, (0, 2): 1.0, (0, 3): 4.0, (1, 4): 3.0}


def test_a_link_is_compared_with_its_own_first_times() -> None:
    predicted = Expectation(dict.fromkeys(((0, 1), (0, 2), (0, 3)), (1.0, 1.0)), (2.0, 4.5))
    usual = Usual()
    times = usual.times({(0, 1): halves(1.1), (0, 2): halves(3.0)}, predicted, 100.0)
    assert times.halves == {(0, 1): (1.1, 1.1), (0, 2): (3.0, 3.0), (0, 3): (1.0, 1.0)}
    assert times.spread == 1.5
    # An outlier among the first does not count, nor does what comes after them.
    for seconds in (9.0, 3.2, 3.2, 3.4, 9.0, 9.0, 9.0, 9.0):
        times = usual.times({(0, 2): halves(seconds)}, predicted, 101.0)
    assert times.halves[0, 2] == (3.2, 3.2)
    # What comes seconds later is no first time either, however few there were.
    assert usual.times({(0, 1): halves(9.0)}, predicted, 106.0).halves[0, 1] == (1.1, 1.1)
    # A link that is slower from the start than any rehearsed broadcast was has changed.
    assert Usual().times({(0, 2): halves(40.0)}, predicted, 100.0).halves[0, 2] == (4.5, 4.5)
    # Where nothing was rehearsed the prediction stands.
    plain = Expectation(predicted.halves)
    assert Usual().times({(0, 2): halves(3.0)}, plain, 100.0) == plain


def test_a_short_time_shows_no_faster_link_where_broadcasts_were_rehearsed() -> None:
    predicted = Expectation({(0, 1): (1.0, 1.0)}, (2.0, 4.5))
    short = {(0, 1): halves(0.1)}
    assert [found.seconds for found in findings(short, predicted)] == [1.0, 1.0]
    plain = Expectation(predicted.halves)
    assert [found.seconds for found in findings(short, plain)] == pytest.approx([0.1, 0.1])


def test_ratios_are_those_of_the_nearest_rehearsed_size(platform: bl.Platform) -> None:
    plan = bl.plan(platform, "n0", MEBIBYTE, planner="grow", segment_bytes=MEBIBYTE // 16)
    measured = {"date": "2026-01-01T00:00", "quality": "good", "hosts": [], "warnings": []}
    row = {"bytes": MEBIBYTE, "predicted_s": 1.0, "least_s": 2.0 * 1.15, "greatest_s": 8.0 / 1.15}
    provenance = {"measured": {**measured, "rehearsed": [row]}}
    rehearsed = Expected(bl.Platform.from_dict({**platform.to_dict(), "provenance": provenance}))
    # At 16 MiB no prediction has an interval.
    for size in (MEBIBYTE, 16 * MEBIBYTE):
        assert rehearsed.of(plan, size).ratios == pytest.approx((2.0, 8.0))
        assert rehearsed.of(plan, size).halves == Expected(platform).of(plan, size).halves
        assert Expected(platform).of(plan, size).ratios == (1.0, 1.0)


def test_a_believed_rate_has_an_interval_as_wide_as_rehearsed_broadcasts_varied(
    platform: bl.Platform,
) -> None:
    row = {"bytes": MEBIBYTE, "predicted_s": 1.0, "least_s": 2.0 * 1.15, "greatest_s": 8.0 / 1.15}
    measured = {"date": "2026-01-01T00:00", "quality": "good", "hosts": [], "warnings": []}
    provenance = {"measured": {**measured, "rehearsed": [row]}}
    rehearsed = bl.Platform.from_dict({**platform.to_dict(), "provenance": provenance})
    network = Network(rehearsed, has_monitor=False, resume_after=0)
    plan = bl.plan(rehearsed, "n0", MEBIBYTE, planner="grow", segment_bytes=MEBIBYTE // 16)
    predicted = Expected(platform).of(plan, MEBIBYTE).halves[0, 1]
    brought = {"version": 1, "plan": plan.to_dict(), "nodes": [0, 1, 2, 3]}
    note = {"communicator": "a7", "root": 0, "version": 1}
    for call, times in enumerate([3.0] * 5 + [30.0] * 2):
        heard = {**note, "age_s": 0.0, "bytes": MEBIBYTE, "brought": brought if call == 0 else None}
        network.called(heard, float(call))
        seconds = [times * half_s for half_s in predicted]
        sample = {**note, "call": call, "message_bytes": MEBIBYTE, "from": 0, "to": 1}
        network.timed({**sample, "bytes": [MEBIBYTE // 2] * 2, "seconds": seconds}, float(call))
        network.settle(call + 0.5)
        assert (network.believed() == []) == (times == 3.0)
    (believed,) = network.believed()
    assert (believed["from"], believed["to"]) == ("n0", "n1")
    assert believed["rate"] == pytest.approx(0.1)
    # A fifth by which samples may differ, and the root of four by which rehearsed broadcasts varied. As the
    # usual time is three times that of the link's bytes, a thirtieth of its rate would do.
    assert believed["rate_interval"] == pytest.approx([0.1 / 3 / 2.4, 0.1 * 2.4])


def test_the_interval_of_a_link_that_may_have_waited_reaches_up_to_the_measured_rate(
    platform: bl.Platform,
) -> None:
    network = Network(platform, has_monitor=False, resume_after=0)
    for others, high in ((1.0, 0.12), (2.0, 0.24), (40.0, 1.0)):
        network._observed["n0", "n1"] = Observed(1.0, others)
        assert network._interval((0, 1), 0.1) == pytest.approx([0.1 / 1.2, high])
    # A probe waits for nothing.
    network.probed(0, 1, MEBIBYTE, 10 * MEBIBYTE / RATE, 10.0)
    assert network._interval((0, 1), 0.1) == pytest.approx([0.1 / 1.2, 0.12])


def test_what_is_expected_is_what_the_links_rates_say(platform: bl.Platform) -> None:
    plan = bl.plan(platform, "n0", MEBIBYTE, planner="grow", segment_bytes=MEBIBYTE // 16)
    expected = Expected(platform)
    for size in (MEBIBYTE, 2 * MEBIBYTE):
        times = expected.of(plan, size).halves
        assert times
        for first, second in times.values():
            # After the first segment: all others, one after the other, at the link's rate or slower.
            assert first + second >= (size - MEBIBYTE // 16) / RATE * 0.999
    (first, second) = times[0, 1]
    assert first + second == pytest.approx((2 * MEBIBYTE - MEBIBYTE // 16) / RATE)


def test_a_prepared_platform_is_as_the_runtime_sees_it(tmp_path: Path) -> None:
    """A port waits for the narrowest pipe on the way, and a host handles each message."""
    link = {"bandwidth_bytes_per_s": 1e7, "uses": ["wan"]}
    clusters = [{"id": "a", "cluster": "A"}, {"id": "b", "cluster": "B"}]
    document = {"format": "broadleaf-platform/1", "name": "two", "port_model": "one-port", "nodes": clusters}
    document["shared"] = [{"id": "wan", "bandwidth_bytes_per_s": 1e6}]
    document["bridges"] = [{"from_cluster": "A", "to_cluster": "B", "both_ways": True, "link": link}]
    (tmp_path / "two.json").write_text(json.dumps(document))
    state = State(tmp_path / "advice")
    state.lock()
    service = Service(state, None, print)
    service.prepare(tmp_path / "two.json")
    measured = bl.Platform.from_dict(document)
    network = service._network(measured.digest.removeprefix("sha256:")[:16])
    service.end()
    assert network is not None
    assert network.platform == measured.handled()
    assert network.platform.transfer_s("a", "b", 1_000_000) == pytest.approx(1.0 + 5e-6)


def test_a_named_planner_makes_all_plans(platform: bl.Platform, command: Command) -> None:
    orders = [item for item in Advisor(platform, 0.0, 600.0, [0], "annealing").tick(0.0) if item[0] == "plan"]
    assert orders
    assert {order.plan().planner for _, _, order in orders} == {"annealing"}
    with pytest.raises(bl.PlanError, match="nobody"):
        Advisor(platform, 0.0, 600.0, [0], "nobody")
    outcome = command("advise", "--planner", "anealing", "--for", "0")
    refused(outcome, "no planner is called 'anealing'", "did you mean 'annealing'?")


def notes(platform: bl.Platform, folder: Path, *, age_s: float, process: str = "p") -> None:
    key = platform.digest.removeprefix("sha256:")[:16]
    (folder / "platforms" / f"{key}.json").write_text(json.dumps(platform.to_dict()))
    plan = bl.plan(platform, "n0", MEBIBYTE, planner="grow", segment_bytes=MEBIBYTE)
    call = {"age_s": age_s, "platform": key, "communicator": "a7", "call": 0, "root": 0, "bytes": MEBIBYTE}
    call |= {"version": 0, "brought": {"version": 0, "plan": plan.to_dict(), "nodes": [0, 1, 2, 3]}}
    document = {"format": "broadleaf-notes/1", "process": process, "calls": [call], "samples": []}
    (folder / "inbox" / f"{process}-0.json").write_text(json.dumps(document))


@pytest.mark.parametrize("age_s", [0.1, -5.0, float("inf"), 1e300])
def test_ages_that_cannot_be_are_none(age_s: float, platform: bl.Platform, tmp_path: Path) -> None:
    state = State(tmp_path / "advice")
    state.lock()
    said: list[str] = []
    service = Service(state, None, said.append)
    notes(platform, state.folder, age_s=age_s)
    deadline = time.monotonic() + 30
    while not list((state.folder / "plans").glob("*-00000000000000a7-0-20.json")):
        service.turn(time.monotonic())
        assert time.monotonic() < deadline, said
        time.sleep(0.01)
    service.end()
    assert said == []
    # One note is enough: one call, and a plan that beats the unsegmented one.
    assert service.summary()["calls"] == 1


def test_orders_of_two_platforms_wait_for_each_other(platform: bl.Platform, tmp_path: Path) -> None:
    document = platform.to_dict()
    for link in document["links"]:
        link["bandwidth_bytes_per_s"] *= 2
    platforms = [platform, bl.Platform.from_dict(document)]
    state = State(tmp_path / "advice")
    state.lock()
    said: list[str] = []
    service = Service(state, None, said.append)
    for number, one in enumerate(platforms):
        notes(one, state.folder, age_s=0.1, process=f"p{number}")
    keys = [one.digest.removeprefix("sha256:")[:16] for one in platforms]
    # The predicted size, its double and its half, of both.
    wanted = {f"{key}-00000000000000a7-0-{exponent}" for key in keys for exponent in (19, 20, 21)}
    deadline = time.monotonic() + 30
    while not wanted <= {path.stem for path in (state.folder / "plans").iterdir()}:
        service.turn(time.monotonic())
        assert time.monotonic() < deadline, said
        time.sleep(0.01)
    service.end()
    assert said == []


def test_latencies_that_a_probe_finds_are_believed(platform: bl.Platform, tmp_path: Path) -> None:
    state = State(tmp_path / "advice")
    state.lock()
    path = tmp_path / "net.json"
    platform.save(path)

    # Not started: the test sets its findings.
    monitor = Monitor(start_of(flavour="mpich"), [Host("n0", 1), Host("n1", 1)], print)
    service = Service(state, monitor, print)
    service.prepare(path)
    drift = {"from": "n0", "to": "n1", "rate": 1.0, "rate_interval": pytest.approx([1 / 1.2, 1.2])}
    for now_s, believed in ((0.0, []), (1.0, [drift])):
        monitor._found.put(Probed("n0", "n1", (), 0.02))
        service.turn(now_s)
        found = service.summary()["believed"]
        assert [drift.pop("added_latency_s") for drift in found] == [pytest.approx(0.02)] * len(found)
        assert found == believed
    service.end()


@pytest.mark.parametrize("most_s", [1.0, 3.0])
def test_probes_take_no_more_than_their_share(most_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    monitor = Monitor(start_of(flavour="mpich"), [Host("a", 1)], print, period_s=100.0, share=0.03)
    spent_s = 0.0
    for turn in range(10_000):
        now_s += 0.1
        # Single links, and a sweep now and then.
        spent_s += monitor._granted_s(3.0 if turn % 100 == 0 else most_s)
    # 1,000 s: 30 s, and the share of one period saved up before.
    assert 30 <= spent_s <= 33


def test_two_nodes_stand_for_a_cluster(platform: bl.Platform) -> None:
    document = platform.to_dict()
    for node, cluster in zip(document["nodes"], "AAAB", strict=True):
        node["cluster"] = cluster
    assert representatives(bl.Platform.from_dict(document)) == ["n0", "n1", "n3"]


def test_one_advisor_a_directory(tmp_path: Path) -> None:
    first = State(tmp_path / "advice")
    first.lock()
    assert first.is_served()
    with pytest.raises(StateError, match="another advisor works there"):
        State(tmp_path / "advice").lock()


def test_a_restarted_advisor_counts_on_and_keeps_what_is_prepared(tmp_path: Path) -> None:
    state = State(tmp_path / "advice")
    for name, version in (
        ("k-00000000000000a7-0-20", 7),
        ("k-00000000000000a8-0-20", 5),
        ("k-0000000000000000-0-20", 3),
    ):
        assert state.publish(name, {"version": version}, print)
    (state.folder / "plans" / "k-00000000000000a9-0-20.json").write_text("{")
    assert state.last_version() == 7
    left = sorted(path.stem for path in (state.folder / "plans").iterdir())
    assert left == ["k-0000000000000000-0-20", "k-00000000000000a7-0-20"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["advise", "--state", "file/advice"], "name a directory that can be written with --state"),
        (["advise", "--hosts", "nowhere"], "nowhere"),
        (["advise", "--state", "advice", "--platform", "nowhere"], "nowhere"),
        (["advise", "--every", "0"], "--every"),
        (["advise", "--share", "2"], "--share"),
        (["run", "-n", "1", "--state", "advice", "--", "true"], "add --adapt"),
    ],
)
def test_refusals(arguments: list[str], message: str, command: Command) -> None:
    Path("file").write_text("")
    refused(command(*arguments), message)
