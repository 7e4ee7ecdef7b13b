"""A federated classifier as a scikit-learn estimator."""

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
    """A classifier trained by simulated clients, each with the same privacy guarantee.

    `privacy` is a preset: "private" (noise on sums), "no_trust" (noise by each client), or "none".
    `epsilon` and `delta` are per run for each client; without them, the preset's own. `codec` and
    `model` are a name or a table of `tacit`, such as "onebit" or `tacit.MLP(hidden=[50])`; `model`
    may be an nn.Module too. `rounds` and `learning_rate` (of the server) have suitable defaults.
    `random_state=None` uses a new seed at each fit.

    After `fit`: `classes_`, `n_features_in_`, `n_clients_`, `plan_`, and `privacy_`, the privacy
    statement. It is about this one fit. A preceding step that is fitted on rows reads them in the
    clear, and the privacy loss of a parameter search is that of all its fits together.
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
        """Train the classifier.

        `clients` assigns rows to clients: one name per row, or a number of clients to which rows
        are assigned at random. Without it each row is a client of its own, so that the guarantee is
        about one row.
        """
        with translate_errors("FederatedClassifier.fit"):
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32)
            check_classification_targets(y)
            self.classes_, labels = np.unique(y, return_inverse=True)
            if len(self.classes_) < 2:
                raise EstimatorValueError(
                    "FederatedClassifier.fit: y must have at least two classes, got one class"
                )
            seed = self._seed()
            inputs, who = (
                to_inputs(X),
                assign_rows(clients, len(y), Draws.seeded(seed).at("partition")),
            )
        asked, module = self.get_params(deep=False), None
        if hasattr(self.model, "state_dict"):
            asked, module = {**asked, "model": "logistic"}, self.model
        with translate_errors("FederatedClassifier.fit"):
            plan = build_plan(
                asked, seed=seed, clients=len(who), hashed=not hasattr(inputs, "matrix")
            )
        rows = Rows(
            inputs=inputs, labels=labels.astype(np.int32), classes=tuple(map(str, self.classes_))
        )
        self._trained_ = train_numbers(plan, Numbers(rows=rows, clients=who), module)
        self.plan_, self.n_clients_ = plan, len(who)
        self.privacy_ = report.summarise(self._trained_.entries).privacy.statement
        return self

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class, one line per row, in the order of `classes_`."""
        with translate_errors("FederatedClassifier.predict"):
            check_is_fitted(self)
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return self._trained_.probabilities(to_inputs(X))

    def predict(self, X: Any) -> Any:
        """Predict the most probable class of each row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def __sklearn_tags__(self) -> Any:
        """Declare that sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _seed(self) -> int:
        if self.random_state is None:
            return secrets.randbits(31)
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))
