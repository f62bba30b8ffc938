"""Arrows run one way: which part of the source may use which, held as data, and no circle in any language.

A room is a folder or file directly below the root of a crate or package. Inside a room files are free to use
each other, but on no level in a circle.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from c_arrows import c_arrows
from circles import Arrows, circles, circles_in_folders, refused
from python_arrows import python_arrows
from rust_arrows import rust_arrows

ROOT = Path(__file__).resolve().parents[2]

# Modules that every room of the core may use: no algorithms.
TOOLS = {"budget", "files", "json", "parallel", "random"}

CORE = {
    "budget": set[str](),
    "parallel": {"budget"},
    "platform": TOOLS,
    "model": {"platform"} | TOOLS,
    "plan": {"model", "platform"} | TOOLS,
    "execute": {"plan", "platform"} | TOOLS,
    "simulate": {"execute", "model", "plan", "platform"} | TOOLS,
    "optimum": {"model", "plan", "platform"} | TOOLS,
    # No `simulate` and no `portfolio`: planners do not judge plans.
    "planners": {"model", "optimum", "plan", "platform"} | TOOLS,
    "portfolio": {"optimum", "plan", "planners", "platform", "simulate"} | TOOLS,
    "tune": {"plan", "planners", "platform", "portfolio", "simulate"} | TOOLS,
    "measure": {"platform"} | TOOLS,
    "trace_events": set(),
    "adapt": {"plan", "planners", "platform", "portfolio", "simulate"} | TOOLS,
}

# From the bottom to the top: each may use those before it.
RUNTIME = [
    *(
        "reserve",
        "whole_file",
        "error",
        "wire",
        "mpi",
        "smpi",
        "tags",
        "report",
        "outcome",
        "intranode",
        "settings",
    ),
    *("topology", "rank_plan", "observe", "transport", "planning", "session", "probe", "ffi"),
]
BINDINGS = [
    *(
        "errors",
        "document",
        "arguments",
        "notebook",
        "platform",
        "plan",
        "trace",
        "generate",
        "planning",
        "optimum",
        "evaluate",
    ),
    *("advisor", "tune", "clusters", "grid_paper", "adaptive_paper"),
]
PUSH = [
    *("wire", "fault", "ranks", "index", "digest", "folder", "sparse", "unfinished", "source", "place"),
    *("asked", "pace", "progress", "stock", "schedule", "stream", "row", "writers", "push"),
]
C_FILES = [
    *(
        "bound.c",
        "narrow.c",
        "passed.c",
        "pmix.c",
        "pmi.c",
        "announced.c",
        "store.c",
        "presence.c",
        "real.c",
        # In place of those above.
        "smpi.c",
        "tags.c",
        "failures.c",
        "raised.c",
        "transport.c",
    ),
    *("agreed.c", "comms.c"),
    *(
        "contiguous.c",
        "datatypes.c",
        "blocks.c",
        "refused.c",
        "reductions.c",
        "broadcast.c",
        "collectives.c",
        "counted.c",
        "smpi_calls.c",
        "texts.c",
        "stats.c",
        "trace.c",
        "unseen.c",
        "lifecycle.c",
    ),
    *("interpose.c", "fortran.c", "by_name.c"),
]

# What every room of the package may use, and what an argument may be given as besides.
BASE = {"_core", "checkout", "errors", "files", "units"}
GIVEN = {"given"} | BASE
# `api` is what `import broadleaf` gives; `_core` the bindings, which call `notebook`, `frames` and `plot` for
# what Python draws, and `given` for the planner that was probably meant.
PYTHON = {
    "api": {
        "benchmarks",
        "generate",
        "grid",
        "measuring",
        "plot",
        "predicted",
        "pushing",
        "reporting",
        "running",
        "trees",
    }
    | GIVEN,
    "given": BASE,
    "generate": {"_core"},
    "grid": {"_core"},
    "trees": BASE,
    "collectives": BASE,
    "predicted": BASE,
    "frames": {"_core"},
    "bars": {"_core"},
    "network": {"_core"},
    "notebook": {"collectives", "plot"} | BASE,
    "mpi": BASE,
    "formats": {"bars"} | BASE,
    "plot": {"bars", "collectives", "network", "trees"} | GIVEN,
    "measured": {"_core"},
    "changes": BASE,
    "clustered": BASE,
    "provenance": {"measured", "mpi"} | BASE,
    "reporting": {"bars", "collectives", "measured", "network"} | GIVEN,
    "smpi": BASE,
    "maps": BASE,
    "rehearsal": {"mpi"} | BASE,
    "measuring": {"maps", "mpi", "provenance", "rehearsal"} | GIVEN,
    "advise": {"measured", "mpi"} | BASE,
    "pushing": {"advise", "measuring", "mpi", "reporting"} | GIVEN,
    "running": {"advise", "mpi"} | GIVEN,
    "doctor": {"mpi"} | BASE,
    "tuning": {"api", "measured", "mpi"} | BASE,
    "benchmarks": {"formats", "mpi", "smpi"} | GIVEN,
    "papers": {"api", "formats", "grid", "mpi", "plot", "smpi"} | BASE,
    "cli": {
        "advise",
        "api",
        "given",
        "benchmarks",
        "changes",
        "clustered",
        "collectives",
        "doctor",
        "formats",
        "maps",
        "measured",
        "measuring",
        "mpi",
        "papers",
        "plot",
        "provenance",
        "pushing",
        "reporting",
        "tuning",
    }
    | BASE,
    "__main__": {"cli"},
}


def downwards(rooms: list[str]) -> dict[str, set[str]]:
    return {room: set(rooms[:at]) for at, room in enumerate(rooms)}


def core() -> Arrows:
    return rust_arrows(ROOT / "crates/broadleaf/src")


def runtime() -> Arrows:
    return rust_arrows(ROOT / "crates/broadleaf-mpi/src")


def bindings() -> Arrows:
    return rust_arrows(ROOT / "crates/broadleaf-py/src")


def pushing() -> Arrows:
    return rust_arrows(ROOT / "crates/broadleaf-push/src")


def c_files() -> Arrows:
    return c_arrows(ROOT / "crates/broadleaf-mpi/c")


def package() -> Arrows:
    return python_arrows(ROOT / "python/broadleaf", "api")


@pytest.mark.parametrize(
    ("arrows", "allowed", "separator"),
    [
        (core(), CORE, "::"),
        (runtime(), downwards(RUNTIME), "::"),
        (bindings(), downwards(BINDINGS), "::"),
        (pushing(), downwards(PUSH), "::"),
        (c_files(), downwards(C_FILES), "|"),
        (package(), PYTHON, "."),
    ],
    ids=["core", "runtime", "bindings", "push", "c", "python"],
)
def test_arrows_run_one_way(arrows: Arrows, allowed: dict[str, set[str]], separator: str) -> None:
    assert len(arrows) > 5
    assert refused(arrows, allowed, separator) == []
    # A circle of rooms cannot be allowed either.
    assert circles((room, used) for room, those in allowed.items() for used in those if used in allowed) == []


def test_no_circle() -> None:
    found = [
        *circles_in_folders(core(), "::"),
        *circles_in_folders(runtime(), "::"),
        *circles_in_folders(bindings(), "::"),
        *circles_in_folders(rust_arrows(ROOT / "crates/broadleaf-experiments/src"), "::"),
        *circles_in_folders(pushing(), "::"),
        *circles(c_files()),
        *circles_in_folders(package(), "."),
    ]
    assert found == []


def planted(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


RUST = {
    "lib.rs": "pub mod low;\npub mod high;\n",
    "low/mod.rs": "mod one;\nmod other;\npub use one::First;\npub use other::{Second, third as fourth};\n",
    "low/one.rs": "pub struct First;\n",
    "low/other.rs": "pub struct Second(super::First);\npub fn third() {}\n",
    "high.rs": "use crate::low::{self, fourth};\nuse std::{fmt, io::Write};\n",
}


def test_a_planted_arrow_and_circle_are_found_in_rust(tmp_path: Path) -> None:
    arrows = rust_arrows(planted(tmp_path, RUST))
    assert set(arrows) == {("low::other", "low::one"), ("high", "low"), ("high", "low::other")}
    allowed = {"high": {"low"}}
    assert refused(arrows, allowed, "::") == []
    assert circles_in_folders(arrows, "::") == []

    # Through a name that is handed on, through a path in the code, and upwards.
    within = {**RUST, "low/one.rs": "pub struct First(Option<Box<super::Second>>);\n"}
    arrows = rust_arrows(planted(tmp_path, within))
    assert circles_in_folders(arrows, "::") == [("low::one", "low::other")]
    upwards = {**RUST, "low/one.rs": "pub struct First;\nfn f() { crate::high::run(); }\n"}
    arrows = rust_arrows(planted(tmp_path, upwards))
    assert refused(arrows, allowed, "::") == ["low -> high: low/one.rs"]
    assert circles_in_folders(arrows, "::") == [("high", "low")]

    # Names in comments, texts and tests are no arrows.
    said = 'pub struct First; // crate::high\n/* use crate::high; */\nfn f() { g("crate::high::x"); }\n'
    said += "#[cfg(test)]\nmod tests {\n    use crate::high::run;\n}\n"
    assert refused(rust_arrows(planted(tmp_path, {**RUST, "low/one.rs": said})), allowed, "::") == []


def test_a_planted_arrow_and_circle_are_found_in_c(tmp_path: Path) -> None:
    files = {
        "bottom.c": "int bl_count;\nstatic int own(void);\nint bl_add(int one)\n{ return own(); }\n",
        "top.c": '#include "x.h"\nstatic int own(void);\nint bl_top(void) { return bl_add(bl_count); }\n',
    }
    arrows = c_arrows(planted(tmp_path, files))
    assert set(arrows) == {("top.c", "bottom.c")}
    assert refused(arrows, {"top.c": {"bottom.c"}}, "|") == []
    files["bottom.c"] += "int bl_call(void) { return bl_top(); } // bl_top\n"
    arrows = c_arrows(planted(tmp_path, files))
    assert refused(arrows, {"top.c": {"bottom.c"}}, "|") == ["bottom.c -> top.c: bl_top"]
    assert circles(arrows) == [("bottom.c", "top.c")]


def test_a_planted_arrow_and_circle_are_found_in_python(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    files = {
        "__init__.py": "from pack._core import plan\n",
        "_core.pyi": "",
        "low.py": "import json\n",
        "room/__init__.py": "",
        "room/one.py": "import pack as p\nfrom pack import low\n",
        "room/other.py": "def f():\n    from pack.room import one\n    return one\n",
    }
    arrows = python_arrows(planted(package, files), "api")
    expected = {("api", "_core"), ("room.one", "api"), ("room.one", "low"), ("room.other", "room.one")}
    assert set(arrows) == expected
    allowed = {"api": {"_core"}, "room": {"api", "low"}}
    assert refused(arrows, allowed, ".") == []
    files["low.py"] = "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from pack.room.one import x\n"
    files["room/one.py"] += "from pack.room.other import f\n"
    arrows = python_arrows(planted(package, files), "api")
    assert refused(arrows, allowed, ".") == ["low -> room: low.py:3"]
    assert circles_in_folders(arrows, ".") == [("low", "room"), ("room.one", "room.other")]


def test_circles_are_whole() -> None:
    arrows = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("f", "f")]
    assert circles(arrows) == [("a", "b", "c")]
