"""Results written to a device or a pipe, which is written to and not replaced."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import broadleaf as bl
from outcome import Command

CLUSTER = {
    "format": "broadleaf-platform/1",
    "name": "pair",
    "port_model": "one-port",
    "nodes": [{"id": "a"}, {"id": "b"}],
    "links": [{"from": "a", "to": "b", "bandwidth_bytes_per_s": 1e8, "latency_s": 1e-5}],
}


def test_a_result_for_nobody(command: Command) -> None:
    bl.Platform.from_dict(CLUSTER).save("net.json")
    arguments = ("plan", "net.json", "--root", "a", "--size", "1MiB", "--planner", "chain", "-o")
    assert command(*arguments, "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
    assert Path("/dev/null").read_bytes() == b""


def test_a_pipe_gets_all_of_it_and_stays(command: Command) -> None:
    bl.Platform.from_dict(CLUSTER).save("net.json")
    os.mkfifo("plan.pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path("plan.pipe").read_text()))
    reader.start()
    asked = ("plan", "net.json", "--root", "a", "--size", "1MiB", "--planner", "chain", "-o", "plan.pipe")
    assert command(*asked).code == 0
    reader.join(timeout=60)
    assert json.loads(read[0])["planner"] == "chain"
    assert Path("plan.pipe").is_fifo()


def test_what_a_shell_sent_there_before_is_kept(tmp_path: Path) -> None:
    from broadleaf.files import write_whole

    log = tmp_path / "log"
    with log.open("w") as out:
        out.write("before\n")
        out.flush()
        write_whole(f"/dev/fd/{out.fileno()}", "whole\n")
    assert log.read_text() == "before\nwhole\n"
