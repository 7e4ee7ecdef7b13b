"""What a site holds, in numbers: rows, clients, and columns with the roles that the policy allows.

No value and no row is part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import polars as pl

from tacit.data.clients.client_names import normalise_names
from tacit.data.read import TextFormat, is_file_source, read_file
from tacit.deployment.site.owner import Owner
from tacit.errors import PlanError
from tacit.privacy.policy import Policy
from tacit.privacy.policy.policy import ANY


@dataclass(frozen=True, kw_only=True)
class HeldColumn:
    """A column: how many cells are filled, how many different values they have, for what a plan may
    use it, and whether it identifies clients or could identify a person.
    """

    name: str
    filled: int
    distinct: int
    roles: tuple[str, ...]
    identifies: bool


@dataclass(frozen=True, kw_only=True)
class SiteHoldings:
    """The rows of a site in numbers. `clients` is None if site.toml does not say who they are, or the
    file lacks the column; `nameless` counts rows that name no client.
    """

    rows: int
    clients: int | None
    nameless: int
    columns: tuple[HeldColumn, ...]


def count_holdings(owner: Owner, policy: Policy | None) -> SiteHoldings:
    """Read the file of a site's rows and count; raise PlanError for a named data set, DataError if the
    file cannot be read.
    """
    if not is_file_source(owner.source):
        raise PlanError(
            f"{owner.source} is a named data set, which is public; only files are counted"
        )
    read_as = TextFormat(encoding=owner.encoding, header=owner.header, guess=False)
    frame = read_file(owner.source, read_as)[0]
    clients, nameless = _count_clients(frame, owner)
    identifying = {owner.unit.client, *owner.unit.quasi_identifiers}
    return SiteHoldings(
        rows=frame.height,
        clients=clients,
        nameless=nameless,
        columns=tuple(
            HeldColumn(
                name=name,
                filled=frame.height - frame[name].null_count(),
                distinct=_count_distinct(frame[name]),
                roles=list_allowed_roles(policy, name),
                identifies=name in identifying,
            )
            for name in frame.columns
        ),
    )


def list_allowed_roles(policy: Policy | None, column: str) -> tuple[str, ...]:
    """For what a policy lets plans use a column."""
    if policy is None:
        return ()
    roles = {one.name: getattr(policy.columns, one.name) for one in fields(policy.columns)}
    return tuple(role for role, names in roles.items() if column in names or ANY in names)


def _count_clients(frame: pl.DataFrame, owner: Owner) -> tuple[int | None, int]:
    if owner.unit.one_client:
        return 1, 0
    if owner.unit.client is None or owner.unit.client not in frame.columns:
        return None, 0
    names = normalise_names(frame[owner.unit.client])
    return names.drop_nulls().n_unique(), names.null_count()


def _count_distinct(column: pl.Series) -> int:
    try:
        return column.drop_nulls().n_unique()
    except pl.exceptions.PolarsError:  # a type that cannot be compared
        return 0
