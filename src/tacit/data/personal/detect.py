"""Detect columns of personal data by their cells, then by their name, so that nobody's address
becomes a category of a model.

Everything is decided on distinct values, so that one busy person does not decide for all. No value
is kept or reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.data.personal.codes import are_handles
from tacit.data.personal.names import are_names
from tacit.data.personal.shapes import SHAPES
from tacit.data.roles.column_kinds import detect_kind, drop_blanks
from tacit.data.roles.column_words import (
    find_owner_word,
    find_personal_word,
    is_person,
    names_things,
    split_set,
    split_words,
)
from tacit.errors import DataError

if TYPE_CHECKING:
    import polars as pl

    from tacit.plan import Columns

_LOOKED_AT = 1000
_LONGEST, _MOST_WORDS = 120, 12
_TELLING, _USUAL = 0.2, 0.6
_FEW = 20
"""Up to this many short values under a name such as "email" may be categories, such as yes and no.
"""
_CERTAIN = frozenset(
    {"e-mail addresses", "IBANs", "UUIDs", "hashes", "IP addresses", "addresses of devices (MAC)"}
)
"""Shapes that no other data has: a fifth of the values is enough."""
_LIKE_THINGS = frozenset({"IP addresses", "licence plates"})
"""Shapes that program versions and product codes share."""


@dataclass(frozen=True, kw_only=True)
class Personal:
    """The kind of personal data in a column, as a plural, and the evidence."""

    what: str
    why: str


def find_personal(column: pl.Series) -> Personal | None:
    """Detect the personal data in a column; None if there is none."""
    import polars as pl

    cells = drop_blanks(column)
    kind = detect_kind(cells)
    if kind in ("truth", "other", "time") or not len(cells):
        return _find_by_name_alone(column.name) if kind == "time" else None
    whole = kind == "number" and cells.dtype.is_float() and bool((cells == cells.round()).all())
    values = (
        (cells.cast(pl.Int64, strict=False) if whole else cells)
        .cast(pl.String)
        .drop_nulls()
        .unique(maintain_order=True)
    )
    looked = [
        value
        for value in values.head(_LOOKED_AT).to_list()
        if len(value) <= _LONGEST and len(value.split()) <= _MOST_WORDS
    ]
    if len(looked) < _USUAL * min(len(values), _LOOKED_AT):
        return None  # prose: what is written in it is no category
    return _find_by_shape(looked, column.name, kind == "number") or _find_by_name(
        looked, column.name
    )


def _find_by_shape(values: Sequence[str], name: str, numbers: bool) -> Personal | None:
    counts: dict[str, int] = {}
    for value in values:
        what = next(
            (
                shape.what
                for shape in SHAPES
                if shape.pattern.fullmatch(value) and shape.holds(value)
            ),
            None,
        )
        if what:
            counts[what] = counts.get(what, 0) + 1
    words = split_words(name)
    for what, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        enough = _TELLING if what in _CERTAIN or find_personal_word(words) else _USUAL
        if what in _LIKE_THINGS and names_things(words):
            continue
        if what == "IP addresses" and _are_versions(values):
            continue
        if (
            count >= enough * len(values)
            and (count >= 3 or what in _CERTAIN)
            and not (numbers and count < 0.9 * len(values))
        ):
            return Personal(what=what, why=f"its cells look like {what}")
    owner = find_owner_word(words)
    named = find_personal_word(words) in _NAMES or (
        "name" in words and owner is not None and is_person(owner)
    )
    named |= set(words) <= _NAME and len(values) >= _FEW and all(" " in value for value in values)
    if not numbers and not names_things(words) and are_names(values, named=named):
        return Personal(what="names of people", why="its cells look like names of people")
    if not numbers and not names_things(words) and are_handles(values):
        return Personal(what="user names", why="its cells look like user names")
    return None


def _are_versions(values: Sequence[str]) -> bool:
    """Whether at least a fifth of the dotted numbers cannot be IP addresses, as with program
    versions.
    """
    dotted = [
        value.split(".") for value in values if "." in value and value.replace(".", "").isdecimal()
    ]
    others = sum(len(parts) != 4 or any(int(part or 0) > 255 for part in parts) for parts in dotted)
    return others > 0 and others >= _TELLING * len(dotted)


_NAMES = split_set(
    """
    surname lastname firstname forename fullname vorname nachname familienname prénom prenom apellido apellidos cognome
    sobrenome фамилия имя отчество фио nazwisko imię 姓名 名字 氏名 名前 이름 성명
    """
) | {"first name", "last name", "full name", "family name"}


_NAME = split_set("name nom nombre nome имя اسم الاسم naam namn imię isim")
_BIRTHS = split_set(
    "birthdate birthday dob geburtsdatum geburtstag naissance nacimiento nascita nascimento 生日"
    " 出生日期"
) | {
    "birth date",
    "date birth",
}


def _find_by_name(values: Sequence[str], name: str) -> Personal | None:
    """Personal data by the column's name, unless its values are few and plain."""
    word = find_personal_word(split_words(name))
    marked = sum("@" in value or sum(letter.isdigit() for letter in value) >= 3 for value in values)
    if word is None or (len(values) <= _FEW and marked < _USUAL * len(values)):
        return None
    return Personal(
        what="dates of birth" if word in _BIRTHS else "personal data", why=f"its name says {word}"
    )


def _find_by_name_alone(name: str) -> Personal | None:
    word = find_personal_word(split_words(name))
    return Personal(what="dates of birth", why=f"its name says {word}") if word else None


def check_personal(frame: pl.DataFrame, columns: Columns) -> None:
    """Raise DataError if a categorical column holds personal data or names rows, and the plan does
    not allow it.
    """
    for name in columns.categorical:
        if name in columns.allow_personal:
            continue
        found = find_personal(frame[name])
        if found:
            raise DataError(
                f"data.columns.categorical has {name!r}, and {found.why}: every category can be"
                " read from the model; leave it out, name it as data.columns.client if it says who"
                f" owns a row, or set allow_personal = [{name!r}] in [data.columns] if these are"
                " public"
            )
        _refuse_unique(frame[name])


def _refuse_unique(column: pl.Series) -> None:
    """Raise DataError if nearly every cell has its own value, so that the column identifies rows."""
    cells = drop_blanks(column)
    distinct = cells.n_unique() if detect_kind(cells) == "text" else 0
    if distinct > max(_FEW, len(cells) / 2):
        raise DataError(
            f"data.columns.categorical has {column.name!r}, with {distinct:,} different values in"
            f" {len(cells):,} cells: it identifies rows; read it as data.columns.text, or leave it"
            " out"
        )
