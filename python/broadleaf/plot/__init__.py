"""Figures, drawn without a display and written whole: the file's name says whether PNG, SVG or PDF."""
