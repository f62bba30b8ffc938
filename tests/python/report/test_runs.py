"""The page of measured runs: every sample is drawn, and bad statistics are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

import broadleaf as bl
from documents import write
from outcome import Command, refused
from report.conftest import Open

ROW: dict[str, Any] = {
    "communicator": "MPI_COMM_WORLD",
    "ranks": 4,
    "root": 0,
    "bytes": 1 << 20,
    "planned": 8,
    "planner": "chain",
    "segment_bytes": 65536,
    "seconds": 0.08,
    "fastest_s": 0.009,
}
SPEEDUP = {"median": 2.0, "low": 1.8, "high": 2.2}
COMPARED = {**ROW, "native_s": [0.02, 0.021, 0.019, 0.05], "planned_s": [0.01, 0.011, 0.0095]}


def stats(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format": "broadleaf-stats/1", "mpi": "openmpi", "broadcasts": list(rows), **more}


def data_of(page: Path) -> Any:
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def sentence(row: dict[str, Any]) -> str:
    write("stats.json", stats(row))
    bl.report_runs("stats.json", "runs.html")
    (run,) = data_of(Path("runs.html"))["runs"]
    (kind,) = run["kinds"]
    return str(kind["sentence"])


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {**COMPARED, "speedup": SPEEDUP},
            "Planned calls run at 2 times the speed of native ones (95 % interval 1.8 to 2.2).",
        ),
        (
            {**COMPARED, "speedup": {"median": 1.05, "low": 0.98, "high": 1.1}},
            "No difference is shown: 1.05 times the speed (95 % interval 0.98 to 1.1).",
        ),
        ({**COMPARED, "speedup": None}, "Too few samples to compare: 4 native, 3 planned."),
        (
            {**ROW, "planned": 0, "planner": None, "native_s": [0.03, 0.02, 0.04], "predicted_s": 0.01},
            "A plan is predicted to take 10 ms; the median native call takes 3 times as long.",
        ),
        ({**ROW, "latest_s": [0.011, 0.009]}, "The median of 2 planned calls is 10 ms."),
    ],
)
def test_the_sentence(row: dict[str, Any], told: str, command: Command) -> None:
    assert sentence(row) == told


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 420])
def test_every_call_is_a_dot(
    scheme: str, width: int, command: Command, open_page: Open, screenshots: Path
) -> None:
    """A mean would hide the native call of 50 ms; the box and its median are those of the samples."""
    gain = {"summary": ["4 of 8 broadcasts planned: planned ones 2.00 faster"]}
    other = {**ROW, "bytes": 1 << 24, "latest_s": [0.1 + 0.001 * at for at in range(16)]}
    write("stats.json", stats({**COMPARED, "speedup": SPEEDUP}, other, ROW, gain=gain))
    outcome = command("report", "stats.json", "-o", "runs.html", "--json")
    assert outcome.document["kinds"] == 2
    page = open_page(Path("runs.html"), scheme, width)
    counts = page.locator("figure").evaluate_all(
        "figures => figures.map(figure => figure.querySelectorAll('.sample').length)"
    )
    # The kind that took longest is first.
    assert counts == [16, 7]
    compared = page.locator("figure").nth(1)
    places = compared.locator(".sample").evaluate_all("dots => dots.map(dot => dot.cx.baseVal.value)")
    assert len(set(places)) == 7
    label = compared.locator("svg").get_attribute("aria-label")
    assert label == (
        "native: 4 calls, median 20.5 ms, from 19 ms to 50 ms; "
        "planned: 3 calls, median 10 ms, from 9.5 ms to 11 ms"
    )
    compared.locator("summary").click()
    assert compared.locator("tbody tr").count() == 4
    text = page.locator("main").inner_text()
    assert "1 MiB from rank 0 to 4 ranks" in text
    assert gain["summary"][0] in text
    assert "1 kind has no times" in text
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    page.screenshot(path=screenshots / f"runs-{scheme}-{width}.png", full_page=True)


def test_nothing_was_timed(command: Command, open_page: Open) -> None:
    write("stats.json", stats())
    assert command("report", "stats.json").code == 0
    page = open_page(Path("stats.html"))
    assert "No call was timed one by one" in page.locator("main").inner_text()


def test_names_cannot_break_out(command: Command, open_page: Open) -> None:
    row = {**ROW, "communicator": "<!--<script>", "latest_s": [0.0]}
    write("stats.json", stats(row, mpi="</script><b>", gain={"summary": ["<i>x</i>", 5]}))
    assert command("report", "stats.json", "-o", "runs.html").code == 0
    page = open_page(Path("runs.html"))
    assert page.locator("figure").count() == 1
    assert "<i>x</i>" in page.locator("main").inner_text()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("native_s", 5, "a list of seconds"),
        ("native_s", [1, "2"], "a list of seconds"),
        ("planned_s", [-1.0], "a list of seconds"),
        ("latest_s", [float("inf")], "a list of seconds"),
        ("predicted_s", "1", "seconds, finite"),
        ("speedup", 2, "null or median, low and high"),
        ("speedup", {"median": 1, "low": 0, "high": 2}, "null or median, low and high"),
        ("speedup", {"median": 1, "low": 1}, "null or median, low and high"),
    ],
)
def test_samples_that_are_refused(name: str, value: Any, told: str, command: Command) -> None:
    Path("stats.json").write_text(json.dumps(stats({**ROW, name: value})))
    refused(command("report", "stats.json", "-o", "r.html"), f"$.broadcasts[0].{name}: {told}")
    assert not Path("r.html").exists()


def test_a_second_file_that_is_no_run_is_refused(command: Command, chain: dict[str, Any]) -> None:
    write("stats.json", stats(ROW))
    write("net.json", chain)
    refused(command("report", "stats.json", "net.json", "-o", "r.html"), "net.json", "no broadleaf-stats/1")


def test_the_row_of_all_others_has_no_ranks(command: Command) -> None:
    write("stats.json", stats({**ROW, "ranks": 0, "communicator": "(others)", "latest_s": [0.1]}))
    assert command("report", "stats.json", "-o", "r.html").code == 0


def test_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run to report"):
        bl.report_runs([], tmp_path / "runs.html")
