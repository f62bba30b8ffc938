"""Obstacles to planning a program's broadcasts, and their remedies."""

from broadleaf.doctor.finding import Finding
from broadleaf.doctor.machine import look_at_machine
from broadleaf.doctor.program import look_at_program

__all__ = ["Finding", "look_at_machine", "look_at_program"]
