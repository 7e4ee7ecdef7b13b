"""A model that Tacit exported, in scikit-learn. Needs scikit-learn, safetensors and the files
next to this one; not Tacit.

from pipeline import pipeline
print(pipeline.predict([{"review": "a good film"}]))
"""

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer

HERE = Path(__file__).parent


class RowFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows as the numbers that the model reads: words of texts, scaled numbers, categories.

    Nothing is fitted: training did that. Rows are dicts of columns, or a pandas or polars frame.
    """

    def __init__(self, folder: str = str(HERE)) -> None:
        self.folder = folder

    def fit(self, rows: Any, labels: Any = None) -> "RowFeatures":
        """Do nothing."""
        return self

    def transform(self, rows: Any) -> Any:
        """Encode rows as a sparse matrix."""
        folder = Path(self.folder)
        config, tensors = _read(folder)
        found = runpy.run_path(str(folder / "rows.py"))["encode"](_dicts(rows), folder)
        parts = (
            [_words(found["words"], found["weights"], len(tensors["text"]))]
            if "words" in found
            else []
        )
        if "numbers" in found:
            parts.append(
                sparse.csr_matrix(_scale(found["numbers"], tensors, config["numbers"]["said"]))
            )
        for place, one in enumerate(config["categories"]):
            parts.append(_category(found["codes"][:, place], len(one["known"]), one["onehot"]))
        matrix = sparse.hstack(parts, format="csr").astype(np.float64)
        if config["row_length"]:
            norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
            matrix = (
                sparse.diags_array(config["row_length"] / np.where(norms > 0, norms, 1.0)) @ matrix
            )
        return sparse.csr_matrix(matrix)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config, load_file(str(folder / "model.safetensors"))


def _dicts(rows: Any) -> list[dict[str, Any]]:
    if hasattr(rows, "to_dicts"):
        return list(rows.to_dicts())
    return list(rows.to_dict("records")) if hasattr(rows, "to_dict") else list(rows)


def _words(words: Any, weights: Any, width: int) -> Any:
    lines = np.repeat(np.arange(len(words)), words.shape[1])
    return sparse.csr_matrix((weights.ravel(), (lines, words.ravel())), shape=(len(words), width))


def _scale(numbers: Any, scale: dict[str, Any], said: list[int]) -> Any:
    cut = np.minimum(np.maximum(numbers, scale["numbers.least"]), scale["numbers.greatest"])
    moved = (
        scale["numbers.at_low"]
        + (cut - scale["numbers.low"]) / scale["numbers.span"] * scale["numbers.rise"]
    )
    unknown = np.isnan(numbers)
    known = np.where(unknown, scale["numbers.missing"], moved).astype(np.float32)
    return np.hstack([known, unknown[:, said].astype(np.float32)])


def _category(codes: Any, count: int, onehot: bool) -> Any:
    if not onehot:
        return sparse.csr_matrix((np.maximum(codes, 0) / max(count - 1, 1))[:, None])
    known = np.flatnonzero(codes >= 0)
    return sparse.csr_matrix(
        (np.ones(len(known)), (known, codes[known])), shape=(len(codes), count)
    )


def _estimator(config: dict[str, Any], tensors: dict[str, Any]) -> Any:
    """Build a LogisticRegression, or an MLPClassifier if there are hidden layers, with the model's
    weights.
    """
    first, bias = (
        np.concatenate([tensors["text"], tensors["dense"]]).astype(np.float64),
        tensors["bias"].astype(np.float64),
    )
    classes = np.array(config["classes"])
    if not config["layers"]:
        linear = LogisticRegression()
        linear.classes_, linear.n_features_in_, linear.n_iter_ = classes, len(first), np.array([0])
        linear.coef_, linear.intercept_ = first.T.copy(), bias
        return linear
    layers = [
        (tensors[f"layers.{place}.weight"], tensors[f"layers.{place}.bias"])
        for place in range(config["layers"])
    ]
    deep = MLPClassifier(
        hidden_layer_sizes=tuple(weight.shape[1] for weight, _ in layers), activation="relu"
    )
    deep.coefs_ = [first, *(weight.T.astype(np.float64) for weight, _ in layers)]
    deep.intercepts_ = [bias, *(own.astype(np.float64) for _, own in layers)]
    deep.n_layers_, deep.n_outputs_, deep.n_features_in_ = (
        len(layers) + 2,
        len(layers[-1][1]),
        len(first),
    )
    deep.out_activation_, deep.classes_ = "softmax" if len(classes) > 2 else "logistic", classes
    deep._label_binarizer = LabelBinarizer().fit(classes)
    return deep


def load(folder: Path = HERE) -> Pipeline:
    """Load the model of a folder that Tacit exported, as a Pipeline: features, then an estimator
    with the model's weights.
    """
    return Pipeline(
        [("features", RowFeatures(str(folder))), ("model", _estimator(*_read(Path(folder))))]
    )


def __getattr__(name: str) -> Any:
    """Build `pipeline` on first use."""
    if name != "pipeline":
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
    return load()
