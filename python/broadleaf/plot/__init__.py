"""Figures, drawn without a display and written whole: the file's name says whether PNG, SVG or PDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from broadleaf._core import Plan, Platform, simulate
from broadleaf.errors import naming
from broadleaf.files import refuse_unwritable
from broadleaf.given import File, plan_of, platform_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
