"""A classifier that clients train together, with scikit-learn's habits."""

from __future__ import annotations

import secrets
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit import report
from tacit.models.estimators.errors import EstimatorValueError, translate_errors
from tacit.models.estimators.matrices import assign_rows, to_inputs
from tacit.models.estimators.settings import build_plan
from tacit.randomness import Draws
from tacit.rows import Rows
from tacit.simulation.numbers import Numbers, train_numbers


class FederatedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier trained by simulated clients, each of whom is promised the same.

    `privacy` is a preset: "private" (noise on sums), "no_trust" (noise by each client), or "none".
    `epsilon` and `delta` are per run for each client; without them, the preset's own. `codec` and
    `model` are a name or a table of `tacit`, such as "onebit" or `tacit.MLP(hidden=[50])`; `model`
    may be an nn.Module too. `rounds` and `learning_rate` (of the server) have defaults that suit.
    `random_state=None` takes a new seed at each fit.

    After `fit`: `classes_`, `n_features_in_`, `n_clients_`, `plan_`, and `privacy_`, what the
    clients were promised, in words. It is about this one fit: a step before it that is fitted on
    rows reads them in the clear, and a search over parameters costs as much as all its fits
    together.
    """

    def __init__(
        self,
        privacy: str = "private",
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        codec: Any = None,
        model: Any = "logistic",
        rounds: int | None = None,
        learning_rate: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.privacy = privacy
        self.epsilon = epsilon
        self.delta = delta
        self.codec = codec
        self.model = model
        self.rounds = rounds
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any, clients: Any = None) -> Self:
        """Return the estimator, trained.

        `clients` says who holds each row: one name per row, or how many clients the rows are dealt
        to at random. Without it each row is a client of its own, so that the promise is about one
        row.
        """
        with translate_errors("FederatedClassifier.fit"):
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
            check_classification_targets(y)
            self.classes_, labels = np.unique(y, return_inverse=True)
            if len(self.classes_) < 2:
                raise EstimatorValueError(
                    "FederatedClassifier.fit needs rows of two classes or more, got one class"
                )
            seed = self._seed()
            inputs, who = (
                to_inputs(X),
                assign_rows(clients, len(y), Draws.seeded(seed).at("partition")),
            )
        asked, module = self.get_params(deep=False), None
        if hasattr(self.model, "state_dict"):
            asked, module = {**asked, "model": "logistic"}, self.model
        plan = build_plan(asked, seed=seed, clients=len(who), hashed=not hasattr(inputs, "matrix"))
        rows = Rows(
            inputs=inputs, labels=labels.astype(np.int32), classes=tuple(map(str, self.classes_))
        )
        self._trained_ = train_numbers(plan, Numbers(rows=rows, clients=who), module)
        self.plan_, self.n_clients_ = plan, len(who)
        self.privacy_ = report.summarise(self._trained_.entries).privacy.statement
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return one line per row with the probability of each class, as `classes_` orders them."""
        with translate_errors("FederatedClassifier.predict"):
            check_is_fitted(self)
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return self._trained_.probabilities(to_inputs(X))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def __sklearn_tags__(self) -> Any:
        """Return that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _seed(self) -> int:
        if self.random_state is None:
            return secrets.randbits(31)
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))
