"""RR-LDP: Nagy et al. 2023, tables 1 to 10."""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.central import train_centrally
from tacit_papers.paper import Paper
from tacit_papers.published import PaperTable
from tacit_papers.rr_ldp.by_clients import BY_CLIENTS, course, decoders, ldp_fl
from tacit_papers.rr_ldp.claims import CLAIMS
from tacit_papers.rr_ldp.corpus import term_frequency, word2vec
from tacit_papers.rr_ldp.exact import dictionary, inversion, loss, losses
from tacit_papers.rr_ldp.keywords import averaged_vectors
from tacit_papers.rr_ldp.pictures import PICTURES
from tacit_papers.rr_ldp.pooled import embeddings, hash_sizes, movie_text, word_vectors
from tacit_papers.rr_ldp.recurrent import one_step, word_by_word
from tacit_papers.rr_ldp.sensitivity import sensitivity
from tacit_papers.rr_ldp.split_shuffle import attack, split_and_shuffle

__all__ = ["PAPER"]


def _tables(scale: Scale) -> tuple[PaperTable, ...]:
    slow = () if scale == "quick" else (word_by_word,)
    others = (
        course,
        sensitivity,
        one_step,
        *slow,
        hash_sizes,
        word_vectors,
        embeddings,
        movie_text,
        decoders,
        ldp_fl,
        split_and_shuffle,
        losses,
        inversion,
    )
    return (*(one.table(scale) for one in BY_CLIENTS), *(make(scale) for make in others))


PAPER = Paper(
    name="rr-ldp",
    title=(
        "RR-LDP: randomised response on one-bit updates, with hashed text (Nagy et al.,"
        " Knowledge-Based Systems 268, 2023)"
    ),
    first_words=(
        "The paper's epsilon is per transmitted bit. A model of d parameters sends d bits per"
        " round, so the epsilon of an update is d times that, and of a run of R rounds R times"
        " more: epsilon 1 per bit is 506,451 per update of the network used here. Only single bits"
        " are protected; there is no meaningful guarantee for a whole update."
    ),
    scales={
        "smoke": "a few hundred rows, one round, five clients: shows that every cell runs.",
        "quick": (
            "all of IMDB, one seed (word2vec: three, on 5,000 reviews), at most 50 rounds; 100,000"
            " MovieLens ratings for training; 10 and 100 clients; embeddings of 100; no LSTM over"
            " words."
        ),
        "full": "all rows, the paper's rounds and sizes; three seeds.",
    },
    tables=_tables,
    claims=CLAIMS,
    pictures=PICTURES,
    runners={
        "central": train_centrally,
        "term_frequency": term_frequency,
        "word2vec": word2vec,
        "averaged_vectors": averaged_vectors,
        "loss": loss,
        "dictionary": dictionary,
        "split_shuffle": attack,
    },
)
