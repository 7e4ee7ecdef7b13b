"""Figures on the pages of papers: each belongs to a cell that exists, so that a page can be written again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.reproduction import SCALES
from tacit_papers import fedvocab, former, hashcomb, lazyinf, partfed, rr_ldp
from tacit_papers.paper import Paper

DOCS = Path(__file__).parents[2] / "docs"
PAPERS = [one.PAPER for one in (fedvocab, hashcomb, lazyinf, partfed, rr_ldp)]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_stored_figure_belongs_to_a_cell(paper: Paper) -> None:
    """The key of a cell is a hash of its plan: who renames a plan key converts the stored keys."""
    known = {cell.key for scale in SCALES for table in paper.tables(scale) for cell in table.cells}
    stored = json.loads(former.results_path(paper, DOCS).read_text())
    shown = {cell["key"] for cell in stored["cells"] if cell["ours"] is not None}
    assert ({*shown, *stored["seeds"]} - known) == set()
