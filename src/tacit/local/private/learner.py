"""Partially local models: some parameters are everybody's and travel, the others stay where they were trained.

The flat vector, and with it every update, message, checkpoint and model file, is made of shared parameters alone. Which
ones stay is named in the plan by patterns or declared by the model (`private_parameters`). The known methods are
combinations: what stays (nothing, the words, lower layers), how it is adapted, and a proximal pull.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit import plan
from tacit.draws import Draws
from tacit.errors import PlanError
from tacit.local.contract import Figures, Home, OneByOne, Tests, Update, WholeUpdate
from tacit.local.head import HeadPlace
from tacit.local.modules.learner import batch_of, batches_of, head_of, make_ready, maker, seed_of, seen_by_last
from tacit.local.modules.own import checked
from tacit.local.private import worded
from tacit.local.private.steps import Parts, Training, local_half
from tacit.local.private.store import Arrays, PrivateStore
from tacit.local.private.vocabulary import Vocabulary, Wordings
from tacit.rows import Clients, Dense, Inputs, Mixed, Rows, Vector
from tacit.seat import Own, Seat

_PREDICT_ROWS = 256
_TABLE = "words.private"


class Split(NamedTuple):
    """A module's parameter names: those that travel and those that stay."""

    shared: tuple[str, ...]
    private: tuple[str, ...]


class PartialLearner:
    """A module over the rows of a site's clients, of which a part stays with each client."""

    parallel: Literal["threads", "processes"] = "processes"
    personal = True

    def __init__(
        self, model: plan.Model, local: plan.Local, rows: Rows, clients: Clients, module: object | None, home: Home
    ) -> None:
        make_ready()
        self.local, self.rows, self.clients, self.home = local, rows, clients, home
        self.outputs = 1 if len(rows.classes) <= 2 else len(rows.classes)
        self.wordings = _wordings(model, home)
        self._make: Callable[[], nn.Module]
        if self.wordings is not None and isinstance(model, plan.Worded):
            shared_rows, width = self.wordings.shared_rows, self.wordings.width
            beside = rows.inputs.beside.width if isinstance(rows.inputs, Mixed) else 0
            self._make = lambda: worded.build(model, worded.Shape(shared_rows, width, beside, self.outputs), home.checkpoint)
        else:
            self._make = maker(model, rows.inputs, self.outputs, module)
        self.module: nn.Module = checked(self._make(), model.name)
        self.split = split_names(self.module, home.private)
        self.size = sum(dict(self.module.named_parameters())[name].numel() for name in self.split.shared)
        self.layers: tuple[int, ...] = (self.size,)
        self.head = self._head()
        self.store = PrivateStore(home.folder, keeps_arrays=home.private.stores and home.private.train)
        self._firsts: dict[Draws, Arrays] = {}
        self._reader: PartialWorker | None = None

    def _head(self) -> HeadPlace | None:
        """Return where the last layer lies in the shared part, if it is linear and does not stay with the clients."""
        names = [name for name, _ in self.module.named_parameters()]
        return head_of(self.module, self.size, self.outputs) if tuple(names[-2:]) == self.split.shared[-2:] else None

    def below(self, model: Vector, inputs: Inputs, seat: Seat, round_no: int) -> NDArray[np.float32]:
        """Return what the last layer sees of some rows, read with the client's own part as it stood before `round_no`."""
        self._reader = self._reader or self.worker()
        words = self.vocabulary(seat, inputs)
        self._reader.assemble(model, self.private_of(seat, words, round_no))
        return seen_by_last(self._reader.module, (_numbered(some, words) for some in batches_of(inputs, _PREDICT_ROWS)))

    def initial(self, draws: Draws) -> Vector:
        """Return the first shared parameters."""
        return np.concatenate([self._first(draws)[name].ravel() for name in self.split.shared]).astype(np.float32)

    def forget(self) -> None:
        """Remove what an earlier start kept for its clients."""
        self.store.clear()

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Raise RunError if what a client kept is not what its last round before `before` left."""
        self.store.check(last_rounds, before)

    def worker(self) -> PartialWorker:
        """Return a worker with a module of its own."""
        return PartialWorker(self)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the shared parameters by name."""
        named, found, start = dict(self.module.named_parameters()), dict[str, NDArray[Any]](), 0
        for name in self.split.shared:
            stop = start + named[name].numel()
            found[name] = model[start:stop].reshape(tuple(named[name].shape)).copy()
            start = stop
        return found

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits of a newcomer: the shared parameters with first private ones."""
        worker = self.worker()
        nobody = np.zeros((0, 0), np.int32)
        newcomer = Seat(0, 0, Own(self.home.beginning, 0))
        words = self.wordings.vocabulary(newcomer, nobody, tokens_of(inputs)) if self.wordings else None
        worker.assemble(model, self.first_private(newcomer, words))
        return worker.logits(inputs, words)

    def vocabulary(self, seat: Seat, *read: Inputs) -> Vocabulary | None:
        """Return a client's numbering of its words, and of those it meets in further rows it only reads."""
        if self.wordings is None:
            return None
        begin, end = self.clients.starts[seat.block], self.clients.starts[seat.block + 1]
        met = np.concatenate([tokens_of(rows).ravel() for rows in read]) if read else None
        return self.wordings.vocabulary(seat, tokens_of(self.rows.inputs)[begin:end], met)

    def first_private(self, seat: Seat, words: Vocabulary | None) -> Arrays:
        """Return the private parameters a client begins with."""
        first = {name: array.copy() for name, array in self._first(self.home.beginning).items() if name in self.split.private}
        if words is not None and self.wordings is not None:
            first[_TABLE] = self.wordings.start(seat, words.units)
        return first

    def private_of(self, seat: Seat, words: Vocabulary | None, before: int) -> Arrays:
        """Return the client's private parameters as its last round before `before` left them.

        Rows of words that were added since (words met only in tests) stand at their first values.
        """
        stored = self.store.read(seat.name, before)
        return self.first_private(seat, words) if stored is None else self.grown(seat, words, stored)

    def grown(self, seat: Seat, words: Vocabulary | None, private: Arrays) -> Arrays:
        """Return private parameters in which every word has a row."""
        if words is None or self.wordings is None:
            return private
        return {**private, _TABLE: self.wordings.grown(seat, private[_TABLE], words.units)}

    def _first(self, draws: Draws) -> Arrays:
        if draws in self._firsts:
            return self._firsts[draws]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of(draws))
            made = {name: one.detach().numpy().copy() for name, one in self._make().named_parameters()}
        if self.wordings is not None:
            made["words.shared"] = self.wordings.shared_start(draws.at("words"))
        self._firsts = {draws: made}
        return made


