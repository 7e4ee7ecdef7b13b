"""Guess the column of row owners by its name in several languages, and by its shape: one value per
person, several rows each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tacit.data.roles.column_facts import ColumnFacts
from tacit.data.roles.column_words import ID_WORDS, REPEATING_ID_WORDS, find_owner_word, is_person
from tacit.data.roles.guess import Guess
from tacit.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

_FEWEST, _FILLED = 10, 0.9
"""A column with fewer values, or many empty cells, is not taken for the owner unless its name says
so.
"""
_NO_OWNERS = frozenset({"dates of birth", "street addresses"})


class OwnerColumn(NamedTuple):
    """The owner column, if one was found, and other candidates."""

    guess: Guess | None
    others: tuple[str, ...] = ()


def guess_owner(
    frame: pl.DataFrame, facts: Sequence[ColumnFacts], wanted: str | None
) -> OwnerColumn:
    """Guess the column of owners; raise DataError if `wanted` cannot be one.

    Of several equivalent columns, the one with an id is chosen; of patients and their
    hospital, patients. Where two columns name different people, such as buyers and sellers, the
    other one is among `others`.
    """
    if wanted is not None:
        return OwnerColumn(_check_wanted_owner(frame, facts, wanted))
    able = [one for one in facts if one.repeats and _names_somebody(one)]
    named = [one for one in able if find_owner_word(one.words)]
    people = [one for one in named if is_person(str(find_owner_word(one.words)))]
    shaped = [
        one
        for one in able
        if one.personal and one.personal.what not in _NO_OWNERS and one.distinct >= _FEWEST
    ]
    shaped = [one for one in shaped if one.filled >= _FILLED * frame.height]
    pool = list({one.name: one for one in (*people, *shaped)}.values()) or named
    if not pool:
        unclear = [
            one
            for one in able
            if one.personal or one.has_ids or REPEATING_ID_WORDS & set(one.words)
        ]
        return OwnerColumn(
            None,
            tuple(
                one.name
                for one in unclear
                if not one.personal or one.personal.what not in _NO_OWNERS
            ),
        )
    best = max(
        pool,
        key=lambda one: (
            bool(ID_WORDS & set(one.words)) and one in named,
            one in named,
            one.distinct,
        ),
    )
    others = tuple(
        one.name for one in pool if one is not best and not _follows(frame, best.name, one.name)
    )
    return OwnerColumn(Guess(column=best.name, role="client", why=_explain_owner(best)), others)


def _names_somebody(one: ColumnFacts) -> bool:
    return (one.kind == "text" and (one.words_per_cell < 4 or one.personal is not None)) or (
        one.kind == "number" and not one.has_fractions
    )


def _explain_owner(one: ColumnFacts) -> str:
    word = find_owner_word(one.words)
    counted = f"{one.distinct:,} owners with {one.filled / one.distinct:.0f} rows each on average"
    if word:
        return f"its name says {word}, and values repeat: {counted}"
    assert one.personal is not None, "an owner is found by name or by shape"
    return f"{one.personal.why}, and values repeat: {counted}"


def _follows(frame: pl.DataFrame, finer: str, other: str) -> bool:
    """Whether each value of one column occurs with one value of the other: the same people, or a
    group they belong to.
    """
    pairs = frame.select(finer, other).drop_nulls().unique()
    return pairs.height <= 1.05 * pairs[finer].n_unique()


def _check_wanted_owner(frame: pl.DataFrame, facts: Sequence[ColumnFacts], wanted: str) -> Guess:
    one = next((one for one in facts if one.name == wanted), None)
    if one is None:
        names = ", ".join(frame.columns)
        raise DataError(
            f"client = {wanted!r}: there is no such column, or it is the label or empty; the"
            f" columns are {names}.{did_you_mean(wanted, list(frame.columns))}"
        )
    if one.distinct < 2:
        raise DataError(
            f"client = {wanted!r} has the same value in every row, so there would be one client;"
            " name another column"
        )
    return Guess(column=wanted, role="client", why=f"you named it; {one.distinct:,} owners")
