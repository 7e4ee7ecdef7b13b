"""The meaning of each model input: the blocks of encoded rows, and the columns that fill them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tacit.features.encoding import count_words
from tacit.features.fitting import Fitted
from tacit.features.quantise import count_inputs_per_column, list_quantised_columns
from tacit.features.statistics import check_roles
from tacit.plan import Columns, Features

Kind = Literal["words", "encoder", "category", "token", "number", "missing", "picture", "constant"]


@dataclass(frozen=True, kw_only=True)
class Block:
    """Inputs start to stop of encoded rows, filled by one column (by all text columns together).

    In a block of words, categories or tokens each input marks presence; in a block of kind
    "missing", a missing number. `cells` names the inputs: listed words or categories; it is empty
    for buckets and tokens, which have no names.
    """

    kind: Kind
    name: str
    start: int
    stop: int
    cells: tuple[str, ...] = ()


def list_blocks(columns: Columns, settings: Features, fitted: Fitted) -> tuple[Block, ...]:
    """List the blocks of rows made by `encode`, without the dense features of a word sequence.

    A sequence has one more input than its block: the padding token.
    """
    check_roles(columns, settings)
    parts: list[tuple[Kind, str, int, tuple[str, ...]]] = []
    if columns.image:
        parts.append(("picture", columns.image, fitted.image_width or 0, ()))
    if columns.text:
        texts = ", ".join(columns.text)
        if settings.word_form:
            parts.append(("words", texts, count_words(settings, fitted), fitted.words))
        if settings.has_encoder:
            parts.append(("encoder", texts, fitted.encoder_width, ()))
    if not (columns.text and settings.text == "sequence"):
        parts += [_describe_number(name, columns, settings) for name in columns.numeric]
        parts += [("missing", name, 1, ()) for name in fitted.missing]
        parts += [_describe_category(name, settings, fitted) for name in columns.categorical]
        parts += [("constant", "constant", 1, ())] if settings.constant else []
    found, start = [], 0
    for kind, name, width, cells in parts:
        found.append(Block(kind=kind, name=name, start=start, stop=start + width, cells=cells))
        start += width
    return tuple(found)


def _describe_number(
    name: str, columns: Columns, settings: Features
) -> tuple[Kind, str, int, tuple[str, ...]]:
    asked = settings.quantise
    if (
        asked is None
        or name not in list_quantised_columns(columns, settings)
        or asked.trained_on != "tokens"
    ):
        return "number", name, 1, ()
    return "token", name, count_inputs_per_column(asked), ()


def _describe_category(
    name: str, settings: Features, fitted: Fitted
) -> tuple[Kind, str, int, tuple[str, ...]]:
    if settings.categorical == "codes":
        return "number", name, 1, ()
    return "category", name, len(fitted.categories[name]), fitted.categories[name]
