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
from tacit.simulation.prepared_rows import divide_rows, prepare


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
    test = folder / "test.parquet"
    table.test.write_parquet(test)
    columns = replace(table.columns, client=owner, split=None)
    settings = replace(plan.data, columns=columns, test=0.0, validation=0.0)
    identity = compute_data_fingerprints(plan, prepare(plan, Draws.seeded(plan.seed))).identity
    return Rehearsal(plan=replace(plan, data=settings), files=files, test=test, identity=identity)