class PartialWorker(OneByOne):
    """One module, filled with the shared parameters and one client's private ones at a time."""

    def __init__(self, learner: PartialLearner) -> None:
        torch.set_num_threads(1)
        self.learner = learner
        self.module = copy.deepcopy(learner.module)
        self.flat = torch.empty(learner.size)
        self._everybodys: tuple[Vector, Figures] | None = None
        self.named = dict(self.module.named_parameters())
        start = 0
        for name in learner.split.shared:
            one = self.named[name]
            one.data = self.flat[start : start + one.numel()].view_as(one)
            start += one.numel()
        self.parts = Parts(*([self.named[name] for name in names] for names in learner.split))

    def assemble(self, model: Vector, private: Arrays) -> None:
        """Fill the module."""
        self.flat.copy_(torch.from_numpy(model))
        for name, array in private.items():
            self.named[name].data = torch.from_numpy(array.copy())

    def train(self, model: Vector, seat: Seat, draws: Draws, round_no: int = 1) -> Update:
        """Return the shared part's update after the client's local steps; its private part stays in its store."""
        words = self.learner.vocabulary(seat)
        private = self.learner.private_of(seat, words, round_no)
        self.assemble(model, private)
        self._local_half(seat, words, draws)
        update = (self.flat.detach() - torch.from_numpy(model)).numpy()
        kept = {name: self.named[name].detach().numpy().copy() for name in self.learner.split.private}
        self.learner.store.write(seat.name, round_no, kept)
        return WholeUpdate(update)

    def assembled(self, model: Vector, seat: Seat, round_no: int, tests: Tests) -> Figures:
        """Return how the shared part does with the client's own part, as it stood before `round_no`."""
        words = self.learner.vocabulary(seat, tests.common.inputs, tests.of(seat).inputs)
        private = self.learner.private_of(seat, words, round_no)
        self.assemble(model, private)
        if any(array.size for array in private.values()):
            return self._figures(seat, words, tests, self._on_common(words, tests))
        if self._everybodys is None or self._everybodys[0] is not model:  # the same for all: nothing stays with anybody
            self._everybodys = (model, self._on_common(words, tests))
        return self._figures(seat, words, tests, self._everybodys[1])

    def trained(self, model: Vector, seat: Seat, draws: Draws, round_no: int, tests: Tests) -> Figures:
        """Return how the client's model does after the training it would do in `round_no`; nothing is kept."""
        words = self.learner.vocabulary(seat)
        self.assemble(model, self.learner.private_of(seat, words, round_no))
        self._local_half(seat, words, draws)
        wider = self.learner.vocabulary(seat, tests.common.inputs, tests.of(seat).inputs)
        kept = {name: self.named[name].detach().numpy() for name in self.learner.split.private}
        for name, array in self.learner.grown(seat, wider, kept).items():
            self.named[name].data = torch.from_numpy(array)
        return self._figures(seat, wider, tests, self._on_common(wider, tests))

    def logits(self, inputs: Inputs, words: Vocabulary | None) -> NDArray[np.float32]:
        """Return logits of the assembled model in evaluation mode."""
        self.module.eval()
        parts = []
        with torch.no_grad():
            for some in batches_of(inputs, _PREDICT_ROWS):
                parts.append(self.module(*_numbered(some, words)).reshape(-1, self.learner.outputs))
        self.module.train()
        return torch.cat(parts).numpy().astype(np.float32) if parts else np.zeros((0, self.learner.outputs), np.float32)

    def _local_half(self, seat: Seat, words: Vocabulary | None, draws: Draws) -> None:
        learner = self.learner
        base, end = int(learner.clients.starts[seat.block]), int(learner.clients.starts[seat.block + 1])

        def batch(rows: NDArray[np.int64]) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
            inputs = _numbered(batch_of(learner.rows.inputs, base + rows), words)
            return inputs, torch.from_numpy(learner.rows.labels[base + rows].astype(np.int64))

        self.module.train()
        torch.manual_seed(seed_of(draws))
        local_half(Training(self.module, learner.local, learner.home.private, batch), self.parts, end - base, draws)

    def _on_common(self, words: Vocabulary | None, tests: Tests) -> Figures:
        """Return how the model, as it is filled, does on the common test rows."""
        return tests.measure(self.logits(tests.common.inputs, words), tests.common.labels)

    def _figures(self, seat: Seat, words: Vocabulary | None, tests: Tests, on_common: Figures) -> Figures:
        """Return how the model, as it is filled, does on the client's own rows, beside how it does on the common ones."""
        own = tests.of(seat)
        right = tests.measure(self.logits(own.inputs, words), own.labels)["accuracy"] if len(own) else float("nan")
        return {**on_common, "local_accuracy": right}


