"""The advisor's directory: only its owner's; no link, pipe or other name is followed there."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from broadleaf.advise.state import MOST_NOTE_BYTES, State, StateError
from outcome import Command, refused


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "advice")


def test_it_is_private(state: State) -> None:
    assert state.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o1777])
def test_rights_of_others_are_refused(mode: int, command: Command) -> None:
    folder = Path("advice")
    folder.mkdir()
    folder.chmod(mode)
    refused(command("advise", "--state", "advice", "--for", "0"), "advice: others may use it", "chmod 700")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_another_owner_is_refused(command: Command) -> None:
    folder = Path("advice")
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, -1)
    refused(command("advise", "--state", "advice", "--for", "0"), "belongs to user 12345", "of your own")


@pytest.mark.parametrize("name", ["", "jobs", "platforms", "inbox", "set-aside", "plans"])
def test_links_to_directories_are_refused(name: str, command: Command, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    place = tmp_path / "advice" / name
    place.parent.mkdir(mode=0o700, exist_ok=True)
    place.symlink_to(elsewhere)
    refused(command("advise", "--state", "advice", "--for", "0"), "a link", "--state")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("make", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_lock_that_is_another_file_is_left_alone(make: object, state: State, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    assert callable(make)
    make(victim, state.folder / "lock")
    with pytest.raises(StateError, match="lock: cannot be written"):
        state.lock()
    assert not state.is_served()
    assert victim.read_text() == "precious"


def test_a_pipe_as_lock_is_refused(state: State) -> None:
    os.mkfifo(state.folder / "lock")
    with pytest.raises(StateError, match="not a regular file"):
        state.lock()


def test_notes_that_are_no_files_are_set_aside(state: State, tmp_path: Path) -> None:
    inbox = state.folder / "inbox"
    note = tmp_path / "note.json"
    note.write_text(json.dumps({"format": "broadleaf-notes/1", "calls": []}))
    os.mkfifo(inbox / "a.json")
    (inbox / "b.json").symlink_to(note)
    (inbox / "c.json").mkdir()
    os.link(note, inbox / "d.json")
    with (inbox / "e.json").open("w") as sparse:
        sparse.truncate(MOST_NOTE_BYTES + 1)
    (inbox / "f.json").write_text("[" * 100_000)
    (inbox / "g.json").write_text(json.dumps({"format": "broadleaf-notes/1", "calls": []}))
    said: list[str] = []
    assert [document["calls"] for document in state.notes(said.append)] == [[]]
    assert list(inbox.iterdir()) == []
    assert len(said) == 6
    assert all("set aside" in line for line in said), said
    assert note.exists()


def test_half_written_notes_of_ended_programs_are_removed(state: State) -> None:
    inbox = state.folder / "inbox"
    (inbox / "one.json.01.tmp").write_text("{")
    (inbox / "other.json.02.tmp").write_text("{")
    past_s = time.time() - 60
    os.utime(inbox / "one.json.01.tmp", (past_s, past_s))
    assert list(state.notes(print)) == []
    assert [path.name for path in inbox.iterdir()] == ["other.json.02.tmp"]


def test_a_plan_takes_the_place_of_what_lies_there(state: State, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (state.folder / "plans" / "linked.json").symlink_to(victim)
    os.mkfifo(state.folder / "plans" / "pipe.json")
    for name in ("linked", "pipe"):
        assert state.publish(name, {"version": 1}, print)
        assert json.loads((state.folder / "plans" / f"{name}.json").read_text()) == {"version": 1}
    assert victim.read_text() == "precious"


def test_versions_of_earlier_plans_that_nobody_can_count_on(state: State) -> None:
    for number, version in enumerate((str(1 << 63), "9" * 4000, "1e400", "[" * 100_000, "7")):
        (state.folder / "plans" / f"{number}.json").write_text(f'{{"version": {version}}}')
    os.mkfifo(state.folder / "plans" / "pipe.json")
    assert state.last_version() == 7
