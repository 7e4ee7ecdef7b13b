"""HashComb: Colombo, Asal, Damiani, AlQassem, Almemari, Alhammadi, Tables 1 to 5 and Figures 2, 4
to 6.
"""

from __future__ import annotations

from tacit_papers.hashcomb import curves, footprint, noise, ours, proofs, runs, tables
from tacit_papers.hashcomb.claims import CLAIMS
from tacit_papers.hashcomb.pictures import PICTURES
from tacit_papers.paper import Paper

__all__ = ["PAPER"]

_ALL = (
    *footprint.TABLES,
    *tables.TABLES,
    *noise.TABLES,
    *curves.TABLES,
    *proofs.TABLES,
    *ours.TABLES,
)
PAPER = Paper(
    name="hashcomb",
    title="HashComb: quantised updates under keyed hashes",
    first_words=(
        "Obfuscated weights (keyed quantisation tokens). Not differentially private; other"
        " participants can decode."
    ),
    scales={
        "smoke": "300 rows, two rounds, a few epochs: shows that every cell runs.",
        "quick": (
            "all rows, a tenth of the publication's epochs, one seed, which shows figures and"
            " decides few claims."
        ),
        "full": "all rows, the publication's epochs, five seeds for Table 3, else three.",
    },
    tables=lambda scale: tuple(make(scale) for make in _ALL),
    claims=CLAIMS,
    pictures=PICTURES,
    runners={
        "hashcomb_federated": runs.federated,
        "hashcomb_scikit_learn": runs.scikit_learn,
        "hashcomb_facts": runs.facts,
        "hashcomb_first_weights": runs.first_weights,
        "hashcomb_chance": runs.chance,
        "hashcomb_private": runs.private,
        "hashcomb_promise": footprint.promise,
        **proofs.RUNNERS,
    },
)
