"""Converts a stored model to the form that other formats share, or says why that is impossible."""

from __future__ import annotations

import inspect
from dataclasses import replace
from importlib import import_module

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import RunError
from tacit.features.text.listed_words import compute_rarity
from tacit.features.text.stop_words import list_stop_words
from tacit.models import export
from tacit.models.predict import StoredModel
from tacit.plan import Layered
from tacit.rows import Dense, Inputs, Mixed, Sparse

_MISSING = "(missing)"
_FARTHEST = float(np.finfo(np.float64).max)


def build_form(model: StoredModel, to: str) -> export.ExportForm:
    """Convert a model to a form; raise RunError if the format cannot represent it."""
    _refuse(model, to)
    text = _build_text_form(model)
    constant = (
        model.settings.constant
        if not isinstance(model.encode(_build_probe_rows(model, 1)), Mixed)
        else 0.0
    )
    inputs = count_text_inputs(model)
    return export.ExportForm(
        name=model.name,
        classes=model.classes,
        net=export.build_net(model.learner.tensors(model.vector), inputs, constant),
        text=text,
        numbers=_build_number_form(model, inputs),
        categories=tuple(
            export.CategoryForm(
                name=name,
                known=model.fitted.categories[name],
                onehot=model.settings.categorical == "onehot",
            )
            for name in model.roles.categorical
        ),
        row_length=model.settings.row_norm,
    )


def _refuse(model: StoredModel, to: str) -> None:
    why = ""
    if not isinstance(model.network, Layered) or "layers" not in "".join(
        model.learner.tensors(model.vector)
    ):
        why = (
            f"model.name = {model.network.name!r}: it supports logistic regression, feed-forward"
            " nets and pooled embeddings"
        )
    elif model.settings.quantise is not None:
        why = "columns that features.quantise turns into channels"
    elif model.settings.has_encoder and model.roles.text:
        why = "texts that are read by a frozen encoder"
    elif model.sources.reader is not None or model.fitted.projection is not None:
        why = "images that are read by a frozen network or a projection"
    if why:
        raise RunError(f"export to {to!r} cannot represent {why}; use --to safetensors")


def count_text_inputs(model: StoredModel) -> int:
    """Number of inputs of the first layer that belong to the text."""
    if not model.roles.text:
        return 0
    if model.settings.text == "listed":
        return len(model.fitted.words)
    return model.settings.buckets + (model.settings.text == "sequence")


def _build_text_form(model: StoredModel) -> export.TextForm | None:
    settings = model.settings
    if not model.roles.text:
        return None
    any_script = settings.words == "unicode"
    listed = model.fitted.words if settings.text == "listed" else ()
    return export.TextForm(
        columns=model.roles.text,
        kind=settings.text,
        hash=(settings.buckets,) if any_script else (settings.base, settings.buckets),
        length=settings.length,
        listed=listed,
        weights=(
            tuple(compute_rarity(len(listed), settings.rarity).tolist())
            if listed and settings.rarity
            else model.fitted.weights
        ),
        counts=settings.counts,
        ngrams=settings.ngrams,
        characters=settings.characters,
        stop_words=list_stop_words() if settings.stop_words else (),
        rule=inspect.getsource(
            import_module(f"tacit.features.text.{'scripts' if any_script else 'spelling'}")
        ),
    )


def _build_number_form(model: StoredModel, skip: int) -> export.NumberForm | None:
    """Find how numbers are scaled, by encoding both ends of each range and a missing cell."""
    names, ranges = model.roles.numeric, model.fitted.ranges
    if model.roles.image:
        count = model.fitted.pixels or 0
        ends = np.array([[0.0, 255.0]] * count)
        return _build_scaling(
            (),
            model.roles.image,
            ends,
            np.array([[0.0] * count, [1.0] * count, [0.0] * count]),
            clamps=True,
        )
    if not names:
        return None
    ends = np.array([ranges.get(name, (0.0, 1.0)) for name in names], np.float64)
    probe = _build_probe_rows(model, 3).with_columns(
        pl.Series(name, [*ends[place], None], dtype=pl.Float64) for place, name in enumerate(names)
    )
    plain = replace(model, settings=replace(model.settings, row_norm=None, constant=0.0))
    seen = to_matrix(plain.encode(probe))[:, skip : skip + len(names)].astype(np.float64)
    said = tuple(names.index(name) for name in model.fitted.missing)
    return replace(_build_scaling(names, None, ends, seen, clamps=bool(ranges)), said=said)


def _build_scaling(
    names: tuple[str, ...],
    picture: str | None,
    ends: NDArray[np.float64],
    seen: NDArray[np.float64],
    clamps: bool,
) -> export.NumberForm:
    low, high = ends[:, 0], ends[:, 1]
    flat = ~(low < high)
    return export.NumberForm(
        names=names,
        picture=picture,
        least=low if clamps else np.full(len(low), -_FARTHEST),
        greatest=np.maximum(low, high) if clamps else np.full(len(low), _FARTHEST),
        low=low,
        span=np.where(flat, 1.0, high - low),
        at_low=seen[0],
        rise=np.where(flat, 0.0, seen[1] - seen[0]),
        missing=seen[2],
    )


def _build_probe_rows(model: StoredModel, rows: int) -> pl.DataFrame:
    """Rows in which all cells are missing."""
    roles = model.roles
    cells: dict[str, pl.Series] = {name: pl.Series([""] * rows) for name in roles.text}
    cells |= {name: pl.Series([None] * rows, dtype=pl.Float64) for name in roles.numeric}
    cells |= {name: pl.Series([_MISSING] * rows) for name in roles.categorical}
    cells |= (
        {roles.image: pl.Series(np.zeros((rows, model.fitted.pixels or 1), np.uint8))}
        if roles.image
        else {}
    )
    return pl.DataFrame(cells)


def to_matrix(inputs: Inputs) -> NDArray[np.float32]:
    """Convert encoded rows to a full matrix; word sequences become the share of each word in its
    row.
    """
    if isinstance(inputs, Mixed):
        return np.hstack([to_matrix(inputs.tokens), to_matrix(inputs.dense)])
    if isinstance(inputs, Sparse):
        full = np.zeros((len(inputs), inputs.width), np.float32)
        where = np.repeat(np.arange(len(inputs)), np.diff(inputs.starts))
        full[where, inputs.columns] = 1.0 if inputs.values is None else inputs.values
        return full
    if not inputs.tokens:
        return np.asarray(inputs.matrix, np.float32)
    return _compute_shares(inputs)


def _compute_shares(tokens: Dense) -> NDArray[np.float32]:
    full = np.zeros((len(tokens), tokens.width), np.float32)
    real = tokens.matrix != tokens.width - 1
    where = np.nonzero(real)[0]
    np.add.at(
        full,
        (where, tokens.matrix[real]),
        (1 / np.maximum(1, real.sum(axis=1))).astype(np.float32)[where],
    )
    return full
