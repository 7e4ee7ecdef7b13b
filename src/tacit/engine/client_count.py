"""How many clients a plan's rows have room for, before anything is trained: one count for `check`, `run`, `tune` and `sweep`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tacit import data
from tacit.draws import Draws
from tacit.engine.simulated_data import read_table
from tacit.plan import Plan
from tacit.plan.data import is_file


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The rows of a plan as a run reads them, and the most clients, up to the plan's number, who can hold a train row each.

    With `partition = "client"` these are the owners of train rows, however many the plan expects.
    """

    table: data.Table
    clients: int


def is_at_hand(plan: Plan) -> bool:
    """Whether the plan's rows are in a file on this machine, so that they can be counted without a download."""
    return is_file(plan.data) and Path(plan.data.source).expanduser().is_file()


def count_clients(plan: Plan, input_rows: object | None = None) -> Counted:
    """Read the plan's rows as a run does and count the clients there can be; raise DataError where a run could not begin.

    A number of clients that does not fit is no error here: `require_room` refuses it.
    """
    table = read_table(plan, input_rows)
    return Counted(table=table, clients=data.most_clients(table, plan.data))


def require_room(plan: Plan, input_rows: object | None = None) -> Counted:
    """Read the plan's rows; raise DataError with the number that fits if the plan has more clients than there is room for."""
    found = count_clients(plan, input_rows)
    data.require_room(found.table, plan.data)
    return found


def validated(plan: Plan, share: float, input_rows: object | None = None) -> tuple[Plan, int]:
    """The plan measured on a share of its train rows, and the most clients that the remaining train rows have room for."""
    made = replace(plan, data=replace(plan.data, validation=plan.data.validation or share))
    return made, count_clients(made, input_rows).clients
