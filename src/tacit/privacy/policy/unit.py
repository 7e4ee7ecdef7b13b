"""Privacy unit of a site: the owner says which column names a person, and no plan can change it."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.privacy.policy.requirements import Requirements

FILE = "site.toml"


@dataclass(frozen=True, kw_only=True)
class PrivacyUnit:
    """The client column of a site's rows, or that all rows belong to one client; and the
    quasi-identifiers.

    If neither is set, no plan may run: every budget must belong to somebody.
    """

    client: str | None = None
    one_client: bool = False
    quasi_identifiers: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.one_client:
            return "one_client = true"
        return f"client = {self.client!r}" if self.client else "no client"


def find_unit_refusals(unit: PrivacyUnit, asked: Requirements) -> list[str]:
    """List each way in which a plan's clients differ from those that the owner set, one sentence
    each.
    """
    return [*_refuse_clients(unit, asked), *_refuse_released(unit, asked)]


def _refuse_clients(unit: PrivacyUnit, asked: Requirements) -> list[str]:
    if bool(unit.client) == unit.one_client:
        return [
            f'{FILE}: client is not set, so no plan may run; write client = "COLUMN", the column'
            " that names the person a row is about, or one_client = true if all rows of this site"
            " belong to one client"
        ]
    if unit.one_client:
        wrong = asked.client is not None
        return (
            [f"{FILE}: {unit}: the plan uses the client column {asked.client!r}"] if wrong else []
        )
    if asked.client is None:
        return [
            f"{FILE}: {unit}: the plan names no client column (data.columns.client), so all people"
            " here would share one budget"
        ]
    if asked.client != unit.client:
        return [
            f"{FILE}: {unit}: the plan uses the client column {asked.client!r}, under which nobody"
            " has been charged yet"
        ]
    return []


def _refuse_released(unit: PrivacyUnit, asked: Requirements) -> list[str]:
    """Check released rows: the owner's quasi-identifiers must be counted, whatever else a plan
    counts.
    """
    found = []
    if unit.client and unit.client in (*asked.released, *asked.key):
        found.append(f"{FILE}: {unit}: the plan would release this column, which is never released")
    if asked.k is None:
        return found
    if not unit.quasi_identifiers:
        found.append(
            f"{FILE}: quasi_identifiers = []: no row may be released until this names the columns"
            ' that could identify a person, such as quasi_identifiers = ["age", "sex"]'
        )
    uncounted = [
        name for name in unit.quasi_identifiers if name in asked.released and name not in asked.key
    ]
    return found + [
        f"{FILE}: quasi_identifiers: the plan would release {name!r} without counting equal rows"
        " in it; add it to data.columns.quasi"
        for name in uncounted
    ]
