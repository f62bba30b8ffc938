"""What keeps Broadleaf from planning a program's broadcasts, and the remedy."""

from broadleaf.doctor.finding import Finding
from broadleaf.doctor.machine import look_at_machine
from broadleaf.doctor.program import look_at_program

__all__ = ["Finding", "look_at_machine", "look_at_program"]
