"""Membership inference: does a message reveal whether the client trained on a given text?

The attacker is the server. It has the shared parameters before and after a client's round, and a
text with its label. It knows the client's table, or assumes the public vectors that tables started
from. A text that was trained on loses more loss by the update than others do (`loss drop`), and its
gradient points against the update (`alignment`). Comparing the losses before and after calibrates
for texts that are easy for every model.

Controls: two halves of the texts that the client did not train on are told apart by chance alone.
A broken client, which trains for many passes on few texts, must be found out.

Source: Carlini et al. 2022, *Membership Inference Attacks From First Principles*, with the model
before the round as the one reference model; Nasr et al. 2019, for gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tacit import codecs
from tacit import plan as plans
from tacit.audit.words.inversion import ObservedUpdate
from tacit.audit.words.reconstruct import make_all_words_public
from tacit.audit.words.victims import ClientUnderAttack, train_victim
from tacit.client import ClientRandomness, ClientSlot
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import SimulatedData, prepare
from tacit_papers.fedvocab.attack_tables import PRIVATE
from tacit_papers.published import Figures

_VICTIM, _OTHER = 0, 1
Row = NDArray[np.int64]


@dataclass(frozen=True)
class Attacker:
    """The server with a message: shared parameters before and after, and an assumed client."""

    view: ClientUnderAttack
    before: NDArray[np.float32]
    after: NDArray[np.float32]

    def score_loss_drop(self, rows: Row) -> NDArray[np.float64]:
        """By how much the update lowers the loss of each text."""
        return self._losses(self.before, rows) - self._losses(self.after, rows)

    def score_alignment(self, rows: Row) -> NDArray[np.float64]:
        """The cosine of the update and each text's negative gradient, above the word table."""
        change, found = self.view.learner.tensors(self.after - self.before), np.empty(len(rows))
        view = replace(self.view, model=self.before)
        for place, row in enumerate(rows.tolist()):
            gradients = view.gradient(np.array([row])).gradients
            names = sorted(name for name in gradients if not name.startswith("words."))
            ours = np.concatenate([gradients[name].numpy().ravel() for name in names])
            sent = np.concatenate([change[name].ravel() for name in names])
            norms = float(np.linalg.norm(ours)) * float(np.linalg.norm(sent))
            found[place] = -float(ours @ sent) / max(norms, 1e-30)
        return found

    def _losses(self, model: NDArray[np.float32], rows: Row) -> NDArray[np.float64]:
        view = replace(self.view, model=model)
        module = view.module()
        module.eval()
        words, labels = view.batch(rows)
        with torch.no_grad():
            logits = module(words, *view.other_inputs(rows))
            losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
        module.train()
        return losses.numpy().astype(np.float64)


def membership(
    method: str, rows: int, texts: int, epochs: int, bits: float | None, knows: bool, seed: int
) -> Figures:
    """AUC with which a message reveals which of `texts` texts its client trained on in a round of
    `epochs` passes; .5 is chance. `knows` says whether the attacker has the client's table. With
    `bits`, the message is one randomised bit per parameter at that epsilon per bit.
    """
    from sklearn.metrics import roc_auc_score

    job, data = _prepare(rows, epochs, seed)
    victim = train_victim(
        replace(job, local=replace(job.local, epochs=1)),
        data,
        _OTHER,  # the model of a round in which the victim took no part
        plans.Private(**PRIVATE[method]),
    )
    target = _assume(victim, data, job, _VICTIM)
    ours, theirs = (_choose(data, client, texts, seed) for client in (_VICTIM, 2))
    draws = Draws.seeded(seed).at("membership")
    change = _observe(target, ours, job.local, bits, draws)
    view = target if knows else _assume_public(victim, data, job, method)
    attacker = Attacker(view, victim.model, victim.model + change)
    figures: dict[str, float] = {}
    truth = np.repeat([1, 0], len(ours))
    halves = np.arange(len(theirs)) % 2
    for name, score in (
        ("loss drop", attacker.score_loss_drop),
        ("alignment", attacker.score_alignment),
    ):
        members, others = score(ours), score(theirs)
        figures[name] = float(roc_auc_score(truth, np.concatenate([members, others])))
        figures[f"{name}, control"] = float(roc_auc_score(halves, others))
    return {"last": figures}


def _observe(
    target: ClientUnderAttack, rows: Row, local: plans.Local, bits: float | None, draws: Draws
) -> NDArray[np.float32]:
    """The update that the server decodes after the client trained on some texts."""
    change = _join(target, target.update(rows, local, codecs.build(plans.Plain()), draws))
    if bits is None:
        return change
    clip = float(np.quantile(np.abs(change), 0.99)) or 1e-6
    one_bit = codecs.build(plans.RR(epsilon=bits, clip=clip))
    return _join(target, target.update(rows, local, one_bit, draws))


def _join(target: ClientUnderAttack, sent: ObservedUpdate) -> NDArray[np.float32]:
    """The change of all shared parameters, which is the negative of what an attack observes."""
    named = sent.gradients
    parts = [named[name].numpy().ravel() for name in target.learner.split.shared]
    return -np.concatenate(parts).astype(np.float32)


def _assume(
    trained: ClientUnderAttack, data: SimulatedData, job: plans.Plan, client: int
) -> ClientUnderAttack:
    """A client that receives a trained model, with its own first table for all words of the data."""
    learner = trained.learner
    root = Draws.seeded(job.seed)
    slot = ClientSlot(client, client, ClientRandomness(root, client))
    words = learner.vocabulary(slot, data.train.inputs)
    assert words is not None
    private = {
        name: np.asarray(array, np.float32)
        for name, array in learner.first_private(slot, words).items()
    }
    return ClientUnderAttack(trained.worker, learner, client, words, trained.model, private)


def _assume_public(
    trained: ClientUnderAttack, data: SimulatedData, job: plans.Plan, method: str
) -> ClientUnderAttack:
    """The attacker's own client, whose table has the public vectors."""
    settings = plans.Private(**{**PRIVATE[method], "start": "public"})
    own = train_victim(replace(job, local=replace(job.local, epochs=1)), data, _OTHER, settings)
    return _assume(replace(own, model=trained.model), data, job, _OTHER)


def _choose(data: SimulatedData, client: int, texts: int, seed: int) -> Row:
    begin, end = int(data.clients.starts[client]), int(data.clients.starts[client + 1])
    order = Draws.seeded(seed).at("candidates", client).generator().permutation(end - begin)
    return np.sort(begin + order[:texts])


def _prepare(rows: int, epochs: int, seed: int) -> tuple[plans.Plan, SimulatedData]:
    """Three clients with rows of one distribution: the victim, one that trained before, and one
    whose texts nobody trained on.
    """
    settings: dict[str, Any] = {
        "name": "membership",
        "seed": seed,
        "data": {"source": "ag_news", "clients": 3, "limit": rows, "partition": "iid"},
        "features": {"text": "words", "length": 30},
        "model": {"name": "bilstm", "hidden": [50]},
        "local": {"optimizer": "adam", "lr": 5e-3, "epochs": epochs, "batch": 32},
        "private": PRIVATE["FedVocab"],
        "codec": {"name": "plain"},
        "server": {"rounds": 1},
    }
    job = plans.parse(settings)
    draws = Draws.seeded(seed)
    return job, make_all_words_public(prepare(job, draws), draws.at("audit"))
