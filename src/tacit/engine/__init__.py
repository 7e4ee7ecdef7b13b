"""Introduces the rooms to each other: what a round is, and how a whole run goes through its rounds."""

from tacit.engine.job import resume, start
from tacit.engine.watch import Silence, Watch

__all__ = ["Silence", "Watch", "resume", "start"]
