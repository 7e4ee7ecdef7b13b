"""A stored model as a Pipeline of scikit-learn: Tacit's features, then an estimator that has the run's weights."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from tacit import data, export
from tacit.engine.export_form import dense
from tacit.engine.predict import StoredModel, load
from tacit.errors import RunError
from tacit.plan import Layered
from tacit.rows import Sparse


class RunFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows as the numbers a stored model reads; nothing is fitted, since the run did that."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @cached_property
    def _model(self) -> StoredModel:
        return load(Path(self.folder))

    def fit(self, rows: object, labels: object = None) -> RunFeatures:
        """Return the same."""
        return self

    def transform(self, rows: object) -> Any:
        """Return a matrix with one line per row, sparse where most of it is zero."""
        model = self._model
        table, _ = data.new_rows(rows, model.roles)
        inputs = model.encode(data.as_trained(table, model.roles, model.habits, model.fitted.categories)[0])
        if not isinstance(inputs, Sparse):
            return dense(inputs)
        values = np.ones(len(inputs.columns), np.float32) if inputs.values is None else inputs.values
        return sparse.csr_array((values, inputs.columns, inputs.starts), shape=(len(inputs), inputs.width))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def pipeline_of(folder: Path) -> Any:
    """Return the Pipeline of a run's folder or of one that was exported; raise RunError if its network has no such form."""
    model = load(folder)
    if not isinstance(model.network, Layered):
        raise RunError(
            f"export(to='sklearn') needs a logistic regression, a feed-forward net or a pooled embedding, got model.name = "
            f"{model.network.name!r}; use --to safetensors"
        )
    tensors = model.learner.tensors(model.vector)
    inputs = len(tensors["table.weight"]) if "table.weight" in tensors else 0
    net = export.net_of(tensors, inputs, 0.0)
    return Pipeline([("features", RunFeatures(str(folder))), ("model", export.estimator_of(net, model.classes))])
