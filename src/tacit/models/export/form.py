"""A trained model in one form that every format can represent: entries of a row in, one layer after
the other, probabilities out.

Logistic regression, feed-forward nets and pooled embeddings all have this form. A pooled embedding
is linear, so its table and the next layer are multiplied into one first layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Net:
    """The layers: rows of the first layer for each input of the text and of the table, a bias, and
    the layers after a ReLU.
    """

    text: Matrix
    dense: Matrix
    bias: NDArray[np.float32]
    layers: tuple[tuple[Matrix, NDArray[np.float32]], ...]  # weights by output, biases

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The layers as named arrays."""
        named: dict[str, NDArray[Any]] = {"text": self.text, "dense": self.dense, "bias": self.bias}
        for place, (weight, bias) in enumerate(self.layers):
            named |= {f"layers.{place}.weight": weight, f"layers.{place}.bias": bias}
        return named


@dataclass(frozen=True, kw_only=True)
class TextForm:
    """How a text becomes entries: which columns, which words, and the index of each word in the
    first layer.
    """

    columns: tuple[str, ...]
    kind: str  # binary, listed or sequence
    hash: tuple[int, ...]  # further arguments of the rule's `bucket`, after the word
    length: int
    listed: tuple[str, ...]
    weights: tuple[float, ...]  # weight of each listed word or bucket; all equal if empty
    counts: str  # presence, counts or sublinear: what a word adds
    ngrams: int  # largest number of neighbouring words that are hashed together
    characters: tuple[int, ...]  # smallest and largest number of characters of an n-gram, or none
    stop_words: tuple[str, ...]
    rule: str  # the text rule, as Python source with `words` and `bucket`


@dataclass(frozen=True, kw_only=True)
class NumberForm:
    """How numbers are scaled: clipped to a range, then mapped linearly to another one; missing
    numbers have a value too.

    `said` lists the numbers with an additional input, after all numbers, that says whether the
    number is missing.
    """

    names: tuple[str, ...]
    picture: str | None  # a column of pictures whose values these are
    least: NDArray[np.float64]
    greatest: NDArray[np.float64]
    low: NDArray[np.float64]
    span: NDArray[np.float64]
    at_low: NDArray[np.float64]
    rise: NDArray[np.float64]
    missing: NDArray[np.float64]
    said: tuple[int, ...] = ()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The values as named arrays."""
        keys = ("least", "greatest", "low", "span", "at_low", "rise", "missing")
        return {f"numbers.{key}": getattr(self, key) for key in keys}


@dataclass(frozen=True, kw_only=True)
class CategoryForm:
    """Known categories of a column, as one input each or as one number."""

    name: str
    known: tuple[str, ...]
    onehot: bool


@dataclass(frozen=True, kw_only=True)
class ExportForm:
    """A model with its features, as plain values."""

    name: str
    classes: tuple[str, ...]
    net: Net
    text: TextForm | None = None
    numbers: NumberForm | None = None
    categories: tuple[CategoryForm, ...] = ()
    row_length: float | None = None

    def config(self) -> dict[str, Any]:
        """Everything except the arrays as nested plain values, ready for JSON."""
        text, numbers = self.text, self.numbers
        said = (
            "columns",
            "kind",
            "hash",
            "length",
            "listed",
            "weights",
            "counts",
            "ngrams",
            "characters",
            "stop_words",
        )
        return {
            "format": "tacit 1",
            "name": self.name,
            "classes": list(self.classes),
            "text": {key: getattr(text, key) for key in said} if text else None,
            "numbers": _to_dict(numbers) if numbers else None,
            "categories": [
                {"name": one.name, "known": one.known, "onehot": one.onehot}
                for one in self.categories
            ],
            "row_length": self.row_length,
            "layers": len(self.net.layers),
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Every array by name, each contiguous: safetensors would write the memory behind a view,
        not the view.
        """
        found = {**self.net.tensors(), **(self.numbers.tensors() if self.numbers else {})}
        return {name: np.ascontiguousarray(array) for name, array in found.items()}


def _to_dict(numbers: NumberForm) -> dict[str, Any]:
    return {
        "names": numbers.names,
        "picture": numbers.picture,
        "count": len(numbers.low),
        "said": numbers.said,
    }


def build_net(tensors: Mapping[str, NDArray[Any]], text_inputs: int, constant: float) -> Net:
    """Build the layers of a stored model whose first `text_inputs` inputs belong to the text; a
    constant input becomes a bias.
    """
    pooled = "table.weight" in tensors
    head = "head." if pooled else ""
    layers: list[tuple[NDArray[Any], NDArray[Any]]] = []
    while (name := f"{head}layers.{len(layers)}") + ".weight" in tensors:
        weight = tensors[f"{name}.weight"].astype(np.float64)
        layers.append(
            (weight, tensors.get(f"{name}.bias", np.zeros(len(weight))).astype(np.float64))
        )
    first, bias = layers[0][0].T, layers[0][1]
    if pooled:
        table = tensors["table.weight"].astype(np.float64)
        first = np.concatenate([table @ first[: table.shape[1]], first[table.shape[1] :]])
    if constant:
        first, bias = first[:-1], bias + constant * first[-1]
    return Net(
        text=_float32(first[:text_inputs]),
        dense=_float32(first[text_inputs:]),
        bias=_float32(bias),
        layers=tuple((_float32(weight), _float32(own)) for weight, own in layers[1:]),
    )


def _float32(array: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(array, np.float32)
