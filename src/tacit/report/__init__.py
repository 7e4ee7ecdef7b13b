"""Tables and pages about a run, computed from its record alone."""

from __future__ import annotations

from pathlib import Path

from tacit.report.compare import find_differences
from tacit.report.figures import (
    HEADINGS,
    ArmFigures,
    Summary,
    compare_with_plain,
    list_cells,
    summarise,
)
from tacit.report.privacy import PrivacyFigures, StatedTotal
from tacit.report.snippet import render_snippet

__all__ = [
    "HEADINGS",
    "ArmFigures",
    "PrivacyFigures",
    "StatedTotal",
    "Summary",
    "compare_with_plain",
    "find_differences",
    "list_cells",
    "render_snippet",
    "summarise",
    "write",
]


def write(folder: Path) -> Path:
    """Write the run's report page from its record and return its path."""
    # The chart library has five megabytes: load it only if a page is written.
    from tacit.report.pages.page import write as write_page

    return write_page(folder)
