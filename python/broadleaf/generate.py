"""Platforms drawn at random, as the papers' experiments draw them; equal arguments give equal platforms."""

from broadleaf._core import grid, tiers
from broadleaf._core import random_graph as random

__all__ = ["grid", "random", "tiers"]
