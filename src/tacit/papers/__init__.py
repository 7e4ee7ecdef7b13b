"""Published tables as data: what was printed, what we run to compare, and where ours may lie. One folder per paper."""

from __future__ import annotations

from tacit.papers import fedvocab, hashcomb, lazyinf, partfed, rr_ldp
from tacit.papers.published import At, Cell, Outcome, Paper, Run, Scale, Table, Trial
from tacit.papers.reproduce import reproduce

__all__ = ["PAPERS", "At", "Cell", "Outcome", "Paper", "Run", "Scale", "Table", "Trial", "reproduce"]

PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        rr_ldp.PAPER,
        fedvocab.PAPER,
        partfed.PAPER,
        hashcomb.PAPER,
        lazyinf.PAPER,
    )
}
