"""The compiled path: logistic regression and feed-forward nets of any widths, on sparse or dense rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.draws import Draws
from tacit.local import kernels
from tacit.local.layout import Layout
from tacit.local.schedule import batch_ends, row_order
from tacit.rows import Clients, Dense, Inputs, Rows, Sparse, Vector

_OPTIMIZERS = {"sgd": kernels.SGD, "adam": kernels.ADAM, "adamw": kernels.ADAMW}
_PREDICT_ROWS = 2048


class Arrays:
    """Inputs in the one form the kernels read: a sparse triple or a matrix, the other left empty."""

    def __init__(self, inputs: Inputs) -> None:
        sparse = isinstance(inputs, Sparse)
        self.starts = inputs.starts if isinstance(inputs, Sparse) else np.empty(0, np.int64)
        self.columns = inputs.columns if isinstance(inputs, Sparse) else np.empty(0, np.int32)
        values = inputs.values if isinstance(inputs, Sparse) else None
        self.values = np.empty(0, np.float32) if values is None else values
        self.matrix = np.empty((0, 0), np.float32) if sparse else _matrix(inputs)

    def all(self) -> tuple[Any, Any, Any, Any]:
        """Return the arrays in the kernels' order."""
        return self.starts, self.columns, self.values, self.matrix


def _matrix(inputs: Inputs) -> NDArray[np.float32]:
    assert isinstance(inputs, Dense)
    return np.ascontiguousarray(inputs.matrix, np.float32)


