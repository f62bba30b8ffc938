"""A plan as MSCCL XML, which RCCL and MSCCL's runtime execute on GPUs.

Each tree has its own channel and a run of chunks in proportion to its share. A GPU that receives a tree
forwards each chunk to its first child in the step that receives it (`rcs`), and to each other child from a
separate thread block, which depends on that step. The root sends from its input and copies the input to its
output.

The format has no field for the root, so `name` holds it. Its readers are strict: no XML declaration, one
space between attributes, values in 255 bytes, thread blocks numbered from 0, at most 64 steps in each (RCCL;
MSCCL takes 256), 32 channels with 32 sends in each, 216 blocks of which others wait for the first 128 at most
(the number is a signed byte), 71 chunks a step, and fewer than 1,024 elements for one GPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any
from xml.sax.saxutils import quoteattr

from broadleaf._core import Plan, Platform
from broadleaf.errors import PlanError
from broadleaf.files import NO_XML

MOST_CHANNELS = 32
MOST_SENDS = 32
MOST_AWAITED = 128
MOST_BLOCKS = 216
MOST_CHUNKS = 64
MOST_ELEMENTS = 1023
MOST_LENGTH = 255
# Lengths of the readers' data types, bytes.
TYPE_BYTES = (8, 4, 2, 1)
# Steps for a tree's chunks at most: more make the file longer, not the pipeline faster, since the runtime
# runs all steps once for each part of the buffer.
STEPS = 8
# The largest error of a tree's part of the chunks, in its share, at which a number of chunks is accepted.
NEAR = 0.01

Step = dict[str, Any]
Run = tuple[int, int]
Block = tuple[dict[str, int], list[Step]]


def msccl_xml(
    platform: Platform, plan: Plan, min_bytes: int | None = None, max_bytes: int | None = None
) -> str:
    """The file's text; ranks are the platform's hosts in file order.

    The runtime uses it for messages of `min_bytes` up to `max_bytes` (with it in RCCL, without it in MSCCL),
    by default from half to twice the plan's message. Raises PlanError for a plan that the format cannot hold.
    """
    document = plan.to_dict()
    refuse_what_has_no_place(platform, plan, document)
    rank = {host: at for at, host in enumerate(platform.hosts)}
    trees = document["trees"]
    runs = runs_of_plan(plan)
    total = chunks_of(runs)
    low = plan.message_bytes // 2 if min_bytes is None else min_bytes
    high = plan.message_bytes * 2 if max_bytes is None else max_bytes
    if low >= high:
        raise PlanError(f"no message has at least {low} and less than {high} bytes; let --min be below --max")
    name = f"broadleaf {plan.planner} root={rank[plan.root]} ({plan.root}) on {platform.name}"
    head = {
        "name": cut(name),
        "proto": "Simple",
        "nchannels": len(trees),
        "nchunksperloop": total,
        "ngpus": len(rank),
        "coll": "broadcast",
        "inplace": 1,
        "outofplace": 1,
        "minBytes": low,
        "maxBytes": high,
        "redop": "nop",
    }
    lines = [tag("algo", head, ">")]
    for host, at in rank.items():
        blocks = blocks_of(host, plan.root, trees, runs, rank)
        refuse_too_much(host, blocks, len(rank))
        chunks = {"i_chunks": total, "o_chunks": total, "s_chunks": 0}
        lines.append(tag("gpu", {"id": at, **chunks}, ">"))
        for number, (block, steps) in enumerate(blocks):
            lines.append(tag("tb", {"id": number, **block}, ">"))
            lines += [tag("step", {"s": place, **step}, "/>") for place, step in enumerate(steps)]
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>", ""])


def refuse_too_much(host: str, blocks: list[Block], gpus: int) -> None:
    """Raises PlanError where a GPU exceeds one of the readers' limits."""
    sends = [peers["chan"] for peers, _ in blocks if peers["send"] >= 0]
    awaited = max((step["depid"] for _, steps in blocks for step in steps), default=-1) + 1
    elements = 1 + gpus + len(blocks) + sum(len(steps) for _, steps in blocks)
    for count, most, what in (
        (
            max((sends.count(channel) for channel in set(sends)), default=0),
            MOST_SENDS,
            "children in one tree",
        ),
        (awaited, MOST_AWAITED, "thread blocks that others wait for"),
        (len(blocks), MOST_BLOCKS, "thread blocks"),
        (elements, MOST_ELEMENTS, "elements"),
    ):
        if count > most:
            raise PlanError(
                f'"{host}" needs {count} {what} and MSCCL takes at most {most} a GPU; '
                "plan with fewer trees or fewer children a node"
            )


def refuse_what_has_no_place(platform: Platform, plan: Plan, document: dict[str, Any]) -> None:
    if plan.platform_digest != platform.digest:
        raise PlanError(f'a plan for another platform, "{plan.platform}"; plan again on "{platform.name}"')
    if platform.port_model != "link-capacity":
        raise PlanError(
            f"MSCCL's GPUs are limited by their links only, and {platform.name} is {platform.port_model}; "
            "describe it with port_model link-capacity"
        )
    if plan.collective != "bcast":
        raise PlanError(
            f"only broadcasts are written as MSCCL XML, and this is {plan.collective}; plan a bcast"
        )
    for tree in document["trees"]:
        for parent, children in tree["children"].items():
            for child in children:
                if not is_direct(platform, parent, child, tree.get("via", {}).get(child)):
                    raise PlanError(
                        f'"{parent}" sends to "{child}" through other GPUs and MSCCL has no relays; '
                        "use a planner that keeps to the links, as optimal does"
                    )
    if len(document["trees"]) > MOST_CHANNELS:
        raise PlanError(
            f"{len(document['trees'])} trees need as many channels and MSCCL has {MOST_CHANNELS}; "
            "plan with fewer trees"
        )


