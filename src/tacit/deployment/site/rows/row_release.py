"""Rows that a site discloses: checked against the owner's policy, together with all rows disclosed
before, and recorded first.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tacit.deployment.site.owner import Owner
from tacit.errors import PolicyError, WireError
from tacit.privacy.policy import RowToRelease, SharePolicy, SiteLedger, refuse_rows
from tacit.privacy.policy.policy import ANY
from tacit.runs.record import DisclosedRows

if TYPE_CHECKING:
    from tacit.deployment.site.site_side import SiteSide


def release_rows(owner: Owner, run: str, built: SiteSide, book: SiteLedger) -> None:
    """Record in ledger and log which rows are disclosed; raise PolicyError if the policy does not
    allow all of them.

    A site calls it before it reveals which clients keep rows, and again before the rows are sent:
    the policy may have changed by then.
    """
    if built.encoded.offer is None:
        raise WireError("request refused: the plan discloses no rows")
    policy, shared = owner.require_policy(), built.disclosed()
    found = refuse_rows(policy, shared)
    if policy.share is not None and not found:
        found = _rare_values(policy.share, owner, built)
    if found:
        raise PolicyError("\n".join(found))
    if not shared.rows:
        return
    assert policy.share is not None, "without a [share] table nothing leaves"
    facts = {"run": run, "plan": built.plan.name, "columns": shared.columns, "key": shared.key}
    if book.disclose(_leaving(owner, built), shared.of_rows, facts, policy.share):
        owner.tell(_said(run, shared, policy.share, "rows" if owner.unit.one_client else "clients"))


def _said(run: str, shared: DisclosedRows, share: SharePolicy, who: str) -> str:
    return (
        f"run {run}: hands over {shared.rows:,} of {shared.of_rows:,} rows in full"
        f" ({', '.join(shared.columns)}); over all runs, at least {share.min_k:,} {who} are alike"
        f" in {', '.join(shared.key)}"
    )


def _persons(owner: Owner, built: SiteSide) -> list[bytes]:
    """The client of each disclosed row; where the whole site is one client, each row counts as a
    person.
    """
    offer = built.encoded.offer
    assert offer is not None
    if owner.unit.one_client:
        return _marks(built)
    blocks = np.repeat(np.arange(len(offer.clients)), offer.clients.sizes())[offer.disclosed]
    known = [owner.pseudonym(name) for name in built.rows.owners]
    return [known[block] for block in blocks.tolist()]


def _marks(built: SiteSide) -> list[bytes]:
    offer, marks = built.encoded.offer, built.rows.marks
    assert offer is not None
    assert marks is not None
    return built.rows.table.train[marks].gather(offer.clients.order[offer.disclosed]).to_list()


def _leaving(owner: Owner, built: SiteSide) -> list[RowToRelease]:
    offer = built.encoded.offer
    assert offer is not None
    released = offer.released()
    labels = [_keyed(owner, "label", name) for name in released[offer.label].cast(pl.String)]
    return list(
        map(
            RowToRelease,
            _marks(built),
            _persons(owner, built),
            labels,
            _alike(released.select(offer.key)),
        )
    )


def _alike(key: pl.DataFrame) -> list[bytes]:
    """Equal bytes for rows that are equal in all columns of the key."""
    cells = zip(*(key[name].cast(pl.String).to_list() for name in key.columns), strict=True)
    return [hashlib.sha256(repr((key.columns, row)).encode()).digest() for row in cells]


def _keyed(owner: Owner, what: str, text: str | None) -> bytes:
    return hmac.digest(owner.secret, f"{what} {text}".encode(), "sha256")[:16]


def _rare_values(share: SharePolicy, owner: Owner, built: SiteSide) -> list[str]:
    """Columns besides the key with values that too few clients have, which may identify them."""
    offer = built.encoded.offer
    assert offer is not None
    released = offer.released()
    others = [
        name
        for name in released.columns
        if name not in (*offer.key, offer.label) and not {name, ANY} & set(share.exact)
    ]
    if not others or not released.height:
        return []
    marked = released.select(others).with_columns(
        pl.Series("", _persons(owner, built), dtype=pl.Binary)
    )
    found = []
    for name in others:
        fewest = marked.group_by(name).agg(pl.col("").n_unique().alias("clients"))["clients"].min()
        if isinstance(fewest, int) and fewest < share.min_k:
            found.append(
                f"share.exact = {list(share.exact)}: the column {name!r} would leave with values"
                f" that fewer than {share.min_k:,} clients have; make them coarser in"
                " data.share.generalise, or leave the column out"
            )
    return found