class CompiledLearner:
    """A feed-forward net over every client's rows."""

    parallel: Literal["threads", "processes"] = "threads"
    personal = False

    def __init__(self, model: plan.Model, local: plan.Local, rows: Rows, clients: Clients) -> None:
        outputs = 1 if len(rows.classes) <= 2 else len(rows.classes)
        pooled = model.name == "embedding"
        widths = (rows.inputs.width, *((model.embedding,) if pooled else ()), *model.hidden, outputs)
        self.layout = Layout(widths, pooled)
        self.size = self.layout.size
        self.local = local
        self.clients = clients
        self.labels = rows.labels
        self.named, self.named_starts, own = _own_columns(_flat(rows.inputs), clients, everything=local.weight_decay > 0)
        self.arrays = Arrays(own)

    def initial(self, draws: Draws) -> Vector:
        """Return Glorot-uniform weights and zero biases."""
        return self.layout.initial(draws)

    def worker(self) -> CompiledWorker:
        """Return a worker with buffers of its own."""
        return CompiledWorker(self)

    def named_by(self, client: int) -> NDArray[np.int32]:
        """Return the first-layer rows a client touches."""
        if self.named_starts is None:
            return self.named
        return self.named[self.named_starts[client] : self.named_starts[client + 1]]

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits, two threads sharing the rows (each row's result is independent of how they are shared)."""
        arrays, widths = Arrays(_flat(inputs)).all(), np.array(self.layout.widths)
        logits = np.empty((len(inputs), widths[-1]), np.float32)

        def some(first: int) -> None:
            kernels.predict_rows(model, widths, self.layout.pooled, *arrays, first, logits[first : first + _PREDICT_ROWS])

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(some, range(0, len(inputs), _PREDICT_ROWS)))
        return logits

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the model as named arrays."""
        return self.layout.tensors(model)


class CompiledWorker:
    """Buffers for one thread: the client's net, gradient, moments and its update."""

    def __init__(self, learner: CompiledLearner) -> None:
        self.learner = learner
        self.width = learner.layout.widths[1]
        self.update = np.zeros(learner.size, np.float32)
        self.last = np.empty(0, np.int32)
        self.buffers = np.empty((5, 0), np.float32)

    def train(self, model: Vector, client: int, draws: Draws, round_no: int = 1) -> OwnUpdate:
        """Return the client's update after its local steps from `model`."""
        learner, layout, local = self.learner, self.learner.layout, self.learner.local
        own = learner.named_by(client)
        base, end = int(learner.clients.starts[client]), int(learner.clients.starts[client + 1])
        ends = batch_ends(local, end - base)
        order = row_order(end - base, -(-int(ends[-1]) // (end - base)) if len(ends) else 0, draws.at("shuffle"))
        whole = len(own) == layout.widths[0]
        net, grad, mean, square, anchor = self._buffers(len(own) * self.width + learner.size - layout.first)
        if whole:
            net[:] = model
        else:
            kernels.gather(model, own, self.width, layout.first, net)
        if local.proximal > 0:
            anchor[:] = net
        widths = np.array((len(own), *layout.widths[1:]))
        kernels.train_client(
            net, grad, mean, square, anchor, widths, layout.pooled, *learner.arrays.all(), learner.labels, base, order, ends,
            _OPTIMIZERS[local.optimizer], local.lr, local.weight_decay, local.proximal,
        )  # fmt: skip
        return OwnUpdate(self, model, net, own)

    def _buffers(self, size: int) -> NDArray[np.float32]:
        if self.buffers.shape[1] < size:
            # Gradients start at zero and every step leaves them so; the first step sets the moments.
            self.buffers = np.zeros((5, size), np.float32)
        return self.buffers[:, :size]

    def spread(self, model: Vector, net: Vector, own: NDArray[np.int32]) -> Vector:
        """Return what changed from `model` to a client's `net`, laid out over the whole model."""
        if len(own) == self.learner.layout.widths[0]:
            np.subtract(net, model, out=self.update)
        else:
            kernels.clear_rows(self.update, self.last, self.width)
            kernels.difference(model, own, self.width, self.learner.layout.first, net, self.update)
        self.last = own
        return self.update


class OwnUpdate:
    """A client's own rows after training; laid out over the whole model only when asked, for encoding."""

    def __init__(self, worker: CompiledWorker, model: Vector, net: Vector, own: NDArray[np.int32]) -> None:
        self._worker, self._model, self._net, self._own = worker, model, net, own

    @property
    def row(self) -> Vector:
        """Return the change as one flat row, in the worker's buffer."""
        return self._worker.spread(self._model, self._net, self._own)

    @property
    def touched(self) -> NDArray[np.int64] | None:
        """Return the spans of the client's own rows and of everything after the first layer."""
        layout, width, own = self._worker.learner.layout, self._worker.width, self._own
        if len(own) == layout.widths[0]:
            return None
        spans = np.empty(2 * len(own) + 2, np.int64)
        spans[0:-2:2] = own.astype(np.int64) * width
        spans[1:-2:2] = spans[0:-2:2] + width
        spans[-2:] = layout.first, layout.size
        return spans


def _flat(inputs: Inputs) -> Inputs:
    """Return token sequences as sparse rows whose entries are each word's share of the row; other inputs as they are.

    The mean of a row's word embeddings is then just this sparse row times the table. Padding is the last index.
    """
    if isinstance(inputs, Sparse) or not inputs.tokens:
        return inputs
    real = inputs.matrix != inputs.width - 1
    lengths = real.sum(axis=1)
    values = np.repeat((1 / np.maximum(1, lengths)).astype(np.float32), lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Sparse(starts=starts, columns=inputs.matrix[real].astype(np.int32), values=values, width=inputs.width)


def _own_columns(inputs: Inputs, clients: Clients, everything: bool) -> tuple[NDArray[np.int32], NDArray[np.int64] | None, Inputs]:
    """Return the columns each client names, ascending, and the inputs renumbered to the client's own columns.

    Dense inputs name every column, and so does weight decay, which moves weights no row names. A client that names more
    than half of all columns is treated as naming them all: copying whole is then cheaper than picking.
    """
    if isinstance(inputs, Dense) or everything:
        return np.arange(inputs.width, dtype=np.int32), None, inputs
    own, scratch = np.empty_like(inputs.columns), np.zeros(inputs.width, np.int32)
    kept, starts = [], np.zeros(len(clients) + 1, np.int64)
    everyone = np.arange(inputs.width, dtype=np.int32)
    for client in range(len(clients)):
        begin, end = inputs.starts[clients.starts[client]], inputs.starts[clients.starts[client + 1]]
        named = kernels.named_columns(inputs.columns[begin:end], scratch)
        if 2 * len(named) > inputs.width:
            named = everyone
        kernels.renumber(inputs.columns[begin:end], named, scratch, own[begin:end])
        kept.append(named)
        starts[client + 1] = starts[client] + len(named)
    renumbered = Sparse(starts=inputs.starts, columns=own, values=inputs.values, width=inputs.width)
    return np.concatenate(kept) if kept else everyone[:0], starts, renumbered
