"""Guess the role of each column of a table from its name and its cells, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tacit.column_statistics.common_values import LEAST_CLIENTS, count_required, find_common_values
from tacit.data.clean import to_text
from tacit.data.roles.column_facts import ColumnFacts, look_at_column
from tacit.data.roles.column_words import ID_WORDS, REPEATING_ID_WORDS, find_owner_word, is_person
from tacit.data.roles.guess import Guess, Role, StarterRequest
from tacit.data.roles.guess_label import guess_label
from tacit.data.roles.guess_owner import OwnerColumn, guess_owner
from tacit.data.roles.label_leaks import measure_leak
from tacit.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

MOST_CATEGORIES = 50
_NOTHING = StarterRequest()


@dataclass(frozen=True, kw_only=True)
class ColumnStudy:
    """The guessed role of each column, sentences about the rows, and other candidates for the owner
    column.
    """

    guesses: list[Guess]
    notes: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()


def guess_roles(frame: pl.DataFrame, label: str | None = None) -> list[Guess]:
    """Guess a role for each column, in the table's order; raise DataError if nothing can be the
    label or an input.
    """
    return study_columns(frame, StarterRequest(label=label)).guesses


def study_columns(frame: pl.DataFrame, asked: StarterRequest = _NOTHING) -> ColumnStudy:
    """Guess the role of each column, given what the user stated; raise DataError if nothing can be
    the label or an input.
    """
    _check_texts(frame, asked.text)
    facts = [look_at_column(frame[name]) for name in frame.columns]
    usable = [
        one
        for one in facts
        if 1 <= len(one.name) <= 200 and one.filled > 0 and one.name not in asked.text
    ]
    splits = [
        one.name
        for one in usable
        if _marks_split(frame, one) and one.name not in (asked.label, asked.client)
    ]
    chosen = {
        name: Guess(column=name, role="split", why="it marks train and test rows")
        for name in splits
    }
    chosen |= {name: Guess(column=name, role="text", why="you named it") for name in asked.text}
    named = guess_label(
        frame, [one for one in usable if one.name not in (*chosen, asked.client)], asked.label
    )
    owner = guess_owner(
        frame, [one for one in usable if one.name not in (*chosen, named.column)], asked.client
    )
    chosen |= {one.column: one for one in (named, owner.guess) if one}
    client = owner.guess.column if owner.guess else None
    found = [
        chosen.get(one.name)
        or _find_echo(frame, one.name, named.column)
        or _guess_input(frame, one, client)
        for one in facts
    ]
    found = [_warn_of_leak(frame, one, named.column) for one in found]
    if not any(one.role in ("text", "numeric", "categorical") for one in found):
        left = "; ".join(f"{one.column!r}: {one.why}" for one in found if one.role == "left out")
        raise DataError(
            f"no column can be learned from ({left or 'there is only the label'}); add a column of"
            " text or numbers"
        )
    notes = (*_describe_missing(frame, named.column, client), *_describe_owners(owner, facts))
    return ColumnStudy(guesses=found, notes=notes, owners=owner.others)


def _check_texts(frame: pl.DataFrame, texts: Sequence[str]) -> None:
    for name in texts:
        if name not in frame.columns:
            names = list(frame.columns)
            raise DataError(
                f"text = {name!r}: there is no such column; the columns are"
                f" {', '.join(names)}.{did_you_mean(name, names)}"
            )


def _marks_split(frame: pl.DataFrame, one: ColumnFacts) -> bool:
    if one.kind != "text" or not 2 <= one.distinct <= 4:
        return False
    marks = {str(mark).strip().lower() for mark in frame[one.name].drop_nulls().unique()}
    return {"train", "test"} <= marks


def _describe_missing(frame: pl.DataFrame, label: str, client: str | None) -> list[str]:
    """Describe each kind of row that a run drops."""
    found = []
    for name, what in ((label, "have no label"), (client, "do not say who owns them")):
        lost = to_text(frame[name]).null_count() if name else 0
        if lost:
            found.append(
                f"{lost:,} of {frame.height:,} rows ({lost / frame.height:.0%}) {what} ({name!r} is"
                " empty): they are left out."
            )
    return found


def _describe_owners(owner: OwnerColumn, facts: Sequence[ColumnFacts]) -> list[str]:
    """Say that the owner is unclear, or that each row seems to belong to a different person."""
    listed = " or ".join(f"--client {name!r}" for name in owner.others)
    if owner.guess and owner.others:
        return [
            f"It is unclear who owns a row: {owner.guess.column!r} was taken; if another column"
            f" says it, use {listed}."
        ]
    if owner.guess:
        return []
    if owner.others:
        return [
            f"No column surely says who owns a row; if one does, use {listed}. Without one, rows"
            " are divided among simulated clients."
        ]
    single = next((one for one in facts if one.personal and one.distinct > 0.9 * one.filled), None)
    if single:
        return [
            f"Each row seems to belong to a different person ({single.name!r} is nearly always"
            " different), so rows are divided among clients."
        ]
    return []


def _find_echo(frame: pl.DataFrame, column: str, label: str) -> Guess | None:
    """Leave a column out if it duplicates the label, which would make prediction trivial."""
    values = frame[column].n_unique()
    if (
        values < 2
        or values != frame[label].n_unique()
        or frame.select(column, label).n_unique() != values
    ):
        return None
    return Guess(column=column, role="left out", why=f"it says the same as the label {label}")


def _warn_of_leak(frame: pl.DataFrame, guess: Guess, label: str) -> Guess:
    """Add a warning to the guess if the column almost determines the label; only the owner knows
    whether it may.
    """
    share = (
        measure_leak(frame, guess.column, label)
        if guess.role in ("numeric", "categorical")
        else None
    )
    if share is None:
        return guess
    warning = (
        f"WARNING: it alone determines the label of {100 * share:.0f} % of the rows; leave it out if"
        " nobody knows it beforehand"
    )
    return replace(guess, why=f"{guess.why}; {warning}")


def _guess_input(frame: pl.DataFrame, one: ColumnFacts, client: str | None) -> Guess:
    role, why = _guess_input_role(frame, one, client)
    return Guess(column=one.name, role=role, why=why)


def _guess_input_role(
    frame: pl.DataFrame, one: ColumnFacts, client: str | None
) -> tuple[Role, str]:
    reason = _explain_useless(one)
    if reason:
        return "left out", reason
    if one.kind == "number":
        return "numeric", "numbers"
    if (
        one.words_per_cell >= 4
        or one.letters_per_cell >= 40
        or (one.words_per_cell >= 2 and one.distinct > one.filled / 2)
    ):
        return "text", f"{one.words_per_cell:.0f} words per cell"
    if one.distinct > MOST_CATEGORIES or one.distinct > max(2, one.filled / 2):
        return (
            "left out",
            f"{one.distinct} different values in {one.filled} cells: more like a name than a"
            " category",
        )
    least = count_required(frame, client, LEAST_CLIENTS)
    if 2 * find_common_values(frame, one.name, client, least).rows < one.filled:
        return (
            "left out",
            (
                f"most rows have a value that fewer than {least} {'owners' if client else 'rows'}"
                " share: it could identify people"
            ),
        )
    return "categorical", (
        "true or false" if one.kind == "truth" else f"{one.distinct} different values"
    )


def _explain_useless(one: ColumnFacts) -> str:
    """Explain why a column is useless or must not be used; empty if it may be."""
    if not one.name or len(one.name) > 200:
        return "it has no usable name"
    if one.filled == 0:
        return "it is empty"
    if one.distinct == 1:
        return "every cell is the same"
    if one.personal:
        return f"personal data: {one.personal.why}"
    if one.kind == "time":
        return "dates and times are not used"
    if one.kind == "other":
        return "neither text nor numbers"
    if ID_WORDS & set(one.words) and one.distinct > one.filled / 2 and one.words_per_cell < 2:
        return (
            "an id: a different value in each row"
            if one.unique
            else "an id: a different value in most rows"
        )
    return _explain_owner_column(one)


def _explain_owner_column(one: ColumnFacts) -> str:
    """Explain why a column that names or numbers owners is useless; empty if it does not."""
    owner = find_owner_word(one.words)
    if owner and (
        set(one.words) & ID_WORDS or (is_person(owner) and one.kind == "text" and one.distinct > 2)
    ):
        return "an id of a person or device" if set(one.words) & ID_WORDS else "it names people"
    if set(one.words) & REPEATING_ID_WORDS or (one.has_ids and one.kind == "text"):
        return (
            f"an id with {one.distinct} values; if it says who owns a row, make it the client"
            " column"
        )
    if one.numbers_rows:
        return "it numbers the rows"
    return ""
