"""Files and folders of settings that would keep a reader waiting, or that others may write.

The program says so in a line, does not hang, and its broadcasts are right.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench, Run

RANKS = 3
PROGRAM = ("many", "30", "300000", "3")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def linked_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


NO_FILES: list[Callable[[Path], None]] = [pipe, linked_pipe, device, folder]


def one_line(run: Run, *facts: str) -> None:
    assert len(run.reports) == 1, run.stderr
    for fact in facts:
        assert fact in run.reports[0]


@pytest.mark.parametrize("make", NO_FILES)
def test_a_platform_that_is_no_file(bench: Bench, tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "net.json"
    make(path)
    run = bench.check(RANKS, *PROGRAM, platform=path)
    one_line(run, str(path), "folder" if make is folder else "not a regular file")
    assert run.stats is not None
    assert run.stats["planned"] == 0


@pytest.mark.parametrize("make", NO_FILES)
def test_an_entry_of_a_plan_folder_that_is_no_file(
    bench: Bench, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "plan.json"
    make(path)
    run = bench.check(RANKS, *PROGRAM, plan_dir=tmp_path)
    assert {line for line in run.reports if str(path) not in line} == set(), run.stderr
    # Every root looks for itself.
    assert 1 <= len(run.reports) <= RANKS, run.stderr


@pytest.mark.parametrize("make", [pipe, device])
def test_a_plan_folder_that_is_none(bench: Bench, tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "plans"
    make(path)
    run = bench.check(RANKS, *PROGRAM, plan_dir=path)
    assert 1 <= len(run.reports) <= RANKS, run.stderr
    assert all("Not a directory" in line for line in run.reports)


@pytest.mark.parametrize(
    "period",
    [
        {"segments": 2**32 - 1, "slots": [[0, "n0", "n1", 0], [0, "n1", "n2", 0]]},
        {"segments": 1, "slots": [[0, "n0", "n1", 0], [0, "n1", "n2", 2**32 - 1]]},
    ],
    ids=["positions", "lag"],
)
def test_a_plan_that_asks_for_gigabytes_or_for_ever(
    bench: Bench, tmp_path: Path, period: dict[str, object]
) -> None:
    plan = {
        "format": "broadleaf-plan/1",
        "root": "n0",
        "message_bytes": 262144,
        "segment_bytes": 65536,
        "trees": [{"share": 1, "children": {"n0": ["n1"], "n1": ["n2"]}}],
        "period": period,
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    run = bench.check(RANKS, *PROGRAM, plan_dir=tmp_path)
    assert 1 <= len(run.reports) <= RANKS, run.stderr
    assert all(str(path) in line and "$.period" in line for line in run.reports)


def open_to_others(path: Path) -> None:
    path.mkdir(mode=0o700)
    path.chmod(0o755)


def link(path: Path) -> None:
    own = path.with_name("own")
    own.mkdir(mode=0o700)
    path.symlink_to(own)


def file(path: Path) -> None:
    path.write_text("")


def missing(path: Path) -> None:
    assert not path.exists()


def someone_elses(path: Path) -> None:
    path.mkdir(mode=0o700)
    os.chown(path, 65534, -1)


REFUSED: list[tuple[Callable[[Path], None], str]] = [
    (open_to_others, "chmod 700"),
    (link, "no directory"),
    (file, "no directory"),
    (pipe, "no directory"),
    (missing, "No such file"),
]
if os.geteuid() == 0:
    REFUSED.append((someone_elses, "user 65534"))


@pytest.mark.parametrize(("make", "fact"), REFUSED)
def test_an_advisors_folder_that_is_not_ones_own(
    hosts_of: Bench, tmp_path: Path, make: Callable[[Path], None], fact: str
) -> None:
    path = tmp_path / "advice"
    make(path)
    run = hosts_of.check(RANKS, *PROGRAM, advice=path, test_ranks_per_host="1")
    one_line(run, str(path), fact, "without an advisor")
    assert run.stats is not None
    assert run.stats["planned"] > 0


@pytest.mark.parametrize("place", ["inbox", "plans", "platforms"])
@pytest.mark.parametrize("make", [pipe, device])
def test_a_pipe_or_device_in_an_advisors_folder(
    hosts_of: Bench, tmp_path: Path, place: str, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "advice"
    path.mkdir(mode=0o700)
    for name in ("inbox", "plans", "platforms"):
        if name != place:
            (path / name).mkdir(mode=0o700)
    make(path / place)
    run = hosts_of.check(RANKS, *PROGRAM, advice=path, test_ranks_per_host="1")
    assert len(run.reports) <= RANKS, run.stderr
    assert all(str(path) in line for line in run.reports), run.stderr
    assert run.stats is not None
    assert run.stats["planned"] > 0
