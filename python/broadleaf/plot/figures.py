"""Figures as files: the ending of the name selects the format."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from broadleaf.files import write_whole

FORMS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}

# Okabe and Ito's palette, which colour-blind readers can distinguish; their yellow fades on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#A89A00", "#999999")


# Characters of a name that a figure has room for.
MOST_CHARACTERS = 24


def label(name: str) -> str:
    """A name as a figure shows it: a long one is shortened in the middle, and $ does not begin a formula."""
    shown = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name
    )
    if len(shown) > MOST_CHARACTERS:
        half = (MOST_CHARACTERS - 1) // 2
        shown = f"{shown[:half]}…{shown[-half:]}"
    return shown.replace("$", r"\$")


class Picture(Figure):
    """A figure that a notebook shows as it is, whether or not pyplot was imported."""

    def _repr_png_(self) -> bytes:
        return drawn(self, "png")


def form_of(path: Path) -> str:
    """png, svg or pdf; raises ValueError for a name with another ending."""
    form = FORMS.get(path.suffix.lower())
    if form is None:
        raise ValueError(f"{path}: no figure form; end the name in {', '.join(FORMS)}")
    return form


def save_figure(figure: Figure, path: Path) -> None:
    """Writes the figure to a temporary file and renames it, so that no half-written file appears."""
    write_whole(path, drawn(figure, form_of(path)))


def drawn(figure: Figure, form: str) -> bytes:
    """The figure as png, svg or pdf; the same figure gives the same bytes, for comparing drawings."""
    dates = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    drawing = io.BytesIO()
    # hashsalt: otherwise the ids inside an SVG are random.
    with mpl.rc_context({"svg.hashsalt": "broadleaf", "svg.fonttype": "none"}), warnings.catch_warnings():
        # The figure shows a box for each; an SVG leaves the character to its reader's fonts.
        warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from font", UserWarning)
        figure.savefig(drawing, format=form, dpi=150, metadata=dates[form])
    return drawing.getvalue()
