"""The sentences at the top of a report: each is checked by hand from the platform."""

from __future__ import annotations

from typing import Any

import pytest

import broadleaf as bl
from broadleaf.reporting.broadcasts import bound_of, broadcast_of
from broadleaf.reporting.verdict import above, named, verdict_of
from documents import one_mesh

MILLION = 1_000_000


def verdict(platform: bl.Platform, plan: bl.Plan) -> list[str]:
    return verdict_of(platform, broadcast_of(platform, plan), bound_of(platform, plan))


def test_one_send_at_the_bound() -> None:
    """Two hosts: 1 MB at 100 MB/s takes 10 ms, and both ports are busy for all of it."""
    platform = bl.Platform.from_dict(one_mesh("pair", "one-port", ["a", "b"], 1e8))
    plan = bl.plan(platform, "a", MILLION, planner="flat", segment_bytes=MILLION)
    assert verdict(platform, plan) == [
        "At the bound: 10 ms, and no plan takes less.",
        "The sending port of a and 1 more are the limit: they are busy all the time.",
        "A second tree would not help: this one can carry 100 MB/s, and no trees more.",
    ]


def test_a_root_that_sends_to_all_itself() -> None:
    """1 MB to each of three others, one after the other: 30 ms; a pipeline takes little more than 10 ms."""
    platform = bl.Platform.from_dict(one_mesh("four", "one-port", list("abcd"), 1e8))
    plan = bl.plan(platform, "a", MILLION, planner="flat", segment_bytes=MILLION)
    bound, limit, trees = verdict(platform, plan)
    assert bound == "3 times the bound: 30 ms, and no plan takes less than 10 ms."
    assert limit == "The sending port of a is the limit: it is busy all the time."
    assert trees == "Several trees would help: this one can carry 33.33 MB/s, the best found 100 MB/s."


def test_an_unsegmented_chain_drains() -> None:
    """Each of four hosts has its port busy for 10 of 30 ms; the root is done after 10."""
    platform = bl.Platform.from_dict(one_mesh("four", "one-port", list("abcd"), 1e8))
    plan = bl.plan(platform, "a", MILLION, planner="chain", segment_bytes=MILLION)
    _, limit, trees = verdict(platform, plan)
    assert limit == (
        "No port, link or pipe is busy more than 33.3 % of the time: "
        "the last host has everything 20 ms after the root's last send."
    )
    assert trees == "A second tree would not help: this one can carry 100 MB/s, and no trees more."


def test_near_the_bound_the_rest_is_all_there_is_to_gain() -> None:
    """A hundred segments of 0.1 ms over three hosts: 10.1 ms, and the bound is 10: within 1 %."""
    platform = bl.Platform.from_dict(one_mesh("three", "one-port", list("abc"), 1e8))
    plan = bl.plan(platform, "a", MILLION, planner="chain", segment_bytes=10_000)
    first, *_ = verdict(platform, plan)
    assert first.startswith("Within 1 % of the bound: 10.1 ms")


def test_several_trees_beside_the_best_one() -> None:
    """Ports of 200 MB/s, but 50 MB/s between any two: one tree has 50 MB/s at most, several 100 and more."""
    names = list("abcd")
    document = one_mesh("thin", "link-capacity", names, 5e7)
    platform = bl.Platform.from_dict(document)
    plan = bl.plan(platform, "a", 8 * MILLION, planner="optimal")
    assert len(plan.trees) > 1
    _, _, trees = verdict(platform, plan)
    assert trees.startswith(f"Another tree would not help: these {len(plan.trees)} can carry 150 MB/s")
    assert trees.endswith("the best single tree found carries 50 MB/s.")


@pytest.mark.parametrize("collective", ["scatter", "allgather"])
def test_other_collectives_have_no_word_on_trees(collective: str, two_sites: dict[str, Any]) -> None:
    platform = bl.Platform.from_dict(one_mesh("four", "one-port", list("abcd"), 1e8))
    planner = "flat" if collective == "scatter" else "ring"
    sentences = verdict(platform, bl.plan(platform, "a", 1 << 16, planner=planner, collective=collective))
    assert not any("tree" in sentence for sentence in sentences)
    assert len(sentences) == 2


def test_one_host_has_nobody_to_send_to() -> None:
    platform = bl.Platform.from_dict(
        {"format": "broadleaf-platform/1", "name": "one", "port_model": "one-port", "nodes": [{"id": "a"}]}
    )
    assert verdict(platform, bl.plan(platform, "a", 1 << 16, planner="flat")) == [
        "It takes no time: the platform has one host."
    ]


def test_a_percentage_is_never_too_small() -> None:
    for share in (0.0241, 0.02500000001, 0.0999, 0.5, 1e-5):
        shown = float(above(share).removesuffix(" %")) / 100
        assert share <= shown * (1 + 1e-9) <= share * 1.11


def test_names_with_spaces() -> None:
    names = ["a b", "b", "c d e"]
    platform = bl.Platform.from_dict(one_mesh("spaces", "one-port", names, 1e8))
    assert named(platform, "link a b c d e") == "the link a b to c d e"
    assert named(platform, "out c d e") == "the sending port of c d e"
    assert named(platform, "shared wan out") == "the shared pipe wan out"
