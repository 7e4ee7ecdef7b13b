"""Write the rows of a simulation to one file per site, so that the same run can be deployed on one
machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from tacit.data.roles.roles import find_free_name
from tacit.errors import PlanError
from tacit.plan import Plan, pin_own_parts
from tacit.randomness import Draws
from tacit.simulation.fingerprint import compute_data_fingerprints
from tacit.simulation.prepared_rows import divide_rows, prepare, read_public_rows


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """The plan for the sites, a file of rows for each, the test rows for the server, and the
    identity of the simulation.
    """

    plan: Plan
    files: list[Path]
    test: Path
    identity: str


def prepare_rehearsal(plan: Plan, folder: Path, sites: int) -> Rehearsal:
    """Write the rows of each site to a file; clients go to sites in the order of their names, each
    to one site.
    """
    plan = pin_own_parts(plan)  # as a simulation does: its identity covers the code
    table, clients = divide_rows(plan)
    if len(clients) < sites:
        raise PlanError(
            f"data.clients: there must be at least one client per site, got {len(clients):,} for"
            f" {sites} sites"
        )
    identity = compute_data_fingerprints(plan, prepare(plan, Draws.seeded(plan.seed))).identity
    folder.mkdir(parents=True, exist_ok=True)
    owner = find_free_name("client", table.train.columns)
    files = []
    for number, names in enumerate(np.array_split(np.arange(len(clients)), sites), 1):
        rows = np.concatenate(
            [clients.order[clients.starts[name] : clients.starts[name + 1]] for name in names]
        )
        owners = np.repeat(names, clients.sizes()[names])
        path = folder / f"site-{number}.parquet"
        table.train[rows].with_columns(
            pl.Series(owner, [f"{one:08d}" for one in owners])
        ).write_parquet(path)
        files.append(path)
    plan = _write_public_rows(plan, folder)
    test = folder / "test.parquet"
    table.test.write_parquet(test)
    columns = replace(table.columns, client=owner, split=None)
    settings = replace(plan.data, columns=columns, test=0.0, validation=0.0)
    return Rehearsal(plan=replace(plan, data=settings), files=files, test=test, identity=identity)


def _write_public_rows(plan: Plan, folder: Path) -> Plan:
    """Write the public rows that the plan takes from the training rows to a file of the server, and
    name it in the plan. A plan whose public rows have a source of their own is left as it is.
    """
    if plan.public is None or plan.public.source is not None:
        return plan
    path = folder / "public.parquet"
    read_public_rows(plan).write_parquet(path)
    return replace(plan, public=replace(plan.public, source=str(path.resolve()), share=1.0))
