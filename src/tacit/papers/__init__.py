"""Published tables as data: what was printed, what we run to compare, and where ours may lie."""

from __future__ import annotations

from tacit.papers import fedvocab, partfed, rr_ldp
from tacit.papers.published import Cell, Outcome, Paper, Scale, Table, Trial
from tacit.papers.reproduce import reproduce

__all__ = ["PAPERS", "Cell", "Outcome", "Paper", "Scale", "Table", "Trial", "reproduce"]

PAPERS: dict[str, Paper] = {"rr-ldp": rr_ldp.PAPER, "fedvocab": fedvocab.PAPER, "partfed": partfed.PAPER}
