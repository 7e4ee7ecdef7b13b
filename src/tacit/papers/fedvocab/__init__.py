"""FedVocab: Zhang et al. 2022, tables 3 to 5 and figure 4."""

from __future__ import annotations

from tacit.papers.fedvocab.attacks import attack, attribute
from tacit.papers.fedvocab.message_bytes import message_bytes
from tacit.papers.fedvocab.tables import tables
from tacit.papers.published import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    name="fedvocab",
    title="FedVocab: private vocabularies in federated text models (Zhang et al., EMNLP 2022)",
    first_words=(
        "The embedding table stays on the device. Words can still be inferred if it started from public vectors. "
        "No differential privacy."
    ),
    scales={
        "smoke": "200 rows, ten clients, two rounds: it proves that every cell runs.",
        "quick": "100 clients, Dirichlet(1.0), 10 a round. BiLSTM: 100 rounds with the paper's batch and rate, but 100 per "
        "direction in place of 300, GloVe 100-d, texts cut to 64 words (SST-2: 32); 400 common test rows. MiniLM: 10,000 rows, "
        "15 rounds, batch 32, rate 2e-4, 200 common test rows. After the last round 20 (MiniLM 10) clients are measured.",
        "full": "the paper's sizes but for the vectors: GloVe 100-d in place of 300-d, MiniLM-L6 in place of DistilBERT; "
        "100 rounds, no weight decay, no dropout of word vectors; AG News is the part that is at hand.",
    },
    tables=tables,
    runners={"message_bytes": message_bytes, "attack": attack, "attribute": attribute},
)
