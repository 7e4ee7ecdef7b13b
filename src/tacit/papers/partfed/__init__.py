"""PartFed: Fisichella, Lax, Russo 2022, Figures 3 to 8 and Tables 1 and 2."""

from __future__ import annotations

from tacit.papers.partfed import runs
from tacit.papers.partfed.tables import TABLES
from tacit.papers.published import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    name="partfed",
    title="PartFed: share what is k-anonymous, train the rest at home (Fisichella, Lax, Russo, Information Sciences 614, 2022)",
    first_words=(
        "Shared rows are disclosed to the server in full. At least k people look alike in age, race and sex; there is no "
        "differential privacy, and no protection of the other columns or of the label."
    ),
    scales={
        "smoke": "600 rows, three clients, two rounds: it proves that every cell runs.",
        "quick": "all rows, 100 epochs, five seeds (three for E2), times from ten measured rounds.",
        "full": "all rows, 100 epochs (400 for Figure 3), ten seeds, times from 100 measured rounds.",
    },
    tables=lambda scale: tuple(make(scale) for make in TABLES),
    runners={
        "partfed_table_facts": runs.table_facts,
        "partfed_sharing": runs.sharing,
        "partfed_matched_k": runs.matched_k,
        "partfed_times": runs.times,
    },
)
