"""Plans of one message racing on one clock: an animated SVG without scripts."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from broadleaf._core import Platform, Trace
from broadleaf.collectives import INWARD
from broadleaf.errors import visible
from broadleaf.plot.figures import COLOURS
from broadleaf.units import seconds, size

# The slowest plan is shown in RUN_S of real time, followed by a pause.
RUN_S, PAUSE_S = 8.0, 2.5
# Places of the page, pixels; a lane is a plan's row of bars, one a host.
WIDTH, MARGIN, LANE, BAR = 760, 20, 128, 58
# Limits of the number of keyframes, which determine the size of the file.
MOST_FRAMES, MOST_STEPS, FEWEST_STEPS = 3000, 40, 4
# Names of hosts fit below bars of at least this width, pixels.
NAMED = 26
# The approximate number of labels on the clock.
TICKS = 6

STYLE = """
text { font: 12px sans-serif; fill: #1b1b1b; } .small { font-size: 10px; fill: #555; }
.title { font-size: 14px; font-weight: bold; } .back { fill: #fff; } .empty { fill: #e6e6e6; }
.axis { stroke: #999; } .hand { stroke: #b3261e; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  text { fill: #eee; } .small { fill: #bbb; } .back { fill: #1e1e1e; } .empty { fill: #3a3a3a; }
}
.moves { animation: DURATION linear infinite; transform-box: fill-box; transform-origin: bottom; }
@media (prefers-reduced-motion: reduce) { .moves { animation-play-state: paused; animation-delay: -STILLs; } }
"""


@dataclass(frozen=True)
class Runner:
    """A plan in the race: its name and its simulated trace."""

    name: str
    trace: Trace


@dataclass(frozen=True, repr=False)
class Race:
    """A race of plans: the `svg`, which moves by itself, and the `makespans_s` by the plans' names."""

    svg: str
    makespans_s: dict[str, float]

    def _repr_html_(self) -> str:
        # As an image: the styles of an inline SVG would apply to the whole page.
        data = base64.b64encode(self.svg.encode()).decode()
        return (
            f'<img style="max-width: 100%" alt="{shown(repr(self))}" src="data:image/svg+xml;base64,{data}">'
        )

    def __repr__(self) -> str:
        return f"<Race: {', '.join(f'{name} {seconds(end)}' for name, end in self.makespans_s.items())}>"


def draw_race(platform: Platform, runners: Sequence[Runner]) -> Race:
    """The race as an SVG: a lane a plan with a bar a host, which fills as the host receives; in a gather, a
    reduce and a reduce-scatter as it receives and sends.

    Raises ValueError for nothing to race, and for plans that do not move the same message.
    """
    messages = {(each.trace.plan.collective, each.trace.plan.message_bytes) for each in runners}
    if len(messages) != 1:
        what = " and ".join(f"{name} of {size(count)}" for name, count in sorted(messages)) or "no plan"
        raise ValueError(f"{what} cannot race; give plans of one message")
    end_s = max(each.trace.makespan_s for each in runners) or 1.0
    height = 64 + LANE * len(runners) + 34
    steps = max(FEWEST_STEPS, min(MOST_STEPS, MOST_FRAMES // (len(platform.hosts) * len(runners))))
    ((collective, message_bytes),) = messages
    title = f"{collective} of {size(message_bytes)} on {platform.name}"
    # With reduced motion, the race stands at the moment at which the fastest plan ends.
    still_s = RUN_S * min(each.trace.makespan_s for each in runners) / end_s
    style = STYLE.replace("DURATION", f"{RUN_S + PAUSE_S:g}s").replace("STILL", f"{still_s:.2f}")
    rules, shapes = [style], []
    for at, runner in enumerate(runners):
        lane_rules, lane = lane_of(at, runner, platform.hosts, end_s, steps)
        rules.append(lane_rules)
        shapes.append(lane)
    across = f"transform: translateX({WIDTH - 2 * MARGIN}px)"
    rules.append(f"@keyframes hand {{ {share(end_s, end_s)}, 100% {{ {across}; }} }}")
    svg = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img" aria-labelledby="what">',
            f'<title id="what">{shown(title)}: {shown(told(runners))}</title>',
            f"<style>{''.join(rules)}</style>",
            f'<rect class="back" width="{WIDTH}" height="{height}"/>',
            f'<text class="title" x="{MARGIN}" y="26">{shown(title)}</text>',
            f'<text class="small" x="{WIDTH - MARGIN}" y="26" text-anchor="end">{pace(end_s)}</text>',
            *shapes,
            axis_of(end_s, height),
            "</svg>\n",
        ]
    )
    return Race(svg, {each.name: each.trace.makespan_s for each in runners})


def pace(end_s: float) -> str:
    """How fast the animation runs.

    >>> pace(8e-3), pace(8.0), pace(80.0)
    ('shown 1000 times slower', 'shown at real speed', 'shown 10 times faster')
    """
    factor = RUN_S / end_s
    if 0.95 < factor < 1.05:
        return "shown at real speed"
    return f"shown {float(f'{max(factor, 1 / factor):.2g}'):g} times {'slower' if factor > 1 else 'faster'}"


def told(runners: Sequence[Runner]) -> str:
    return ", ".join(f"{each.name} {seconds(each.trace.makespan_s)}" for each in runners)


def shown(text: str) -> str:
    return escape(visible(text))


def share(time_s: float, end_s: float) -> str:
    """The place of a time in the animation, as CSS has it."""
    return f"{100 * RUN_S / (RUN_S + PAUSE_S) * time_s / end_s:.2f}%"


def lane_of(at: int, runner: Runner, hosts: Sequence[str], end_s: float, steps: int) -> tuple[str, str]:
    """A plan's keyframes and its shapes."""
    top = 44 + at * LANE
    trace, colour = runner.trace, COLOURS[at % len(COLOURS)]
    plan = trace.plan
    about = f"{runner.name}: {seconds(trace.makespan_s)}"
    if plan.bound_s:
        about += f", {trace.makespan_s / plan.bound_s:.2f} x the bound"
    shapes = [f'<text x="{MARGIN}" y="{top + 14}">{shown(about)}</text>']
    rules = []
    room = (WIDTH - 2 * MARGIN) / len(hosts)
    for place, (host, held) in enumerate(zip(hosts, filling(trace, hosts, end_s, steps), strict=True)):
        x = MARGIN + place * room
        box = f'x="{x + 0.1 * room:.1f}" y="{top + 22}" width="{0.8 * room:.1f}" height="{BAR}"'
        name = f"r{at}h{place}"
        frames = "".join(
            f"{share(end_s * step / steps, end_s)}{{transform:scaleY({part:.3f})}}"
            for step, part in enumerate(held)
        )
        rules.append(f"@keyframes {name} {{{frames}100%{{transform:scaleY({held[-1]:.3f})}}}}\n")
        shapes.append(f'<rect class="empty" {box}/>')
        shapes.append(f'<rect class="moves" style="animation-name: {name}" fill="{colour}" {box}/>')
        if room >= NAMED:
            middle = x + room / 2
            shapes.append(
                f'<text class="small" x="{middle:.1f}" y="{top + 36 + BAR}" text-anchor="middle">'
                f"{shown(host)}</text>"
            )
    return "".join(rules), "\n".join(shapes)


def filling(trace: Trace, hosts: Sequence[str], end_s: float, steps: int) -> list[NDArray[np.float64]]:
    """Each host's received share of all that it receives, at each step of the clock; a root has all from
    the beginning. Inward, where a leaf receives nothing, its sends count as well."""
    table = trace.transfers
    is_inward = trace.plan.collective in INWARD
    clock = np.linspace(0.0, end_s, steps + 1)
    place = {name: at for at, name in enumerate(trace.nodes)}
    found = []
    for host in hosts:
        own = table["to"] == place[host]
        mine = table[own | (table["from"] == place[host]) if is_inward else own]
        order = np.argsort(mine["arrival_s"], kind="stable")
        got = np.concatenate(([0.0], np.cumsum(mine["bytes"][order].astype(np.float64))))
        at = np.searchsorted(mine["arrival_s"][order], clock * (1 + 1e-12), side="right")
        found.append(got[at] / got[-1] if got[-1] else np.ones(steps + 1))
    return found


def axis_of(end_s: float, height: int) -> str:
    """The clock: a line with times, and a moving hand."""
    y, long = height - 24, WIDTH - 2 * MARGIN
    shapes = [f'<line class="axis" x1="{MARGIN}" y1="{y}" x2="{WIDTH - MARGIN}" y2="{y}"/>']
    step_s = round_step(end_s / TICKS)
    for tick in range(1 + math.floor(end_s / step_s * (1 + 1e-9))):
        x = MARGIN + long * tick * step_s / end_s
        text = "0" if tick == 0 else seconds(tick * step_s)
        shapes.append(f'<text class="small" x="{x:.1f}" y="{y + 16}" text-anchor="middle">{text}</text>')
    shapes.append(
        f'<line class="hand moves" style="animation-name: hand" x1="{MARGIN}" x2="{MARGIN}" '
        f'y1="40" y2="{y}"/>'
    )
    return "\n".join(shapes)


def round_step(about: float) -> float:
    """The number of the form 1, 2 or 5 times a power of ten that is next above.

    >>> round_step(1.13), round_step(0.03), round_step(5.0)
    (2.0, 0.05, 5.0)
    """
    power = 10.0 ** math.floor(math.log10(about))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= about * (1 - 1e-9))
