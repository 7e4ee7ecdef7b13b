"""The client under attack: its state after one round, and what it sends for a batch of its texts."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tacit import codecs, plan
from tacit import training as local
from tacit.assembly.token_rows import find_checkpoint
from tacit.audit.words.dictionaries import Dictionary
from tacit.audit.words.inversion import ObservedUpdate, compute_gradient
from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import PlanError
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import SimulatedData
from tacit.training.modules.learner import make_batch
from tacit.training.private.learner import PartialLearner, PartialWorker, get_tokens
from tacit.training.private.steps import Training, train_locally
from tacit.training.private.vocabulary import Vocabulary
from tacit.training.private.word_networks import WordNetwork


@dataclass(frozen=True)
class ClientUnderAttack:
    """A client in its second round, with its module, words and worker."""

    worker: PartialWorker
    learner: PartialLearner
    client: int
    words: Vocabulary
    model: NDArray[np.float32]
    private: dict[str, NDArray[np.float32]]

    def module(self) -> WordNetwork:
        """Assemble the module as it is at the start of the round."""
        self.worker.assemble(
            self.model, {name: array.copy() for name, array in self.private.items()}
        )
        assert isinstance(self.worker.module, WordNetwork)
        return self.worker.module

    def batch(self, rows: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
        """Texts in the client's own word numbers, padded to the longest, and their labels."""
        tokens = torch.from_numpy(get_tokens(self.learner.rows.inputs)[rows].astype(np.int64))
        numbered = torch.from_numpy(self.words.rows)[tokens]
        labels = torch.from_numpy(self.learner.rows.labels[rows].astype(np.int64))
        return numbered[:, : max(1, int((numbered != 0).sum(1).max()))], labels

    def other_inputs(self, rows: NDArray[np.int64]) -> tuple[torch.Tensor, ...]:
        """Inputs of the rows other than text, if any."""
        return make_batch(self.learner.rows.inputs, rows)[1:]

    def texts(self, rows: NDArray[np.int64]) -> list[list[str]]:
        """Words of the texts."""
        lexicon = self.learner.home.lexicon
        assert lexicon is not None
        return [
            [lexicon.words[token] for token in row if token < len(lexicon.words)]
            for row in get_tokens(self.learner.rows.inputs)[rows]
        ]

    def table(self) -> Dictionary:
        """The client's true embedding table: words and their current vectors, shared and private."""
        lexicon, module = self.learner.home.lexicon, self.module()
        assert lexicon is not None
        whole = torch.cat([module.words.shared, module.words.private]).detach().numpy()
        known = np.flatnonzero(self.words.rows[:-1] > 1)
        return Dictionary(
            tuple(lexicon.words[token] for token in known), whole[self.words.rows[known]]
        )

    def stream(self) -> NDArray[np.int64]:
        """Table rows of all the client's text, in order, as repeated inversion would collect them."""
        begin, end = (
            self.learner.clients.starts[self.client],
            self.learner.clients.starts[self.client + 1],
        )
        rows = self.words.rows[get_tokens(self.learner.rows.inputs)[begin:end].ravel()]
        return rows[rows > 1]

    def gradient(self, rows: NDArray[np.int64]) -> ObservedUpdate:
        """Gradient of the training loss on a batch, as one plain SGD step would send it."""
        found = compute_gradient(self.module(), *self.batch(rows), *self.other_inputs(rows))
        return ObservedUpdate(
            {name: one for name, one in found.items() if name in self.learner.split.shared}
        )

    def update(
        self, rows: NDArray[np.int64], settings: plan.Local, sends: codecs.Codec, draws: Draws
    ) -> ObservedUpdate:
        """Negative update that the server decodes after real local training on the batch alone."""
        module = self.module()
        (words, labels), others = self.batch(rows), self.other_inputs(rows)
        module.train()
        torch.manual_seed(0)
        parts, private = self.worker.parts, self.learner.home.private
        training = Training(
            module,
            settings,
            private,
            lambda some: ((words[some], *(one[some] for one in others)), labels[some]),
        )
        train_locally(training, parts, len(rows), draws.at("train"))
        change = (self.worker.flat.detach() - torch.from_numpy(self.model)).numpy()
        decoded = pass_through_codec(sends, change, draws)
        return ObservedUpdate(
            {
                name: torch.from_numpy(-array)
                for name, array in self.learner.tensors(decoded).items()
            }
        )


def pass_through_codec(
    sends: codecs.Codec, change: NDArray[np.float32], draws: Draws
) -> NDArray[np.float32]:
    """Encode and decode one update, as the server reads it."""
    total = sends.empty(len(change))
    public = draws.publish("public")
    sent = sends.encode(
        np.ascontiguousarray(change), {}, own=draws.at("noise").for_client(), public=public
    )
    total.add(sent.payload, 1, public)
    return sends.decode(total, public=public, own=draws.at("decode").for_server())


def train_victim(
    job: plan.Plan, data: SimulatedData, client: int, private: plan.Private
) -> ClientUnderAttack:
    """Train a client for one round of the plan with other private settings."""
    draws = Draws.seeded(job.seed)
    slot = ClientSlot(client, client, ClientRandomness(draws, client))
    with tempfile.TemporaryDirectory() as place:
        home = local.Home(
            private=private,
            folder=Path(place),
            beginning=draws.at("initial"),
            lexicon=data.lexicon,
            buckets=job.features.buckets,
            checkpoint=find_checkpoint(job),
        )
        learner = local.build(job.model, job.local, data.train, data.clients, None, home)
        if not isinstance(learner, PartialLearner) or learner.wordings is None:
            raise PlanError(
                "audit reconstruct attacks model.name = 'bilstm' or 'encoder', but the plan has"
                f" {job.model.name!r}; use such a plan"
            )
        worker = learner.worker()
        first = learner.initial(draws.at("initial"))
        model = first + worker.train(first, slot, slot.own.train(1), 1).row
        words = learner.vocabulary(slot)
        assert words is not None
        private_now = learner.load_private(slot, words, 2)
    return ClientUnderAttack(worker, learner, client, words, model, private_now)
