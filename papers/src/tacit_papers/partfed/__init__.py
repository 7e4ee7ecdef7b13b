"""PartFed: Fisichella, Lax, Russo 2022, Figures 3 to 8 and Tables 1 and 2."""

from __future__ import annotations

from tacit_papers.paper import Paper
from tacit_papers.partfed import further, measured, ours, runs, tables, times
from tacit_papers.partfed.claims import CLAIMS
from tacit_papers.partfed.pictures import PICTURES

__all__ = ["PAPER"]

_TABLES = (
     tables.facts, tables.encodings, tables.load, tables.by_k, tables.by_l, tables.components,
    times.equal_power, times.strong_server, ours.rules, ours.errors, ours.growing, ours.e1_or_e2,
    further.balanced, further.images,
)  # fmt: skip

PAPER = Paper(
    name="partfed",
    title=(
        "PartFed: share what is k-anonymous, train the rest at home (Fisichella, Lax, Russo,"
        " Information Sciences 614, 2022)"
    ),
    first_words=(
        "Shared rows are disclosed to the server in full. At least k people are equal in age, race"
        " and sex; there is no differential privacy, and no protection of the other columns or of"
        " the label."
    ),
    scales={
        "smoke": "600 rows, three clients, two rounds: shows that every cell runs.",
        "quick": (
            "all rows, 100 epochs, five seeds (three for E2, for E1 against E2 and for times of ten"
            " measured rounds)."
        ),
        "full": (
            "all rows, 100 epochs (600 for Figure 3), ten seeds (five for E2, for E1 against E2 and"
            " for times of 30 measured rounds)."
        ),
    },
    claims=CLAIMS,
    pictures=PICTURES,
    tables=lambda scale: tuple(make(scale) for make in _TABLES),
    runners={
        "partfed_table_facts": runs.table_facts,
        "partfed_sharing": runs.sharing,
        "partfed_matched_k": runs.find_matching_k,
        "partfed_growing": runs.growing,
        "partfed_times": measured.times,
    },
)
