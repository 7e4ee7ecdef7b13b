"""Whom a site's budgets protect: the owner says which column names a person, and a plan cannot say
otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.privacy.policy.asked import Requirements

FILE = "site.toml"


@dataclass(frozen=True, kw_only=True)
class PrivacyUnit:
    """The client column of a site's rows, or that all rows belong to one client; and the columns
    that could point at a person.

    Where neither is said, no plan may run: a budget needs somebody it belongs to.
    """

    client: str | None = None
    one_client: bool = False
    quasi_identifiers: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.one_client:
            return "one_client = true"
        return f"client = {self.client!r}" if self.client else "no client"


def find_unit_refusals(unit: PrivacyUnit, asked: Requirements) -> list[str]:
    """Return a sentence for each way in which a plan has other people in mind than the owner of the
    rows.
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
            [f"{FILE}: {unit}: the plan counts clients by the column {asked.client!r}"]
            if wrong
            else []
        )
    if asked.client is None:
        return [
            f"{FILE}: {unit}: the plan names no client column (data.columns.client), so all people"
            " here would share one budget"
        ]
    if asked.client != unit.client:
        return [
            f"{FILE}: {unit}: the plan counts clients by the column {asked.client!r}, where nobody"
            " has spent anything yet"
        ]
    return []


def _refuse_released(unit: PrivacyUnit, asked: Requirements) -> list[str]:
    """Return what is wrong with rows that would leave: the owner's quasi-identifiers are counted,
    whatever else a plan counts.
    """
    found = []
    if unit.client and unit.client in (*asked.released, *asked.key):
        found.append(f"{FILE}: {unit}: the plan would hand over this column, and it never leaves")
    if asked.k is None:
        return found
    if not unit.quasi_identifiers:
        found.append(
            f"{FILE}: quasi_identifiers = []: no row may leave until this names the columns that"
            ' could point at a person, such as quasi_identifiers = ["age", "sex"]'
        )
    uncounted = [
        name for name in unit.quasi_identifiers if name in asked.released and name not in asked.key
    ]
    return found + [
        f"{FILE}: quasi_identifiers: the plan would hand over {name!r} without counting who is"
        " alike in it; add it to data.columns.quasi"
        for name in uncounted
    ]
