"""Many answers become one: who may add, once and with which weight, and in which order sums are merged."""

from tacit.aggregate.collected import Collected
from tacit.aggregate.intake import Intake, commitment
from tacit.aggregate.parts import parts_of

__all__ = ["Collected", "Intake", "commitment", "parts_of"]
