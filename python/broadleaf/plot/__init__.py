"""Figures, drawn without a display; the ending of the file's name selects PNG, SVG or PDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from broadleaf._core import Plan, Platform, simulate
from broadleaf.errors import naming
from broadleaf.files import refuse_unwritable, write_whole
from broadleaf.given import File, name_of, plan_of, platform_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from broadleaf.plot.racing import Race


def draw(
    platform: Platform | File, plan: Plan | File, path: File | None = None, *, timeline: bool = False
) -> Figure:
    """The figure of a plan's trees, nodes coloured by cluster, or of who sends when with `timeline`.

    With `path` it is written there too, as .png, .svg or .pdf. Raises InvalidPlan for a plan that `check`
    refuses, ValueError for a name of no such form, OSError where it cannot be written.
    """
    from broadleaf.plot.figures import form_of, save_figure
    from broadleaf.plot.timeline import draw_timeline
    from broadleaf.plot.trees import draw_trees

    if path is not None:
        form_of(Path(path))
        refuse_unwritable(path)
    network, broadcast = platform_of(platform), plan_of(plan)
    with naming(plan):
        figure = draw_timeline(simulate(network, broadcast)) if timeline else draw_trees(network, broadcast)
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def race(
    platform: Platform | File,
    plans: Sequence[Plan | File] | Mapping[str, Plan | File],
    path: File | None = None,
) -> Race:
    """Plans of one message side by side on one clock: an SVG that moves by itself, a bar a host.

    A mapping says what the plans are called; else each has its file's or its planner's name. With `path` the
    SVG is written there. Raises InvalidPlan for a plan that `check` refuses, ValueError for plans of several
    messages or of one name, OSError where it cannot be written.
    """
    from broadleaf.plot.racing import Runner, draw_race

    if path is not None:
        if Path(path).suffix.lower() != ".svg":
            raise ValueError(f"{path}: a race is an SVG, which moves; end the name in .svg")
        refuse_unwritable(path)
    named = list(plans.items()) if isinstance(plans, Mapping) else [(name_of(plan), plan) for plan in plans]
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise ValueError(f"two plans are called {max(names, key=names.count)!r}; name them: {{name: plan}}")
    network = platform_of(platform)
    runners = []
    for name, plan in named:
        with naming(plan):
            runners.append(Runner(name, simulate(network, plan_of(plan))))
    drawn = draw_race(network, runners)
    if path is not None:
        write_whole(path, drawn.svg)
    return drawn
