"""What each column of a table is for, guessed from its name and its cells, with the reason."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tacit.data.column_kinds import BLANKS, Kind, kind_of, numbers_the_rows, without_blanks
from tacit.data.label_leaks import told_by
from tacit.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

Role = Literal["label", "client", "split", "text", "numeric", "categorical", "left out"]

LABEL_WORDS = (
    "label", "labels", "target", "class", "y", "sentiment", "category", "outcome", "diagnosis", "topic", "spam", "churn",
    "survived",
)  # fmt: skip
WEAK_LABEL_WORDS = ("species", "income", "result", "rating", "stars", "verdict", "quality", "type", "status", "response")
"""Labels if they are the whole name; as part of one ("blood type") they mean nothing."""
CLIENT_WORDS = {
    "user", "client", "patient", "hospital", "site", "device", "owner", "customer", "author", "member", "participant", "subject",
    "speaker", "account", "clinic", "ward", "school", "branch", "store", "sensor", "phone", "person", "tenant", "household",
    "guest", "visitor", "reviewer", "reader", "buyer", "seller", "student", "pupil", "teacher", "employee", "driver", "player",
}  # fmt: skip
ID_WORDS = {"id", "ids", "uuid", "guid", "index", "idx", "key", "nr", "no", "number", "row", "rowid", "unnamed"}
REPEATING_ID_WORDS = {"id", "ids", "uuid", "guid"}
MOST_CLASSES = 100
MOST_CATEGORIES = 50
_FEWEST_PER_CLASS = 2


@dataclass(frozen=True, kw_only=True)
class Guess:
    """One column's role and why."""

    column: str
    role: Role
    why: str


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """What the cells show of one column."""

    name: str
    words: tuple[str, ...]
    kind: Kind
    filled: int
    distinct: int
    words_per_cell: float
    letters_per_cell: float
    numbers_rows: bool

    @property
    def unique(self) -> bool:
        return self.filled > 1 and self.distinct == self.filled


def guess_roles(frame: pl.DataFrame, label: str | None = None) -> list[Guess]:
    """Return a guess for each column, in the table's order; raise DataError if nothing can be the label or an input."""
    facts = [_look(frame[name]) for name in frame.columns]
    usable = [one for one in facts if 1 <= len(one.name) <= 200 and one.filled > 0]
    chosen = {
        one.name: Guess(column=one.name, role="split", why="it marks train and test rows") for one in usable if _splits(frame, one)
    }
    named = _with_odd_classes(frame, _label([one for one in usable if one.name not in chosen], label))
    owner = _client([one for one in usable if one.name not in (*chosen, named.column)])
    chosen |= {one.column: one for one in (named, owner) if one}
    found = [chosen.get(one.name) or _echo(frame, one.name, named.column) or _input(one) for one in facts]
    found = [_with_leak(frame, one, named.column) for one in found]
    if not any(one.role in ("text", "numeric", "categorical") for one in found):
        left = "; ".join(f"{one.column!r}: {one.why}" for one in found if one.role == "left out")
        raise DataError(
            f"no column can be learned from ({left or 'there is only the label'}); the table needs text or numbers beside it"
        )
    return found


def _look(column: pl.Series) -> _Facts:
    cells = without_blanks(column)
    kind = kind_of(cells)
    words = cells if kind == "text" else None
    return _Facts(
        name=column.name,
        words=_words(column.name),
        kind=kind,
        filled=len(cells),
        distinct=cells.n_unique() if kind != "other" else len(cells),
        words_per_cell=_mean(words.str.split(" ").list.len()) if words is not None else 0.0,
        letters_per_cell=_mean(words.str.len_chars()) if words is not None else 0.0,
        numbers_rows=kind == "number" and numbers_the_rows(cells),
    )


def _splits(frame: pl.DataFrame, one: _Facts) -> bool:
    if one.kind != "text" or not 2 <= one.distinct <= 4:
        return False
    marks = {str(mark).strip().lower() for mark in frame[one.name].drop_nulls().unique()}
    return {"train", "test"} <= marks


def _mean(values: pl.Series) -> float:
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else 0.0


