"""Guess the column to predict: classes, one per row. Amounts and several classes in a cell are
detected and refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.data.roles.column_facts import ColumnFacts
from tacit.data.roles.column_kinds import BLANKS, drop_blanks
from tacit.data.roles.column_words import (
    LABEL_WORDS,
    TAG_WORDS,
    WEAK_LABEL_WORDS,
    find_owner_word,
    names_amounts,
    names_measurements,
)
from tacit.data.roles.guess import Guess
from tacit.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

MOST_CLASSES = 100
_FEWEST_PER_CLASS = 2
_FEW = 20
_SEPARATORS = (";", "|", ",", " / ")


def guess_label(frame: pl.DataFrame, facts: Sequence[ColumnFacts], wanted: str | None) -> Guess:
    """Guess the column to predict; raise DataError if there is none, or if it holds amounts or
    several classes in one cell.
    """
    if wanted is not None:
        names = [one.name for one in facts]
        if wanted not in names:
            raise DataError(
                f"label = {wanted!r}: there is no such column; the columns are"
                f" {', '.join(names)}.{did_you_mean(wanted, names)}"
            )
        named = next(one for one in facts if one.name == wanted)
        _refuse_several_classes(frame, [named])
        return _warn_of_odd_classes(frame, _check_wanted_label(named))
    listing = [
        one
        for one in facts
        if {*TAG_WORDS, *LABEL_WORDS} & set(one.words) and holds_several_classes(frame[one.name])
    ]
    others = [one for one in facts if one not in listing]
    if not any(set(LABEL_WORDS) & set(one.words) for one in others):
        _refuse_several_classes(frame, listing)
    found = _find_label(others)
    _refuse_several_classes(frame, [one for one in facts if one.name == found.column])
    return _warn_of_odd_classes(frame, found)


def _find_label(facts: Sequence[ColumnFacts]) -> Guess:
    able = [
        one
        for one in facts
        if one.kind != "time" and 2 <= one.distinct <= MOST_CLASSES and one.distinct < one.filled
    ]
    able = [one for one in able if not _is_amount(one)]
    _refuse_amounts(
        [
            one
            for one in facts
            if _is_amount(one) and len(one.words) == 1 and one.words[0] in LABEL_WORDS
        ]
    )
    for words, whole in ((LABEL_WORDS, True), (LABEL_WORDS, False), (WEAK_LABEL_WORDS, True)):
        for word, one in itertools.product(words, able):
            if (one.words == (word,)) if whole else (word in one.words):
                return _build_guess(one, f"its name says {word}; {one.distinct} classes")
    few = [one for one in reversed(able) if one.distinct <= _FEW]
    best = next(
        (one for one in few if find_owner_word(one.words) is None and one.personal is None), None
    )
    _refuse_amounts(_find_likely_amounts(facts, best))
    if best is not None:
        place = "last column with" if best is facts[-1] else "column nearest the end with"
        return _build_guess(best, f"{place} few values: {best.distinct}")
    # texts of two authors, say: with nothing else to predict, who wrote them is what one wants to
    # know
    if few:
        return _build_guess(few[0], f"no other column has few values: {few[0].distinct} classes")
    for one in facts:
        if set(LABEL_WORDS) & set(one.words):
            _check_wanted_label(one)  # says what is wrong with it
    columns = ", ".join(one.name for one in facts)
    raise DataError(
        f"no column looks like a label (2 to {MOST_CLASSES} values that repeat); name it with"
        f" --label; the columns are {columns}"
    )


def _build_guess(one: ColumnFacts, why: str) -> Guess:
    shown = (
        f"; anybody can read the classes in the model, and {one.personal.why}"
        if one.personal
        else ""
    )
    return Guess(column=one.name, role="label", why=why + shown)


def _is_amount(one: ColumnFacts) -> bool:
    """Whether a column holds many different numbers, as amounts do."""
    return (
        one.kind == "number"
        and not one.numbers_rows
        and (one.distinct > MOST_CLASSES or (one.has_fractions and one.distinct > _FEW))
    )


def _find_likely_amounts(
    facts: Sequence[ColumnFacts], best: ColumnFacts | None
) -> list[ColumnFacts]:
    """Find columns of amounts that are a likelier label than `best`, whose only evidence is its few
    values.
    """
    last = facts[-1]
    amounts = [one for one in facts if _is_amount(one)]
    if best is last and best.distinct == 2:
        return []
    strong = [one for one in amounts if names_amounts(one.words, strongly=True)]
    if strong or best is last:
        return strong
    if last in amounts and (names_amounts(last.words) or _is_last_amount_likely(facts, best)):
        return [last]
    return [last] if last in amounts and best is None else []


def _is_last_amount_likely(facts: Sequence[ColumnFacts], best: ColumnFacts | None) -> bool:
    """Whether the last column, of amounts, is a likelier label than an earlier column of few
    values.
    """
    prose = any(one.words_per_cell >= 4 for one in facts)
    return not prose and not names_measurements(facts[-1].words) and best is not facts[0]


def _refuse_amounts(amounts: Sequence[ColumnFacts]) -> None:
    if not amounts:
        return
    one = amounts[0]
    raise DataError(
        f"{one.name!r} seems to be the subject of this table, and it holds {one.distinct:,}"
        " different numbers: an amount. Only classes are predicted, amounts not yet. Cut it into"
        " ranges first (a new column with low, middle and high, say), or name a column of classes"
        " with --label"
    )


def _refuse_several_classes(frame: pl.DataFrame, facts: Sequence[ColumnFacts]) -> None:
    for one in facts:
        if holds_several_classes(frame[one.name]):
            raise DataError(
                f"{one.name!r} seems to be the label, and its cells hold several classes at once;"
                " one class per row is predicted. Make a column with yes and no for each class, or"
                " keep one class in each cell, and name it with --label"
            )


def holds_several_classes(column: pl.Series) -> bool:
    """Whether cells list several classes: lists, or text in which the same parts recur in other
    combinations.
    """
    import polars as pl

    if isinstance(column.dtype, pl.List | pl.Array):
        return True
    cells = drop_blanks(column)
    if cells.dtype != pl.String:
        return False
    values = cells.unique().str.strip_chars("[](){}")
    return any(_recombines(values, separator) for separator in _SEPARATORS)


def _recombines(values: pl.Series, separator: str) -> bool:
    """Whether parts of values recur in other values, as in "a;b", "b;c", "a"."""
    import polars as pl

    split = values.str.split(separator)
    several = int((split.list.len() > 1).sum())
    if several < 3 or several < len(values) / 5 or float(values.str.len_chars().mean() or 0) > 60:  # type: ignore[arg-type]
        return False
    parts = split.list.eval(pl.element().str.strip_chars(" '\"")).explode()
    counts = parts.value_counts()
    return counts.height < len(values) * 2 and int((counts["count"] > 1).sum()) >= max(
        2, counts.height / 2
    )


def _check_wanted_label(one: ColumnFacts) -> Guess:
    """Check the label that the user named, and note odd classes; raise DataError if it cannot be
    one.
    """
    who = f"label = {one.name!r}"
    if one.distinct < 2:
        raise DataError(
            f"{who} has the same value in every row, so there is nothing to predict; name another"
            " column with --label"
        )
    if one.kind == "time":
        raise DataError(
            f"{who} holds dates or times, and a label must hold classes; name another column with"
            " --label"
        )
    if one.kind == "number" and one.distinct > MOST_CLASSES:
        raise DataError(
            f"{who} holds {one.distinct:,} different numbers, and only classes can be predicted;"
            " cut it into ranges first"
        )
    each = one.filled / one.distinct
    if each < _FEWEST_PER_CLASS:
        raise DataError(
            f"{who} has {one.distinct:,} classes in {one.filled:,} rows, too few rows of each to"
            " learn from; join classes, or name another column with --label"
        )
    many = f"; {one.distinct:,} classes with {each:,.0f} rows each on average: expect low accuracy"
    return _build_guess(one, "you named it" + (many if one.distinct > MOST_CLASSES else ""))


def _warn_of_odd_classes(frame: pl.DataFrame, named: Guess) -> Guess:
    """Add a warning to the guess if cells such as "n/a" would count as a class."""
    import polars as pl

    cells = frame[named.column].cast(pl.String).str.strip_chars().unique().drop_nulls()
    odd = sorted(cell for cell in cells if cell and cell.lower() in BLANKS)
    warning = (
        f"; {', '.join(odd)} counts as a class: empty such cells to leave their rows out"
        if odd
        else ""
    )
    return replace(named, why=named.why + warning)
