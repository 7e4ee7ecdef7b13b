"""[data.columns]: what each column of the table is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Many, Name

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Columns:
    """What each column of the table is for. Named data sets know their own."""

    text: Many[Name] = ()
    """Columns read as text; several are joined with a space."""
    label: Name | None = None
    """The column to predict, with at least two classes."""
    numeric: Many[Name] = ()
    """Columns of numbers."""
    categorical: Many[Name] = ()
    """Columns of names or codes."""
    image: Name | None = None
    """A column of byte arrays, all of one shape."""
    client: Name | None = None
    """Who owns the row; needed with `partition = "client"`."""
    quasi: Many[Name] = ()
    """Columns that together can point at a person, for methods that share rows. May have another
    role too.
    """
    split: Name | None = None
    """Marks rows `train` or `test`."""
    allow_personal: Many[Name] = ()
    """Categorical columns that may be used although their cells look like personal data (e-mail
    addresses, telephone numbers, names of people, ids …). Their categories stand in the model for
    all to read. Without it such a column is refused before training.
    """


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each column that is asked to be two things."""
    found, seen = [], dict[str, str]()
    for role in ("text", "label", "numeric", "categorical", "image", "client", "split"):
        names = getattr(plan.data.columns, role)
        for name in names if isinstance(names, tuple) else (names,) if names else ():
            if name in seen:
                found.append(
                    f"data.columns.{role}: column {name!r} is {seen[name]} already; a column has"
                    " one role"
                )
            seen.setdefault(name, role)
    return [*found, *_allowed(plan, seen)]


def _allowed(plan: Plan, roles: dict[str, str]) -> list[str]:
    """Return a sentence for each column that is allowed to hold personal data without being
    categorical.
    """
    return [
        f"data.columns.allow_personal: has no meaning for column {name!r}, which is {roles[name]};"
        " name categorical columns"
        for name in plan.data.columns.allow_personal
        if roles.get(name, "categorical") != "categorical"
    ]
