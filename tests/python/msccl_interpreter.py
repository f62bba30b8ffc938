"""Executes MSCCL XML on buffers of real bytes, as the runtime would, and has its readers' refusals."""

from __future__ import annotations

import random
import re
from collections import deque
from dataclasses import dataclass, field

# The attributes that RCCL's reader needs of each element, and its limits (msccl_parser.cc, msccl_struct.h).
NEEDED = {
    "algo": [
        *("nchunksperloop", "nchannels", "ngpus", "proto", "coll"),
        *("minBytes", "maxBytes", "inplace", "outofplace"),
    ],
    "gpu": ["id", "i_chunks", "o_chunks", "s_chunks"],
    "tb": ["id", "recv", "send", "chan"],
    "step": ["s", "srcoff", "srcbuf", "dstoff", "dstbuf", "cnt", "type", "depid", "deps", "hasdep"],
}
MOST_STEPS, MOST_CHANNELS, MOST_COUNT, MOST_ELEMENTS, MOST_LENGTH = 64, 32, 72, 1024, 255
# Sends or receives of a channel; thread blocks (msccl.h); the signed byte with the awaited block's number.
MOST_OF_A_CHANNEL, MOST_BLOCKS, MOST_AWAITED = 32, 216, 127
ELEMENT = re.compile(r'<(/?)([a-z]+)((?: [A-Za-z_]+="[^"]*")*)(/?)>\n')
# Messages that a connection takes before its sender has to wait.
SLOTS = 2


@dataclass
class Element:
    """An element with its attributes and its content."""

    name: str
    attributes: dict[str, str]
    inner: list[Element] = field(default_factory=list)

    def __getitem__(self, name: str) -> int:
        return int(self.attributes[name])


def read(text: str) -> Element:
    """The tree of elements; the readers accept no declaration, no tab and no second space."""
    assert text.startswith("<algo ")
    top = Element("", {})
    stack = [top]
    place = 0
    while place < len(text):
        match = ELEMENT.match(text, place)
        assert match, text[place : place + 80]
        closing, name, written, single = match.groups()
        place = match.end()
        if closing:
            assert stack.pop().name == name
            continue
        attributes = dict(re.findall(r'([A-Za-z_]+)="([^"]*)"', written))
        assert set(attributes) >= set(NEEDED[name])
        assert len(attributes) <= 16
        assert all(len(value.encode()) <= MOST_LENGTH for value in attributes.values())
        element = Element(name, attributes)
        stack[-1].inner.append(element)
        if not single:
            stack.append(element)
    assert stack == [top]
    (algo,) = top.inner
    return algo


def judge(algo: Element) -> None:
    """The rules beyond the single element's."""
    assert algo.attributes["coll"] == "broadcast"
    assert algo.attributes["proto"] in ("Simple", "LL", "LL128")
    assert algo["nchannels"] <= MOST_CHANNELS
    assert 0 <= algo["minBytes"] < algo["maxBytes"]
    assert [gpu["id"] for gpu in algo.inner] == list(range(algo["ngpus"]))
    for gpu in algo.inner:
        # Even the tag that closes the last one is refused when the table is full.
        assert 1 + len(algo.inner) + sum(1 + len(block.inner) for block in gpu.inner) < MOST_ELEMENTS
        assert len(gpu.inner) <= MOST_BLOCKS
        assert [block["id"] for block in gpu.inner] == list(range(len(gpu.inner)))
        for side in ("send", "recv"):
            used = [(block["chan"], block[side]) for block in gpu.inner if block[side] >= 0]
            # A connection belongs to one thread block.
            assert len(used) == len(set(used))
            channels = [channel for channel, _ in used]
            assert all(channels.count(channel) <= MOST_OF_A_CHANNEL for channel in channels)
        for block in gpu.inner:
            assert gpu["id"] not in (block["send"], block["recv"])
            assert 0 <= block["chan"] < algo["nchannels"]
            assert [step["s"] for step in block.inner] == list(range(len(block.inner)))
            assert len(block.inner) <= MOST_STEPS
            for step in block.inner:
                assert 0 < step["cnt"] < MOST_COUNT
                assert step["depid"] <= MOST_AWAITED
                if step["depid"] >= 0:
                    assert gpu.inner[step["depid"]].inner[step["deps"]]["hasdep"] == 1