def is_direct(platform: Platform, parent: str, child: str, via: list[str] | None) -> bool:
    """Whether only switches, through which the hardware routes, are between two GPUs."""
    hosts = set(platform.hosts)
    if via is not None:
        return not hosts & set(via)
    if platform.link(parent, child) is not None:
        return True
    seen, ahead = {parent}, deque([parent])
    while ahead:
        for node in platform.successors(ahead.popleft()):
            if node == child:
                return True
            if node not in seen and node not in hosts:
                seen.add(node)
                ahead.append(node)
    return False


def runs_of_plan(plan: Plan) -> list[Run]:
    """Each tree's chunks. The runtime uses an algorithm only where the number of its chunks divides that of
    the message's elements. So numbers that divide the plan's message, in its longest elements, come first."""
    shares = [tree["share"] for tree in plan.to_dict()["trees"]]
    elements = next(plan.message_bytes // each for each in TYPE_BYTES if plan.message_bytes % each == 0)
    every = range(len(shares), MOST_CHUNKS + 1)
    return runs_of(shares, [total for total in every if elements % total == 0] or every)


def chunks_of(runs: list[Run]) -> int:
    return sum(count for _, count in runs)


def runs_of(shares: Sequence[float], totals: Sequence[int]) -> list[Run]:
    """(first chunk, number of chunks) of each tree, for the first of the totals within NEAR of the shares,
    else for the nearest."""
    choices = [counts_of(shares, total) for total in totals]
    # `min` takes the first of equals; all totals within NEAR count as equal.
    counts = min(choices, key=lambda counts: max(NEAR, worst(counts, shares)))
    return list(zip([0, *accumulate(counts)], counts, strict=False))


def counts_of(shares: Sequence[float], total: int) -> list[int]:
    """Chunks shared out by largest remainder, at least one a tree."""
    counts = [max(1, int(share * total)) for share in shares]
    while sum(counts) != total:
        # The tree with the largest remainder gets a chunk, or the one with the largest excess loses one, but
        # never its last.
        step = 1 if sum(counts) < total else -1
        able = [at for at, count in enumerate(counts) if step > 0 or count > 1]
        counts[max(able, key=lambda at: (step * (shares[at] * total - counts[at]), -at))] += step
    return counts


def worst(counts: list[int], shares: Sequence[float]) -> float:
    """The largest difference between a tree's part of the chunks and its share."""
    total = sum(counts)
    return max(abs(count / total - share) for count, share in zip(counts, shares, strict=True))


def blocks_of(
    host: str, root: str, trees: list[dict[str, Any]], runs: list[Run], rank: dict[str, int]
) -> list[Block]:
    """The thread blocks of a GPU, each with its peers and channel and with its steps."""
    blocks: list[Block] = []
    for channel, (tree, run) in enumerate(zip(trees, runs, strict=True)):
        children = [rank[child] for child in tree["children"].get(host, [])]
        parent = next((up for up, below in tree["children"].items() if host in below), None)
        parts = parts_of(run)
        if parent is None:
            for child in children:
                peers = {"send": child, "recv": -1, "chan": channel}
                blocks.append((peers, [step("s", "i", part) for part in parts]))
            continue
        first, others = children[:1], children[1:]
        peers = {"send": first[0] if first else -1, "recv": rank[parent], "chan": channel}
        receiver = len(blocks)
        kind = "rcs" if first else "r"
        blocks.append((peers, [step(kind, "o", part, hasdep=int(bool(others))) for part in parts]))
        for child in others:
            peers = {"send": child, "recv": -1, "chan": channel}
            waits = [step("s", "o", part, depid=receiver, deps=at) for at, part in enumerate(parts)]
            blocks.append((peers, waits))
    if host == root:
        total = runs[-1][0] + runs[-1][1]
        blocks.append(({"send": -1, "recv": -1, "chan": 0}, [step("cpy", "i", (0, total))]))
    return blocks


def parts_of(run: Run) -> list[Run]:
    """A tree's chunks in at most STEPS parts of nearly equal length."""
    first, count = run
    steps = min(STEPS, count)
    ends = [count * at // steps for at in range(steps + 1)]
    return [(first + low, high - low) for low, high in pairwise(ends)]


def step(kind: str, source: str, part: Run, depid: int = -1, deps: int = -1, hasdep: int = 0) -> Step:
    first, count = part
    return {
        "type": kind,
        "srcbuf": source,
        "srcoff": first,
        "dstbuf": "o",
        "dstoff": first,
        "cnt": count,
        "depid": depid,
        "deps": deps,
        "hasdep": hasdep,
    }


def tag(name: str, attributes: dict[str, Any], end: str) -> str:
    written = " ".join(f"{key}={quoted(value)}" for key, value in attributes.items())
    return f"<{name} {written}{end}"


def quoted(value: object) -> str:
    """The value in double quotes, the only ones that the readers accept.

    Double quotes in the value, and characters that XML cannot hold, are replaced.
    """
    return quoteattr(NO_XML.sub("\N{REPLACEMENT CHARACTER}", str(value).replace('"', "'")))


def cut(name: str) -> str:
    """The name cut to MOST_LENGTH bytes as written: the readers do not check its length."""
    while len(quoted(name).encode()) - 2 > MOST_LENGTH:
        name = name[:-1]
    return name
