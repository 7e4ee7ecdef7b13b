"""Count how many clients a plan's rows suffice for, before training; used by `check`, `run`, `tune`
and `sweep`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tacit import data
from tacit.errors import DataError
from tacit.plan import Plan
from tacit.plan.tables.rows.data import is_file
from tacit.simulation.prepared_rows import read_table


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The rows of a plan as a run reads them, and the largest number of clients, up to the plan's,
    that can have a training row each.

    With `partition = "client"` these are the owners of training rows, regardless of the number in
    the plan.
    """

    table: data.Table
    clients: int


def is_at_hand(plan: Plan) -> bool:
    """Whether the plan's rows are in a file on this machine, so that counting them needs no
    download.
    """
    return is_file(plan.data) and Path(plan.data.source).expanduser().is_file()


def count_clients(plan: Plan, input_rows: object | None = None) -> Counted:
    """Read the plan's rows as a run does and count the possible clients; raise DataError where a
    run could not start.

    Too many clients in the plan are not an error here: `require_room` refuses them.
    """
    table = read_table(plan, input_rows)
    return Counted(table=table, clients=data.find_most_clients(table, plan.data))


def require_room(plan: Plan, input_rows: object | None = None) -> Counted:
    """Read the plan's rows; if they do not suffice for its clients, raise DataError with the number
    that is possible.
    """
    found = count_clients(plan, input_rows)
    data.require_room(found.table, plan.data)
    return found


def find_without_room(plans: Mapping[str, Plan]) -> dict[str, str]:
    """Find the plans, by title, that cannot start on the rows of a local file, and why; plans with
    the same rows read them once.
    """
    tables: dict[object, data.Table | DataError] = {}
    found: dict[str, str] = {}
    for title, plan in plans.items():
        if not is_at_hand(plan):
            continue
        key = replace(plan.data, clients=1), plan.public, plan.seed
        if key not in tables:
            tables[key] = _table_or_error(plan)
        try:
            _require(tables[key], plan)
        except DataError as error:
            found[title] = str(error)
    return found


def _table_or_error(plan: Plan) -> data.Table | DataError:
    try:
        return read_table(plan)
    except DataError as error:
        return error


def _require(table: data.Table | DataError, plan: Plan) -> None:
    if isinstance(table, DataError):
        raise table
    data.require_room(table, plan.data)


def count_with_validation(plan: Plan, share: float, input_rows: object | None = None) -> int:
    """The largest number of clients, up to the plan's, that remain possible when a share of the
    training rows becomes validation rows.

    A plan that already has validation rows keeps its own share.
    """
    made = replace(plan, data=replace(plan.data, validation=plan.data.validation or share))
    return count_clients(made, input_rows).clients