def links_used(algo: Element) -> dict[tuple[int, int], int]:
    """Chunks sent over each ordered pair of GPUs."""
    used: dict[tuple[int, int], int] = {}
    for gpu in algo.inner:
        for block in gpu.inner:
            for step in block.inner:
                if step.attributes["type"] in ("s", "rcs"):
                    pair = gpu["id"], block["send"]
                    used[pair] = used.get(pair, 0) + step["cnt"]
    return used


class Machine:
    """GPUs with their buffers, and connections that hold SLOTS messages."""

    def __init__(self, algo: Element, root: int, message: bytes, loops: int) -> None:
        self.chunk = len(message) // algo["nchunksperloop"]
        assert self.chunk * algo["nchunksperloop"] == len(message)
        # The runtime goes through all steps once for each part of every chunk.
        self.loops, self.part = loops, -(-self.chunk // loops)
        empty = bytes(len(message))
        self.buffers = [
            {"i": bytearray(message if gpu["id"] == root else empty), "o": bytearray(empty)}
            for gpu in algo.inner
        ]
        self.wires: dict[tuple[int, int, int], deque[bytes]] = {}
        self.done: dict[tuple[int, int, int], int] = {}
        self.threads = [(gpu["id"], block) for gpu in algo.inner for block in gpu.inner]
        self.at = [0] * len(self.threads)

    def run(self, order: random.Random) -> None:
        """Lets the thread blocks go in any order until all are through; a standstill is a fault."""
        while any(self.left(number) for number in range(len(self.threads))):
            numbers = [number for number in range(len(self.threads)) if self.left(number)]
            order.shuffle(numbers)
            moved = [self.go(number) for number in numbers]
            assert any(moved), "deadlock"

    def left(self, number: int) -> bool:
        return self.at[number] < self.loops * len(self.threads[number][1].inner)

    def go(self, number: int) -> bool:
        """One step of a thread block, if its dependency is met."""
        gpu, block = self.threads[number]
        loop, place = divmod(self.at[number], len(block.inner))
        step = block.inner[place]
        if step["depid"] >= 0 and self.done.get((gpu, step["depid"], step["deps"]), 0) <= loop:
            return False
        kind = step.attributes["type"]
        incoming = self.wires.setdefault((block["chan"], block["recv"], gpu), deque())
        outgoing = self.wires.setdefault((block["chan"], gpu, block["send"]), deque())
        if ("r" in kind and not incoming) or ("s" in kind and len(outgoing) >= SLOTS):
            return False
        if kind in ("r", "rcs"):
            data = incoming.popleft()
            self.put(gpu, step.attributes["dstbuf"], step["dstoff"], step["cnt"], loop, data)
        else:
            data = self.get(gpu, step.attributes["srcbuf"], step["srcoff"], step["cnt"], loop)
        if kind == "cpy":
            self.put(gpu, step.attributes["dstbuf"], step["dstoff"], step["cnt"], loop, data)
        if kind in ("s", "rcs"):
            outgoing.append(data)
        self.done[gpu, block["id"], place] = loop + 1
        self.at[number] += 1
        return True

    def spans(self, first: int, count: int, loop: int) -> list[slice]:
        low, high = loop * self.part, min(self.chunk, (loop + 1) * self.part)
        return [slice(at * self.chunk + low, at * self.chunk + high) for at in range(first, first + count)]

    def get(self, gpu: int, buffer: str, first: int, count: int, loop: int) -> bytes:
        return b"".join(bytes(self.buffers[gpu][buffer][span]) for span in self.spans(first, count, loop))

    def put(self, gpu: int, buffer: str, first: int, count: int, loop: int, data: bytes) -> None:
        place = 0
        for span in self.spans(first, count, loop):
            length = span.stop - span.start
            self.buffers[gpu][buffer][span] = data[place : place + length]
            place += length
        assert place == len(data)
