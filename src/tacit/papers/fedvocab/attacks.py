"""What attackers read from one client's gradients under each method: the runs behind the attack tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit import plan as plans
from tacit.audit.words.attribute import as_bits, fingerprint, told_apart
from tacit.audit.words.reading import readings
from tacit.audit.words.reconstruct import chosen_texts, with_all_words_public
from tacit.audit.words.victims import Victim, victim_of
from tacit.draws import Draws
from tacit.engine.simulated_data import SimulatedData, prepare
from tacit.papers.fedvocab.attack_tables import PRIVATE
from tacit.papers.published import Figures

_MODELS: dict[str, dict[str, Any]] = {
    "bilstm": {"features": {"text": "words", "length": 30}, "model": {"name": "bilstm", "hidden": [50]}},
    "encoder": {"features": {"text": "pieces", "length": 30}, "model": {"name": "encoder", "checkpoint": "minilm"}},
}
_LOCAL = {"bilstm": {"optimizer": "adam", "lr": 5e-3}, "encoder": {"optimizer": "adamw", "lr": 5e-5}}


def attack(network: str, method: str, batches: list[int], texts: int, rows: int, seed: int) -> Figures:
    """Return precision, recall, F1 and the share of digit words that each attacker reads of AG News texts with numbers."""
    job, data = _prepared(network, rows, seed)
    client, own = chosen_texts(data, texts)
    victim = victim_of(job, data, client, plans.Private(**PRIVATE[method]))
    figures: dict[str, float] = {}
    for batch in batches:
        for way, found in readings(victim, own, batch, Draws.seeded(seed).at("attack")).items():
            told = {"precision": found.precision, "recall": found.recall, "f1": found.f1, "ptlr": found.digits}
            figures |= {f"{way}, {name}, {batch}": share for name, share in told.items()}
    return {"last": figures}


def attribute(method: str, texts: int, rows: int, bits: float | None, seed: int) -> Figures:
    """Return how well messages of single texts tell whether the text names a number (area under the curve; .5 is chance).

    The attacker makes messages of another client's texts with public word vectors, whatever table the victim has.
    With `bits` messages are one randomised bit per parameter at that epsilon per bit, the attacker's as well.
    """
    from sklearn.metrics import roc_auc_score

    job, data = _prepared("bilstm", rows, seed)
    victim = victim_of(job, data, 0, plans.Private(**PRIVATE[method]))
    public = victim_of(job, data, 1, plans.Private(**{**PRIVATE[method], "start": "public"}))
    attacker = replace(public, model=victim.model)  # the server knows what it sent
    theirs, truth = _messages(victim, data, 0, texts, bits)
    own, known = _messages(attacker, data, 1, texts, bits)
    return {"last": {"auc": float(roc_auc_score(truth, told_apart(own, known, theirs)))}}


def _messages(
    victim: Victim, data: SimulatedData, client: int, texts: int, bits: float | None
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return messages of a client's texts, half of them with a number, as a few numbers each."""
    lexicon = data.lexicon
    assert lexicon is not None
    begin, end = data.clients.starts[client], data.clients.starts[client + 1]
    rows = np.arange(begin, end)
    numbered = np.array([any(any(letter.isdigit() for letter in word) for word in text) for text in victim.texts(rows)])
    half = min(texts // 2, int(numbered.sum()), int((~numbered).sum()))
    chosen = np.concatenate([rows[numbered][:half], rows[~numbered][:half]])
    made = []
    for row in chosen.tolist():
        gradients = victim.gradient(np.array([row])).gradients
        reader = {name: one for name, one in gradients.items() if not name.startswith("words.")}
        if bits is not None:
            reader = as_bits(reader, bits, Draws.seeded(row).at("attribute"))
        made.append(fingerprint(reader, np.random.default_rng(0)))
    return np.array(made), np.repeat([True, False], half)


def _prepared(network: str, rows: int, seed: int) -> tuple[plans.Plan, SimulatedData]:
    """Return a plan with two clients and its rows; every word has a public vector, as in the tables the paper uses."""
    job = plans.parse(
        {
            "name": "attack", "seed": seed, "data": {"source": "ag_news", "clients": 2, "limit": rows, "partition": "iid"},
            **_MODELS[network], "local": {**_LOCAL[network], "epochs": 1, "batch": 32}, "private": PRIVATE["FedVocab"],
            "codec": {"name": "plain"}, "server": {"rounds": 1},
        }
    )  # fmt: skip
    return job, with_all_words_public(prepare(job, Draws.seeded(seed)), Draws.seeded(seed).at("audit"))
