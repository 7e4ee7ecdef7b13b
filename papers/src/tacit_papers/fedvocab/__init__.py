"""FedVocab: Zhang et al. 2022, tables 3 to 5 and figure 4."""

from __future__ import annotations

from typing import Any

from tacit_papers.fedvocab.claims import CLAIMS
from tacit_papers.fedvocab.message_bytes import message_bytes
from tacit_papers.fedvocab.pictures import PICTURES
from tacit_papers.fedvocab.tables import tables
from tacit_papers.paper import Paper
from tacit_papers.published import Figures

__all__ = ["PAPER"]


def attack(**settings: Any) -> Figures:
    """Run the attacks; PyTorch is imported only if this is called."""
    from tacit_papers.fedvocab import attacks

    return attacks.attack(**settings)


def attribute(**settings: Any) -> Figures:
    """Measure how well messages reveal an attribute; PyTorch is imported only if this is called."""
    from tacit_papers.fedvocab import attacks

    return attacks.attribute(**settings)


def text_membership(**settings: Any) -> Figures:
    """Measure how well messages reveal who trained on a text; PyTorch is imported only if this is
    called.
    """
    from tacit_papers.fedvocab.membership import membership as measure

    return measure(**settings)


PAPER = Paper(
    name="fedvocab",
    title="FedVocab: private vocabularies in federated text models (Zhang et al., EMNLP 2022)",
    first_words=(
        "The embedding table stays on the device. Words can still be inferred if it started from"
        " public vectors. No differential privacy."
    ),
    scales={
        "smoke": "60 rows, six clients, two rounds: shows that every method runs.",
        "quick": (
            "some of the small runs, three seeds each (MiniLM: five). BiLSTM of 64 per direction:"
            " 5,000 rows at 50 clients, Dirichlet(1.0), 10 clients per round, 24 rounds, two steps"
            " per pass as in the paper (20News: four, AG News: five), learning rate 5e-3, GloVe"
            " 100-d, 32 words per text, evaluated every third round on 200 common test rows."
            " MiniLM: 640 rows at 20 clients, 5 clients per round for 8 rounds, batch 16, learning"
            " rate 2e-4, 100 common test rows."
        ),
        "full": (
            "all the small runs, with ten seeds where three left a claim open, and larger runs that"
            " fit two cores overnight. BiLSTM, one seed: the paper's clients, rows, rounds, batch"
            " and rate, but 100 per direction instead of 300 (a run at 300 had the same figures at"
            " round 34), GloVe 100-d instead of 300-d, texts truncated to 64 words; AG News is the"
            " available part. MiniLM-L6 instead of DistilBERT, three seeds: the paper's clients and"
            " rounds on 3,200 rows, texts truncated to 32 pieces, batch 32, learning rate 2e-4,"
            " evaluated every fifth round on 100 common test rows; on all rows a round takes"
            " minutes."
        ),
    },
    tables=tables,
    claims=CLAIMS,
    pictures=PICTURES,
    runners={
        "message_bytes": message_bytes,
        "attack": attack,
        "attribute": attribute,
        "membership": text_membership,
    },
)