def _words(name: str) -> tuple[str, ...]:
    """Return a column name's words in lower case: "patientId" and "patient_id" are patient, id."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[^\W\d_]+", spaced.lower()))


def _label(facts: list[_Facts], wanted: str | None) -> Guess:
    if wanted is not None:
        names = [one.name for one in facts]
        if wanted not in names:
            raise DataError(f"label = {wanted!r}: no such column; there are {', '.join(names)}.{did_you_mean(wanted, names)}")
        return _asked_for(next(one for one in facts if one.name == wanted))
    able = [one for one in facts if one.kind != "time" and 2 <= one.distinct <= MOST_CLASSES and one.distinct < one.filled]
    for words, whole in ((LABEL_WORDS, True), (LABEL_WORDS, False), (WEAK_LABEL_WORDS, True)):
        for word, one in itertools.product(words, able):
            if (one.words == (word,)) if whole else (word in one.words):
                return Guess(column=one.name, role="label", why=f"its name says {word}; {one.distinct} classes")
    few = [one for one in reversed(able) if one.distinct <= 20]
    for one in few:
        if not CLIENT_WORDS & set(one.words):
            place = "last column with" if one is facts[-1] else "column nearest the end with"
            return Guess(column=one.name, role="label", why=f"{place} few values: {one.distinct}")
    if few:  # texts of two authors, say: with nothing else to predict, who wrote them is what one wants to know
        return Guess(column=few[0].name, role="label", why=f"no other column has few values: {few[0].distinct} classes")
    for one in facts:
        if set(LABEL_WORDS) & set(one.words):
            _asked_for(one)  # says what is wrong with it
    columns = ", ".join(one.name for one in facts)
    raise DataError(
        f"no column looks like a label (2 to {MOST_CLASSES} values that repeat); say which with --label; there are {columns}"
    )


def _asked_for(one: _Facts) -> Guess:
    """Return the label somebody named, with what is odd about its classes; raise DataError if it can be none."""
    who = f"label = {one.name!r}"
    if one.distinct < 2:
        raise DataError(f"{who}: has the same value in every row, so there is nothing to predict; name another column with --label")
    if one.kind == "time":
        raise DataError(f"{who}: holds dates or times, and a label needs classes; name another column with --label")
    if one.kind == "number" and one.distinct > MOST_CLASSES:
        raise DataError(
            f"{who}: holds {one.distinct:,} different numbers, and classes are predicted, not amounts; cut it into ranges first"
        )
    each = one.filled / one.distinct
    if each < _FEWEST_PER_CLASS:
        raise DataError(
            f"{who}: has {one.distinct:,} classes in {one.filled:,} rows, too few rows of each to learn from; join classes, or "
            "name another column with --label"
        )
    many = f"; {one.distinct:,} classes with {each:,.0f} rows each on average: expect low accuracy"
    return Guess(column=one.name, role="label", why="you said so" + (many if one.distinct > MOST_CLASSES else ""))


def _with_odd_classes(frame: pl.DataFrame, named: Guess) -> Guess:
    """Return the label's guess with a warning if cells such as "n/a" would count as a class."""
    import polars as pl

    cells = frame[named.column].cast(pl.String).str.strip_chars().unique().drop_nulls()
    odd = sorted(cell for cell in cells if cell and cell.lower() in BLANKS)
    warning = f"; {', '.join(odd)} counts as a class: empty such cells to leave their rows out" if odd else ""
    return replace(named, why=named.why + warning)


def _client(facts: list[_Facts]) -> Guess | None:
    named = [one for one in facts if CLIENT_WORDS & set(one.words) and one.kind in ("text", "number")]
    repeating = [one for one in named if 2 <= one.distinct <= one.filled / 2]
    if not repeating:
        return None
    # Of several owners the one with an id is meant, then the finest.
    best = max(repeating, key=lambda one: (bool(ID_WORDS & set(one.words)), one.distinct))
    word = next(word for word in best.words if word in CLIENT_WORDS)
    return Guess(column=best.name, role="client", why=f"its name says {word}, and values repeat: {best.distinct} owners")


def _echo(frame: pl.DataFrame, column: str, label: str) -> Guess | None:
    """Return that a column is left out if it is the label under other names: learning from it would be cheating."""
    values = frame[column].n_unique()
    if values < 2 or values != frame[label].n_unique() or frame.select(column, label).n_unique() != values:
        return None
    return Guess(column=column, role="left out", why=f"it says the same as the label {label}")


def _with_leak(frame: pl.DataFrame, guess: Guess, label: str) -> Guess:
    """Return the guess with a warning if the column tells the label almost alone; nobody but the owner knows whether it may."""
    told = told_by(frame, guess.column, label) if guess.role in ("numeric", "categorical") else None
    if told is None:
        return guess
    warning = f"WARNING: alone it tells the label of {100 * told:.0f} % of the rows; leave it out if nobody knows it beforehand"
    return replace(guess, why=f"{guess.why}; {warning}")


def _input(one: _Facts) -> Guess:
    role, why = _input_role(one)
    return Guess(column=one.name, role=role, why=why)


def _input_role(one: _Facts) -> tuple[Role, str]:
    reason = _useless(one)
    if reason:
        return "left out", reason
    if one.kind == "number":
        return "numeric", "numbers"
    if one.kind == "truth":
        return "categorical", "true or false"
    if one.words_per_cell >= 4 or one.letters_per_cell >= 40 or (one.words_per_cell >= 2 and one.distinct > one.filled / 2):
        return "text", f"{one.words_per_cell:.0f} words per cell"
    if one.distinct <= MOST_CATEGORIES and one.distinct <= max(2, one.filled / 2):
        return "categorical", f"{one.distinct} different values"
    return "left out", f"{one.distinct} different values in {one.filled} cells: rather a name than a category"


def _useless(one: _Facts) -> str:
    """Return why a column teaches nothing, or nothing if it may."""
    if not one.name or len(one.name) > 200:
        return "it has no usable name"
    if one.filled == 0:
        return "it is empty"
    if one.distinct == 1:
        return "every cell is the same"
    if one.kind == "time":
        return "dates and times are not used"
    if one.kind == "other":
        return "neither text nor numbers"
    if ID_WORDS & set(one.words) and one.distinct > one.filled / 2 and one.words_per_cell < 2:
        return "an id: another value in each row" if one.unique else "an id: another value in most rows"
    if set(one.words) & CLIENT_WORDS and set(one.words) & ID_WORDS:
        return "an id of a person or device"
    if set(one.words) & REPEATING_ID_WORDS:
        return f"an id with {one.distinct} values; if it says who owns a row, make it the client column"
    if one.numbers_rows:
        return "it numbers the rows"
    return ""
