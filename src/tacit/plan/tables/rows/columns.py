"""[data.columns]: the role of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Many, Name

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Columns:
    """The role of each column. Named data sets define their own."""

    text: Many[Name] = ()
    """Text columns; several are joined with a space."""
    label: Name | None = None
    """The column to predict, with at least two classes."""
    numeric: Many[Name] = ()
    """Numeric columns."""
    categorical: Many[Name] = ()
    """Columns with names or codes."""
    image: Name | None = None
    """A column of byte arrays, all of one shape."""
    client: Name | None = None
    """The column that identifies the client of a row; required with `partition = "client"`."""
    quasi: Many[Name] = ()
    """Quasi-identifiers: columns that together may identify a person, for methods that disclose
    rows. They may have another role too.
    """
    split: Name | None = None
    """The column that marks rows as `train` or `test`."""
    allow_personal: Many[Name] = ()
    """Categorical columns to use although their cells look like personal data (e-mail addresses,
    telephone numbers, names of people, ids …). The model's files list their categories in the
    clear. Columns with personal data that are not listed here are refused before training.
    """


def problems(plan: Plan) -> list[str]:
    """List columns with two roles, one sentence each."""
    found, seen = [], dict[str, str]()
    for role in ("text", "label", "numeric", "categorical", "image", "client", "split"):
        names = getattr(plan.data.columns, role)
        for name in names if isinstance(names, tuple) else (names,) if names else ():
            if name in seen:
                found.append(
                    f"data.columns.{role}: column {name!r} already has the role {seen[name]}; a"
                    " column has one role"
                )
            seen.setdefault(name, role)
    return [*found, *_check_allowed(plan, seen)]


def _check_allowed(plan: Plan, roles: dict[str, str]) -> list[str]:
    """List columns of `allow_personal` that are not categorical, one sentence each."""
    return [
        f"data.columns.allow_personal cannot be used for column {name!r}, which is {roles[name]};"
        " name categorical columns"
        for name in plan.data.columns.allow_personal
        if roles.get(name, "categorical") != "categorical"
    ]
