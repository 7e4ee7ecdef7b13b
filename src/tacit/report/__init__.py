"""Run record in, tables and pages out. Reads nothing but the record."""

from __future__ import annotations

from pathlib import Path

from tacit.report.compare import differences
from tacit.report.figures import HEADINGS, Arm, Summary, against_plain, cells, summary
from tacit.report.privacy import Privacy, StatedTotal
from tacit.report.snippet import snippet

__all__ = [
    "HEADINGS",
    "Arm",
    "Privacy",
    "StatedTotal",
    "Summary",
    "against_plain",
    "cells",
    "differences",
    "snippet",
    "summary",
    "write",
]


def write(folder: Path) -> Path:
    """Return the path of the run's report page, written anew from its record."""
    # The charts' script is five megabytes: load it only where a page is wanted.
    from tacit.report.page import write as write_page

    return write_page(folder)
