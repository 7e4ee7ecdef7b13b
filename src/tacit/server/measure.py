"""How good the model is on the test rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import f1_score, roc_auc_score


def measure(logits: NDArray[np.float32], labels: NDArray[np.int32]) -> dict[str, float]:
    """Return auc, accuracy, f1 and loss of predictions: one logit per row for two classes, else one per class.

    AUC and F1 are macro averages over classes when there are more than two; AUC then compares each class with the
    rest, over the classes that occur. Edge case: a test set with a single class has AUC 0.5 by definition.
    """
    exact: NDArray[np.float64] = logits.astype(np.float64)
    if exact.shape[1] == 1:
        return _two_classes(exact[:, 0], labels)
    return _many_classes(exact, labels)


def loss(logits: NDArray[np.float32] | NDArray[np.float64], labels: NDArray[np.int32]) -> float:
    """Return the mean cross-entropy of predictions, as `measure` does, without the other figures."""
    exact: NDArray[np.float64] = logits.astype(np.float64)
    if exact.shape[1] == 1:
        return float((np.logaddexp(0.0, exact[:, 0]) - labels * exact[:, 0]).mean())
    log_share = exact - np.logaddexp.reduce(exact, axis=1, keepdims=True)
    return float(-log_share[np.arange(len(labels)), labels].mean())


def by_class(guess: NDArray[np.int64], labels: NDArray[np.int32], classes: int) -> dict[str, list[int]]:
    """Return for each class how many rows are of it, how many were taken for it, and how many of these rightly.

    Counts rather than shares: precision and recall follow from them, and so does how sure one can be of either.
    """
    right = guess[guess == labels]
    counts = {"rows": labels, "predicted": guess, "right": right}
    return {name: np.bincount(values, minlength=classes).tolist() for name, values in counts.items()}


def _two_classes(logit: NDArray[np.float64], labels: NDArray[np.int32]) -> dict[str, float]:
    guess = (logit > 0).astype(np.int32)
    return {
        "auc": float(roc_auc_score(labels, logit)) if 0 < labels.mean() < 1 else 0.5,
        "accuracy": float((guess == labels).mean()),
        "f1": float(f1_score(labels, guess, zero_division=0.0)),
        "loss": loss(logit[:, None], labels),
    }


def _many_classes(logits: NDArray[np.float64], labels: NDArray[np.int32]) -> dict[str, float]:
    log_share = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    guess = logits.argmax(axis=1)
    return {
        "auc": _mean_auc(log_share, labels),
        "accuracy": float((guess == labels).mean()),
        "f1": float(f1_score(labels, guess, average="macro", zero_division=0.0)),
        "loss": loss(logits, labels),
    }


def _mean_auc(scores: NDArray[np.float64], labels: NDArray[np.int32]) -> float:
    """Return the mean AUC of each class that occurs against the rest, from ranks: all classes are sorted in one call."""
    ranks, aucs = rankdata(scores, axis=0), []
    for label in range(scores.shape[1]):
        ours = labels == label
        count, others = int(ours.sum()), int((~ours).sum())
        if count and others:
            aucs.append((ranks[ours, label].sum() - count * (count + 1) / 2) / (count * others))
    return float(np.mean(aucs)) if aucs else 0.5
