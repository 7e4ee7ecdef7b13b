"""Encode a table as rows of numbers with labels, in the order of the table."""

from __future__ import annotations

from typing import assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import DataError, PlanError
from tacit.features import image, tabular
from tacit.features.cells import encode_names, read_names
from tacit.features.fitting import AnyReader, Fitted, check_reader, split_reader
from tacit.features.quantise import check_secret, has_quantised_values
from tacit.features.row_norm import (
    append_columns,
    append_constant,
    append_dense,
    scale_dense,
    scale_to_norm,
)
from tacit.features.statistics import check_roles
from tacit.features.text import hashed_text as text
from tacit.features.text.listed_words import encode_listed_words
from tacit.features.text.text_reader import encode_texts
from tacit.plan import Columns, Features
from tacit.rows import Dense, Inputs, Mixed, Rows, Sparse


def encode(
    frame: pl.DataFrame,
    columns: Columns,
    settings: Features,
    fitted: Fitted,
    secret: bytes = b"",
    reader: AnyReader | None = None,
) -> Rows:
    """Encode a table's rows and labels."""
    inputs = encode_inputs(frame, columns, settings, fitted, secret, reader)
    return Rows(inputs=inputs, labels=encode_labels(frame, columns, fitted), classes=fitted.classes)


def encode_inputs(
    frame: pl.DataFrame,
    columns: Columns,
    settings: Features,
    fitted: Fitted,
    secret: bytes = b"",
    reader: AnyReader | None = None,
) -> Inputs:
    """Encode a table's rows, without labels, in order; `secret` and `reader` are those used in
    fitting, if any.

    Guarantees: row i of the result depends only on row i of the table, the fitted values and the
    secret.

    Text alone gives Sparse rows (binary, listed), Dense tokens (sequence) or Dense numbers
    (encoder); several text columns are joined by a space. Text with other columns gives Sparse rows
    with values, text first (binary), or Mixed rows (sequence). An encoder's numbers follow the
    words. Without text the rows are Dense, or Sparse if numbers become tokens.
    """
    check_roles(columns, settings)
    check_reader(columns, settings, reader)
    if secret or fitted.secret_check or has_quantised_values(frame, columns, settings):
        check_secret(settings, secret, fitted.secret_check)
    if columns.image:
        inputs: Inputs = _encode_images(frame, columns.image, fitted, reader)
    else:
        inputs = _encode_columns(frame, columns, settings, fitted, secret, reader)
    return scale_rows(inputs, settings)


def scale_rows(inputs: Inputs, settings: Features) -> Inputs:
    """Scale rows to the configured L2 norm and append the configured constant; sequences have
    neither.
    """
    if settings.row_norm is not None and not isinstance(inputs, Mixed):
        inputs = scale_to_norm(inputs, settings.row_norm)
    if settings.constant and not isinstance(inputs, Mixed):
        inputs = append_constant(inputs, settings.constant)
    return inputs


def count_inputs(columns: Columns, settings: Features, fitted: Fitted) -> int:
    """Compute the width of encoded rows without encoding any: numbers per row, or distinct token
    indices.
    """
    check_roles(columns, settings)
    more = int(settings.constant > 0)
    if columns.image:
        return (fitted.image_width or 0) + more
    if columns.text and settings.text == "sequence":
        return settings.buckets + 1
    if columns.text:
        more += count_words(settings, fitted) + fitted.encoder_width
    if columns.numeric or columns.categorical:
        more += tabular.count_slots(columns, settings, fitted)
    return more


def count_words(settings: Features, fitted: Fitted) -> int:
    """Number of inputs that mark words of a text."""
    match settings.word_form:
        case None:
            return 0
        case "listed":
            return len(fitted.words)
        case "binary" | "sequence" | "words" | "pieces":
            return settings.buckets
        case _:
            assert_never(settings.word_form)


def _encode_images(
    frame: pl.DataFrame, name: str, fitted: Fitted, reader: AnyReader | None
) -> Dense:
    matrix = image.read_images(frame, name, fitted.pixels or 0, split_reader(reader)[0])
    if fitted.projection:
        matrix = fitted.projection(matrix)
    return Dense(matrix=matrix, width=matrix.shape[1])


def _encode_columns(
    frame: pl.DataFrame,
    columns: Columns,
    settings: Features,
    fitted: Fitted,
    secret: bytes,
    reader: AnyReader | None,
) -> Inputs:
    words = _encode_text(frame, columns, settings, fitted, reader)
    if words is not None and not (columns.numeric or columns.categorical):
        return words
    entries = tabular.encode_slots(frame, columns, settings, fitted, secret)
    if isinstance(words, Dense) and not words.tokens:
        return append_columns(words, tabular.to_matrix(entries))
    if isinstance(words, Dense):
        return Mixed(tokens=words, dense=tabular.to_matrix(entries))
    if words is None and settings.quantise is not None and settings.quantise.trained_on == "tokens":
        words = tabular.build_empty_text(len(frame))
    return tabular.to_matrix(entries) if words is None else tabular.append_slots(words, entries)


def _encode_text(
    frame: pl.DataFrame,
    columns: Columns,
    settings: Features,
    fitted: Fitted,
    reader: AnyReader | None,
) -> Sparse | Dense | None:
    if not columns.text:
        return None
    words = _encode_words(frame, columns, settings, fitted)
    if not settings.has_encoder:
        return words
    numbers = encode_texts(frame, columns, split_reader(reader)[1], fitted.encoder)
    if words is None:
        return numbers
    words = scale_to_norm(words, 1.0)
    assert isinstance(words, Sparse), "no sequence is joined with an encoder"
    return append_dense(words, scale_dense(numbers, settings.encoder_norm))


def _encode_words(
    frame: pl.DataFrame, columns: Columns, settings: Features, fitted: Fitted
) -> Sparse | Dense | None:
    match settings.word_form:
        case None:
            return None
        case "listed":
            return encode_listed_words(frame, columns, settings, fitted.words)
        case "sequence":
            return text.hash_word_sequence(frame, columns, settings)
        case "binary":
            weights = np.array(fitted.weights, np.float32) if fitted.weights else None
            return text.hash_words(frame, columns, settings, weights)
        case "words" | "pieces":
            raise PlanError(
                f"features.text = {settings.text!r} is read by a word table, not as features; use"
                " another model.name"
            )
        case _:
            assert_never(settings.word_form)


def encode_labels(frame: pl.DataFrame, columns: Columns, fitted: Fitted) -> NDArray[np.int32]:
    """Map each row's label to its class number; classes are public, so an error may name an unknown
    one.
    """
    if columns.label is None:
        raise PlanError("data.columns.label is not set; name the column to predict")
    labels = read_names(frame, columns.label, "label")
    numbers = encode_names(labels, fitted.classes)
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        found = labels[int(unknown[0])]
        got = "an empty cell" if found is None else repr(found)
        raise DataError(
            f"features(label={columns.label!r}): {got} in row {unknown[0]} ({len(unknown)} such"
            f" rows) is none of the training classes {_list_some(fitted.classes)}; drop these rows"
            " or train on that class too"
        )
    return numbers


def _list_some(classes: tuple[str, ...]) -> str:
    return ", ".join(classes[:20]) + (", …" if len(classes) > 20 else "")
