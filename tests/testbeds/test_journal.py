"""`paper tuning` keeps each measurement at once, and the next run uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broadleaf.papers.journal import Journal
from broadleaf.papers.tuning import beds
from broadleaf.papers.tuning import run as tuning
from broadleaf.papers.tuning.beds import BedError, SimulatedBed, Timed

PAIR = Timed("bcast", "eager", 1000, 1000, "0>1")
OTHER = Timed("bcast", "eager", 2000, 2000, "0>1")


@pytest.fixture
def bed(tmp_path: Path) -> SimulatedBed:
    try:
        return SimulatedBed(tmp_path)
    except BedError as missing:
        pytest.skip(str(missing))


def test_an_interrupted_run_goes_on(
    bed: SimulatedBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.jsonl"
    [first] = bed.times_by(Journal(kept), 2, [PAIR])
    # 1000 bytes at 100 Mb/s, and 60 us on the way; simulated times are taken once.
    assert first == [pytest.approx(80e-6 + 60e-6, rel=0.01)]
    # The time is changed in the file, to see that it is read, and the last line cut off, as by a full disk.
    [entry] = [json.loads(line) for line in kept.read_text().splitlines() if line]
    kept.write_text(json.dumps({**entry, "value": [7.0]}) + "\n" + json.dumps(entry)[:40])
    again = Journal(kept)
    assert again.found == 1
    known, new = bed.times_by(again, 2, [PAIR, OTHER])
    assert known == [7.0]
    assert new == [pytest.approx(160e-6 + 60e-6, rel=0.01)]
    assert bed.times_by(Journal(kept), 2, [OTHER, PAIR]) == [new, [7.0]]
    # Results for more nodes, a higher precision or another setting of the simulation are kept apart.
    assert bed.times_by(Journal(kept), 2, [PAIR], care=2) == [first]
    monkeypatch.setitem(beds.ONE_PORT, "network/crosstraffic", "0")
    assert bed.times_by(Journal(kept), 2, [PAIR]) == [first]
    again.discard()
    assert not kept.exists()


def test_what_was_measured_before_a_failure_stays(
    bed: SimulatedBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With three ranks the program is stopped by its time limit; the results are those of two."""
    whole = SimulatedBed.output

    def output(self: SimulatedBed, nodes: int, plans: Path, care: int) -> str:
        with monkeypatch.context() as patched:
            if nodes == 3:
                patched.setattr(beds, "TIMEOUT_S", 0.001)
            return whole(self, nodes, plans, care)

    monkeypatch.setattr(SimulatedBed, "output", output)
    monkeypatch.setattr(SimulatedBed, "at_once", 1)
    effort = tuning.Effort((2, 3), (64,))
    monkeypatch.setattr(tuning, "smpi_effort", lambda quick: effort)
    monkeypatch.setattr(
        tuning, "DefaultModelBed", lambda *unused: (_ for _ in ()).throw(BedError("left out"))
    )
    monkeypatch.setattr(tuning, "LocalBed", lambda *unused: (_ for _ in ()).throw(BedError("left out")))
    steps: list[int] = []
    kept = tmp_path / "kept.jsonl"
    results = tuning.run(True, lambda count: lambda: steps.append(count), kept)
    assert steps == [3, 3]
    [samples] = [sheet for sheet in results.sheets if sheet.name == "samples"]
    assert {row[2] for row in samples.rows} == {2}
    assert len(samples.rows) == 13
    [remark] = [remark for remark in results.remarks if remark.startswith("Not all measured")]
    assert "still runs after" in remark
    # Another run can measure the missing values: the file stays.
    assert Journal(kept).found > 13
