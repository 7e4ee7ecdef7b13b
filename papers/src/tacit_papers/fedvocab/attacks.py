"""Attacks on one client's gradients under each method: the runs behind the attack tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit import plan as plans
from tacit.audit.words.reconstruct import choose_texts, make_all_words_public
from tacit.audit.words.victims import ClientUnderAttack, train_victim
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import SimulatedData, prepare
from tacit_papers.fedvocab.attack_tables import PRIVATE
from tacit_papers.fedvocab.attribute import predict_property, project_message, randomise_bits
from tacit_papers.fedvocab.reading import readings
from tacit_papers.published import Figures

_MODELS: dict[str, dict[str, Any]] = {
    "bilstm": {
        "features": {"text": "words", "length": 30},
        "model": {"name": "bilstm", "hidden": [50]},
    },
    "encoder": {
        "features": {"text": "pieces", "length": 30},
        "model": {"name": "encoder", "checkpoint": "minilm"},
    },
}
_LOCAL = {
    "bilstm": {"optimizer": "adam", "lr": 5e-3},
    "encoder": {"optimizer": "adamw", "lr": 5e-5},
}


def attack(
    network: str, method: str, batches: list[int], texts: int, rows: int, seed: int
) -> Figures:
    """Precision, recall, F1 and the share of digit words that each attacker reads from AG News
    texts with numbers.
    """
    job, data = _prepare(network, rows, seed)
    client, own = choose_texts(data, texts)
    victim = train_victim(job, data, client, plans.Private(**PRIVATE[method]))
    figures: dict[str, float] = {}
    for batch in batches:
        for way, found in readings(victim, own, batch, Draws.seeded(seed).at("attack")).items():
            told = {
                "precision": found.precision,
                "recall": found.recall,
                "f1": found.f1,
                "ptlr": found.digits,
            }
            figures |= {f"{way}, {name}, {batch}": share for name, share in told.items()}
    return {"last": figures}


def attribute(method: str, texts: int, rows: int, bits: float | None, seed: int) -> Figures:
    """AUC with which messages of single texts reveal whether the text names a number; .5 is chance.

    The attacker makes messages of another client's texts with public word vectors, whatever table
    the victim has. With `bits`, all messages are one randomised bit per parameter at that epsilon
    per bit.
    """
    from sklearn.metrics import roc_auc_score

    job, data = _prepare("bilstm", rows, seed)
    victim = train_victim(job, data, 0, plans.Private(**PRIVATE[method]))
    public = train_victim(job, data, 1, plans.Private(**{**PRIVATE[method], "start": "public"}))
    attacker = replace(public, model=victim.model)  # the server knows what it sent
    theirs, truth = _messages(victim, data, 0, texts, bits)
    own, known = _messages(attacker, data, 1, texts, bits)
    return {"last": {"auc": float(roc_auc_score(truth, predict_property(own, known, theirs)))}}


def _messages(
    victim: ClientUnderAttack, data: SimulatedData, client: int, texts: int, bits: float | None
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.bool_]]]:
    """Projected messages of a client's texts, half of them with a number."""
    lexicon = data.lexicon
    assert lexicon is not None
    begin, end = data.clients.starts[client], data.clients.starts[client + 1]
    rows = np.arange(begin, end)
    numbered = np.array(
        [
            any(any(letter.isdigit() for letter in word) for word in text)
            for text in victim.texts(rows)
        ]
    )
    half = min(texts // 2, int(numbered.sum()), int((~numbered).sum()))
    chosen = np.concatenate([rows[numbered][:half], rows[~numbered][:half]])
    made = []
    for row in chosen.tolist():
        gradients = victim.gradient(np.array([row])).gradients
        reader = {name: one for name, one in gradients.items() if not name.startswith("words.")}
        if bits is not None:
            reader = randomise_bits(reader, bits, Draws.seeded(row).at("attribute"))
        made.append(project_message(reader, np.random.default_rng(0)))
    return np.array(made), np.repeat([True, False], half)


def _prepare(network: str, rows: int, seed: int) -> tuple[plans.Plan, SimulatedData]:
    """A plan with two clients and its rows; every word has a public vector, as in the tables the
    paper uses.
    """
    job = plans.parse(
         { "name": "attack", "seed": seed, "data": {"source": "ag_news", "clients": 2, "limit":
        rows, "partition": "iid"}, **_MODELS[network], "local": {**_LOCAL[network], "epochs": 1,
        "batch": 32}, "private": PRIVATE["FedVocab"], "codec": {"name": "plain"}, "server":
        {"rounds": 1}, }
    )  # fmt: skip
    return job, make_all_words_public(
        prepare(job, Draws.seeded(seed)), Draws.seeded(seed).at("audit")
    )
