"""Platforms in other programs' forms: matrices, NetworkX graphs, and the files that hold them."""
