"""`broadleaf tune`: choices, rules files in the forms that the two MPIs read, and every refusal."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from documents import write
from outcome import Command, refused

# A start-up of 30 us, 60 us latency, 12.5 MB/s.
CLUSTER: dict[str, Any] = {
    "format": "broadleaf-platform/1",
    "name": "cluster",
    "port_model": "one-port",
    "nodes": [{"id": f"n{at}"} for at in range(9)],
    "meshes": [
        {
            "nodes": [f"n{at}" for at in range(9)],
            "link": {"latency_s": 6e-5, "startup_s": 3e-5, "bandwidth_bytes_per_s": 1.25e7},
        }
    ],
}


@pytest.fixture(autouse=True)
def net(command: Command) -> None:
    write("net.json", CLUSTER)


def test_choices_are_the_fastest_of_all(command: Command) -> None:
    document = command("tune", "net.json", "--nodes", "3,7,40", "--sizes", "1,8KiB,1MiB", "--json").document
    assert [(c["collective"], c["nodes"], c["bytes"]) for c in document["choices"]] == [
        (collective, nodes, bytes_)
        for collective in ("bcast", "scatter")
        for nodes in (3, 7, 40)
        for bytes_ in (1, 8192, 1 << 20)
    ]
    for choice in document["choices"]:
        assert len(choice["forecasts"]) == {"bcast": 10, "scatter": 3}[choice["collective"]]
        expected = [f["simulated_s"] or f["corrected_s"] for f in choice["forecasts"]]
        assert choice["expected_s"] == pytest.approx(min(expected), rel=1e-8)
    # Three nodes, a long message: the printed binomial tree predicts half of its time.
    misled = next(c for c in document["choices"] if (c["nodes"], c["bytes"]) == (3, 1 << 20))
    assert (misled["algorithm"], misled["algorithm_as_printed"]) == ("segmented-chain", "binomial")
    assert misled["expected_as_printed_s"] > 1.8 * misled["expected_s"]


def test_what_is_known_of_the_errors_is_said(command: Command) -> None:
    asked = ["tune", "net.json", "--nodes", "2", "--sizes", "1MiB"]
    none = "expected times have no interval: measure times no algorithm of an MPI"
    assert command(*asked).out.splitlines()[-1] == none
    rows: list[Any] = [
        {"bytes": 65536, "predicted_s": 0.01, "least_s": 0.012, "greatest_s": 0.02},
        {"bytes": 1 << 20, "predicted_s": 0.1, "least_s": 0.09, "greatest_s": 0.31},
    ]
    said = "; the broadcasts that it rehearsed on cluster took 0.9 to 3.1 times their prediction"
    measured = {"date": "2026-01-01T00:00", "quality": "good", "hosts": [], "warnings": []}
    # What measure does not write is left out.
    for rehearsed, line in ((rows, none + said), ([3, {"bytes": 1}, *rows], none + said), ("much", none)):
        provenance = {"measured": {**measured, "rehearsed": rehearsed}}
        write("net.json", {**CLUSTER, "provenance": provenance})
        assert command(*asked, "--json").document["accuracy"] == line


def test_what_is_expected_is_what_the_planners_plan_takes() -> None:
    """The plan that `plan` makes with the same options, simulated by `simulate`."""
    platform = bl.Platform.from_dict(CLUSTER)
    for collective in ("bcast", "scatter"):
        for choice in bl.tune(platform, [9], [100, 50_000], collective=collective):
            for forecast in choice.forecasts:
                plan = bl.plan(
                    platform,
                    "n0",
                    choice.message_bytes,
                    forecast.planner,
                    collective,
                    forecast.segment_bytes,
                    protocol=forecast.protocol,
                )
                assert bl.simulate(platform, plan).makespan_s == pytest.approx(forecast.corrected_s, rel=1e-9)


def test_a_scatter_is_chosen_among_the_three(command: Command) -> None:
    document = command(
        "plan", "net.json", "--root", "n0", "--size", "2KiB", "--collective", "scatter", "--json"
    ).document
    assert {"flat", "chain", "binomial"} <= {row["planner"] for row in document["tried"]}
    assert document["collective"] == "scatter"


def test_rendezvous_is_an_option_of_every_planner(command: Command) -> None:
    arguments = ("plan", "net.json", "--root", "n0", "--size", "64KiB", "--planner", "chain", "--json")
    eager = command(*arguments, "--segment", "64KiB").document
    slower = command(*arguments, "--segment", "64KiB", "--protocol", "rendezvous").document
    assert "protocol" not in eager
    assert slower["protocol"] == "rendezvous"
    # Table 1: (P-1) (2 g(1) + 3 L) more, less the L that a transfer has anyway.
    gap_s = 3e-5 + 1 / 1.25e7
    more_s = slower["predicted"]["makespan_s"] - eager["predicted"]["makespan_s"]
    assert more_s == pytest.approx(8 * (2 * gap_s + 2 * 6e-5), rel=1e-9)
    refused(command(*arguments, "--protocol", "polite"), "polite", "eager, rendezvous")


def open_mpi_rules(text: str) -> dict[tuple[int, int], list[tuple[int, ...]]]:
    """A rules file by its grammar: by collective and nodes, rules of bytes, algorithm, fan-out, segment."""
    numbers = iter(int(word) for line in text.splitlines() for word in line.split("#")[0].split())
    found: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for _ in range(next(numbers)):
        collective = next(numbers)
        for _ in range(next(numbers)):
            nodes = next(numbers)
            count = next(numbers)
            found[collective, nodes] = [tuple(next(numbers) for _ in range(4)) for _ in range(count)]
    assert next(numbers, None) is None
    return found


def test_open_mpi_rules(command: Command) -> None:
    arguments = ("tune", "net.json", "--nodes", "2,9", "--for", "openmpi", "-o", "rules.conf", "--json")
    document = command(*arguments).document
    found = open_mpi_rules(Path("rules.conf").read_text())
    assert list(found) == [(7, 2), (7, 9), (15, 2), (15, 9)]
    for rules in found.values():
        assert rules[0][0] == 0
        assert all(a[0] < b[0] for a, b in itertools.pairwise(rules))
    chosen = {(c["nodes"], c["bytes"]): c for c in document["choices"] if c["collective"] == "bcast"}
    by_number = {1: "flat", 3: "chain", 5: "binary", 6: "binomial"}
    for (nodes, bytes_), choice in chosen.items():
        rule = [rule for rule in found[7, nodes] if rule[0] <= bytes_][-1]
        name = by_number[rule[1]]
        assert choice["algorithm"] in (name, f"segmented-{name}")
        if rule[3]:
            assert rule[3] == choice["segment_bytes"]
    # Scatter: one rule for all sizes, whatever is best.
    assert all(len(found[15, nodes]) == 1 for nodes in (2, 9))
    assert document["environment"]["OMPI_MCA_coll_tuned_dynamic_rules_filename"] == str(
        Path("rules.conf").resolve()
    )


def test_mpich_rules_keep_its_own_for_what_is_not_tuned(command: Command) -> None:
    document = command("tune", "net.json", "--for", "mpich", "-o", "rules.json", "--json").document
    text = Path("rules.json").read_text()
    # MPICH reads to a zero byte after the file's end in memory: there is none behind a whole page.
    assert len(text) % 4096
    rules = json.loads(text)
    assert {"collective=allreduce", "collective=ibarrier", "collective=bcast"} <= set(rules)
    bcast = rules["collective=bcast"]["comm_type=intra"]
    assert list(bcast)[-1] == "comm_size=any"
    assert all(list(sizes)[-1] == "avg_msg_size=any" for sizes in bcast.values())
    assert "comm_type=inter" in rules["collective=bcast"]
    assert document["environment"]["MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"].endswith("rules.json")


def test_the_map_is_drawn_and_the_table_names_what_is_chosen(command: Command) -> None:
    outcome = command("tune", "net.json", "--nodes", "2,3,9", "--figure", "map.png")
    assert outcome.code == 0, outcome
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")
    assert "segmented-chain" in outcome.out
    assert "best scatter on cluster" in outcome.out
    assert "printed models choose worse" in outcome.out


def with_link(**link: Any) -> dict[str, Any]:
    mesh = {"nodes": CLUSTER["meshes"][0]["nodes"], "link": link}
    return {**CLUSTER, "meshes": [mesh]}


BAD_PLATFORMS = {
    "gap falls with the size": (with_link(latency_s=1e-5, gap=[[1, 1e-4], [100, 1e-5]]), "falls from"),
    "sizes do not rise": (with_link(latency_s=1e-5, gap=[[100, 1e-4], [1, 1e-5]]), "gap"),
    "negative overhead": (with_link(latency_s=1e-5, gap=[[1, 1e-5], [9, 2e-5]], os=[[1, -1e-6]]), "os"),
    "one sample": (with_link(latency_s=1e-5, gap=[[64, 1e-4]]), "the one size 64"),
    "no time at all": (with_link(), "neither latency nor gap"),
    "one host": ({**CLUSTER, "nodes": [{"id": "n0"}], "meshes": []}, "one host alone"),
    "no links": ({**CLUSTER, "meshes": []}, "nothing leads from"),
}


@pytest.mark.parametrize("case", BAD_PLATFORMS)
def test_bad_platforms_are_refused_and_nothing_is_written(case: str, command: Command) -> None:
    document, fragment = BAD_PLATFORMS[case]
    write("bad.json", document)
    before = sorted(Path().iterdir())
    refused(command("tune", "bad.json", "--for", "openmpi", "-o", "rules.conf"), fragment)
    assert sorted(Path().iterdir()) == before


BAD_ARGUMENTS = {
    "unknown MPI": (("--for", "lam", "-o", "rules.conf"), ("lam", "openmpi")),
    "no file": (("--for", "openmpi"), ("-o",)),
    "no MPI": (("-o", "rules.conf"), ("--for",)),
    "no folder": (("--for", "openmpi", "-o", "none/rules.conf"), ("none/rules.conf",)),
    "a folder": (("--for", "openmpi", "-o", "."), ("'.'",)),
    "no such root": (("--root", "n99"), ("n99",)),
    "one node": (("--nodes", "1"), ("at least 2",)),
    "no numbers": (("--nodes", "few"), ("few",)),
    "empty message": (("--sizes", "0"), ("at least 1 byte",)),
    "no size": (("--sizes", "large"), ("large",)),
    "no figure": (("--figure", "map.txt"), ("map.txt",)),
    "no collective": (("--collective", "gossip"), ("gossip",)),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments_are_refused_and_nothing_is_written(case: str, command: Command) -> None:
    arguments, fragments = BAD_ARGUMENTS[case]
    before = sorted(Path().iterdir())
    refused(command("tune", "net.json", *arguments), *fragments)
    assert sorted(Path().iterdir()) == before


def test_python_refuses_in_the_same_words() -> None:
    platform = bl.Platform.from_dict(CLUSTER)
    with pytest.raises(ValueError, match="unknown MPI"):
        bl.tuning_rules(bl.tune(platform, [2], [1]), "lam")
    with pytest.raises(bl.PlanError, match="allgather"):
        bl.tune(platform, [2], [1], collective="allgather")
    with pytest.raises(bl.PlanError, match="at least 2"):
        bl.tune(platform, [1], [1])
    with pytest.raises(ValueError, match="nothing to tune for"):
        bl.tune(platform, [], [1])
    with pytest.raises(bl.PlanError, match="0 bytes"):
        bl.tune(platform, [2], [0])
