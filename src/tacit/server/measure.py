"""Model evaluation on the test rows, in numpy, because scikit-learn's metrics take a second or more
to load.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST_LOSS = 1e39
"""The loss of a model that diverged beyond what numbers can hold: a record has finite numbers only."""


def measure(logits: NDArray[np.float32], labels: NDArray[np.int32]) -> dict[str, float]:
    """Compute auc, accuracy, f1 and loss of predictions: one logit per row for two classes, else
    one per class.

    AUC and F1 are macro averages over classes when there are more than two; AUC then compares each
    class with the rest, over the classes that occur. Edge case: a test set with a single class has
    AUC 0.5 by definition. Of logits that are NaN or infinite every metric is finite, and the loss is
    at most `LARGEST_LOSS`.
    """
    exact = _bound_logits(logits)
    found = (
        _measure_two_classes(exact[:, 0], labels)
        if exact.shape[1] == 1
        else _measure_many_classes(exact, labels)
    )
    return {**found, "loss": compute_loss(logits, labels)}


def compute_loss(
    logits: NDArray[np.float32] | NDArray[np.float64], labels: NDArray[np.int32]
) -> float:
    """Compute the mean cross-entropy of predictions, without the other metrics of `measure`."""
    if np.isnan(logits).any():
        return LARGEST_LOSS
    exact = _bound_logits(logits)
    if exact.shape[1] == 1:
        return float((np.logaddexp(0.0, exact[:, 0]) - labels * exact[:, 0]).mean())
    log_share = exact - np.logaddexp.reduce(exact, axis=1, keepdims=True)
    return float(-log_share[np.arange(len(labels)), labels].mean())


def _bound_logits(logits: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float64]:
    largest = float(np.finfo(np.float32).max)
    return np.nan_to_num(logits.astype(np.float64), nan=0.0, posinf=largest, neginf=-largest)


def predict_classes(logits: NDArray[np.float32]) -> NDArray[np.int64]:
    """The most probable class of each row: one logit per row for two classes, else one per class."""
    return (logits[:, 0] > 0).astype(np.int64) if logits.shape[1] == 1 else logits.argmax(axis=1)


def count_by_class(
    guess: NDArray[np.int64], labels: NDArray[np.int32], classes: int
) -> dict[str, list[int]]:
    """Count for each class its rows, its predictions, and its correct predictions.

    Counts rather than shares: precision, recall and their confidence intervals follow from them.
    """
    right = guess[guess == labels]
    counts = {"rows": labels, "predicted": guess, "right": right}
    return {
        name: np.bincount(values, minlength=classes).tolist() for name, values in counts.items()
    }


def _measure_two_classes(logit: NDArray[np.float64], labels: NDArray[np.int32]) -> dict[str, float]:
    guess = (logit > 0).astype(np.int32)
    return {
        "auc": _compute_auc(logit, labels == 1),
        "accuracy": float((guess == labels).mean()),
        "f1": _compute_f1(guess, labels, 2)[-1],
    }


def _measure_many_classes(
    logits: NDArray[np.float64], labels: NDArray[np.int32]
) -> dict[str, float]:
    log_share = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    guess = logits.argmax(axis=1)
    return {
        "auc": float(
            np.mean(
                [_compute_auc(log_share[:, label], labels == label) for label in np.unique(labels)]
            )
        ),
        "accuracy": float((guess == labels).mean()),
        "f1": float(np.mean(_compute_f1(guess, labels, logits.shape[1]))),
    }


def _compute_f1(guess: NDArray[np.integer], labels: NDArray[np.int32], classes: int) -> list[float]:
    """The F1 score of each class that occurs as label or prediction; of two classes always that of
    the second, last.
    """
    counts = count_by_class(guess.astype(np.int64), labels, classes)
    every = zip(counts["rows"], counts["predicted"], counts["right"], strict=True)
    found = [2 * right / (rows + predicted) for rows, predicted, right in every if rows + predicted]
    return found if classes > 2 or counts["rows"][1] + counts["predicted"][1] else [*found, 0.0]


def _compute_auc(scores: NDArray[np.float64], ours: NDArray[np.bool_]) -> float:
    """The probability that a row of the class scores above another row, ties counting half; 0.5 if
    either kind is missing.
    """
    count, others = int(ours.sum()), int((~ours).sum())
    if not count or not others:
        return 0.5
    _, place, equal = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(equal) - (equal - 1) / 2)[place]
    return float((ranks[ours].sum() - count * (count + 1) / 2) / (count * others))
