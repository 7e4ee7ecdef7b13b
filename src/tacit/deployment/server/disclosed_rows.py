"""The rows that sites disclose to the server before round one."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from tacit.deployment.bodies import SiteResponse, Terms
from tacit.deployment.server.handshake import check_quorum
from tacit.deployment.server.messenger import Messenger
from tacit.deployment.server.server_side import build_release_schema
from tacit.files import replace_file
from tacit.plan import Plan
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.disclose_rows import DiscloseRows
from tacit.protocol.round import gather
from tacit.runs import run_folder

_WEIGHT = "disclosed_rows.json"


def collect_rows(
    messenger: Messenger, plan: Plan, terms: Terms, folder: Path
) -> tuple[pl.DataFrame | None, int]:
    """The rows that sites disclosed, and the total weight of all clients with the rows they keep;
    None and 0 where the plan discloses none.

    Sites are asked once. A resumed run has the same rows, also if a site is gone.
    """
    if plan.data.share is None:
        return None, 0
    file, stored = folder / run_folder.DISCLOSED, folder / _WEIGHT
    if stored.exists():
        return pl.read_parquet(file), int(json.loads(stored.read_bytes())["weight"])
    sent = {member.site: b"" for member in terms.members}
    least = max(1, messenger.settings.min_sites)
    replies = messenger.request("rows", 0, DiscloseRows.name, sent, least=least)
    check_quorum(messenger, "hands over what it may", replies.messages, replies)
    exchange = DiscloseRows(plan.name, build_release_schema(plan, terms))
    found = exchange.empty()
    for site, answers in replies.bodies(SiteResponse).items():
        own = terms.find_member(site)
        intake = Intake(
            range(own.first, own.first + own.clients), 0, terms.largest_weight, least_weight=0
        )
        frames = [(head, memoryview(body)) for head, body in answers.frames]
        found.merge(gather(exchange, intake, frames).total)
    empty = pl.DataFrame(schema=exchange.schema)
    rows = pl.concat([empty, *found.arrived], how="diagonal_relaxed")
    rows.write_parquet(file)
    weight = found.weight * (plan.data.share.rows_per_client or 1)
    replace_file(stored, json.dumps({"weight": weight}).encode())
    return rows, weight
