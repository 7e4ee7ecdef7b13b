"""Checks for user-defined parts: `check_codec` tests a codec against every law that Tacit's own
codecs obey.
"""

from __future__ import annotations

from tacit.testing.check import CHECKS, check_codec
from tacit.testing.subject import LawError, Subject

__all__ = ["CHECKS", "LawError", "Subject", "check_codec"]
