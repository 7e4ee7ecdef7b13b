"""Early stopping for the central baseline, so that a run is compared with the best model that
pooling gives.

Without this, an overfitted baseline would make every run look better than it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit import server
from tacit.protocol.loop import Evaluation, History
from tacit.protocol.round import State
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Vector
from tacit.simulation.evaluate import OneModel

_SHARE, _MOST, _FEWEST = 0.1, 5000, 50
_MODEL, _BEST, _LAST = "kept_model", "kept_at", "last_figures"


def hold_rows_out(rows: Rows, clients: Clients, draws: Draws) -> tuple[Rows, Rows] | None:
    """Split off a tenth of the rows in random order (at most 5,000) for validation; None if there
    are fewer than 50 rows.
    """
    order = clients.order[draws.generator().permutation(len(clients.order))]
    if len(order) < _FEWEST:
        return None
    count = min(_MOST, round(_SHARE * len(order)))
    return rows.take(order[count:]), rows.take(order[:count])


def give_to_one_client(rows: Rows) -> Clients:
    """One client that has all these rows."""
    return Clients(order=np.arange(len(rows)), starts=np.array([0, len(rows)]))


def read_kept_model(evaluated: History) -> Vector | None:
    """The model with the best validation loss, if one was chosen."""
    found = evaluated.get(_MODEL)
    return None if found is None else found.astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class EarlyStopped:
    """Wraps an evaluator and remembers the model with the lowest loss on the validation rows."""

    inside: OneModel
    validation: Rows

    def after_round(self, model: Vector, state: State, history: History) -> Evaluation:
        """The metrics on the test rows, if this round is evaluated; only validation rows decide
        which model is kept.
        """
        found = self.inside.after_round(model, state, history)
        if not found.metrics:
            return found
        loss = server.compute_loss(
            self.inside.learner.predict(model, self.validation.inputs), self.validation.labels
        )
        figures = np.array([found.metrics[name] for name in sorted(found.metrics)])
        remembered = {**history, _LAST: figures}
        if _BEST not in history or loss < history[_BEST][0]:
            # Kept as float64, as all of a history is; float32 values survive that to the bit.
            remembered |= {
                _BEST: np.array([loss, state.round_no]),
                _MODEL: model.astype(np.float64),
            }
        return Evaluation(metrics=found.metrics, entries=found.entries, history=remembered)

    def at_the_end(self, model: Vector, rounds: int, history: History) -> Evaluation:
        """The metrics of the kept model, those of the last pass (`last_…`), and which pass was
        kept.
        """
        found = self.inside.at_the_end(model, rounds, history)
        if _BEST not in history:
            return found
        kept = self.inside.figures(model)
        last = {
            f"last_{name}": float(value)
            for name, value in zip(sorted(kept), history[_LAST], strict=True)
        }
        return Evaluation(
            metrics={**kept, **last, "kept_round": float(history[_BEST][1])}, entries=found.entries
        )