def split_names(module: nn.Module, private: plan.Private) -> Split:
    """Return which parameters travel and which stay; raise a PlanError if a pattern fits none or none is left to share."""
    names = [name for name, _ in module.named_parameters()]
    declared: tuple[str, ...] = getattr(module, "private_parameters", ())
    declared = declared if private.words == "all" or "words.private" not in declared else (_TABLE,)
    for pattern in private.parameters:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise PlanError(
                f"private.parameters: {pattern!r} needs to fit a parameter of the model, got none of {', '.join(names)}"
            )
    kept = tuple(name for name in names if any(fnmatchcase(name, pattern) for pattern in (*declared, *private.parameters)))
    shared = tuple(name for name in names if name not in kept)
    if not shared:
        raise PlanError("private.parameters: needs to leave parameters to share, got all of them; use regime = 'local_only'")
    return Split(shared, kept)


def tokens_of(inputs: Inputs) -> NDArray[np.int32]:
    """Return the token numbers of rows, without what stands beside them."""
    words = inputs.tokens if isinstance(inputs, Mixed) else inputs
    assert isinstance(words, Dense)
    assert words.tokens
    return words.matrix


def _numbered(batch: tuple[torch.Tensor, ...], words: Vocabulary | None) -> tuple[torch.Tensor, ...]:
    """Return a batch in the client's own word numbers, cut to its longest row; what stands beside the words stays."""
    if words is None:
        return batch
    rows = torch.from_numpy(words.rows)[batch[0]]
    longest = int((rows != 0).sum(1).max()) if rows.numel() else 1
    return rows[:, : max(1, longest)], *batch[1:]


def _wordings(model: plan.Model, home: Home) -> Wordings | None:
    if home.lexicon is None or not isinstance(model, plan.Worded):
        return None
    vectors = home.lexicon.vectors
    if vectors is None:
        assert isinstance(model, plan.BiLSTM), "a checkpoint has vectors"
        return Wordings(home.private, home.lexicon, model.embedding, home.buckets)
    width = vectors.shape[1]
    if isinstance(model, plan.BiLSTM) and width != model.embedding:
        raise PlanError(f"model.embedding: needs {width}, the width of the public vectors; got {model.embedding}")
    return Wordings(home.private, home.lexicon, width, home.buckets)
