"""What a site discloses in the clear before round one: nothing that fewer clients share than the
owner allows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import asdict

from tacit.assembly.feature_sources import find_encoder_digest
from tacit.column_statistics.common_values import find_common_values
from tacit.column_statistics.number_format import NumberFormat
from tacit.column_statistics.rounded_range import round_outward
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.data import Habits
from tacit.errors import PolicyError
from tacit.features import compute_statistics
from tacit.plan import Plan
from tacit.privacy.policy import Limits, Policy

if TYPE_CHECKING:
    from tacit.deployment.bodies import OfferResponse
    from tacit.deployment.site.rows.site_rows import SiteRows


def list_common_values(
    frame: pl.DataFrame, name: str, client: str | None, limits: Limits, role: str
) -> list[str]:
    """The values of a column that at least `min_clients_per_value` clients have, sorted; without
    clients, rows are counted.

    Raises PolicyError for a column with too many values, or where most rows have a value that few
    others have: such a column identifies people.
    """
    found = find_common_values(frame, name, client, limits.min_clients_per_value)
    if 2 * found.rows < frame.height:
        raise PolicyError(
            f"limits.min_clients_per_value = {limits.min_clients_per_value:,}: most rows have a"
            " value of"
            f" {name!r} that fewer {'clients' if client else 'rows'} share, so it cannot be used as"
            f" {role}"
        )
    if len(found.values) > limits.max_values_per_column:
        raise PolicyError(
            f"limits.max_values_per_column = {limits.max_values_per_column:,}: {name!r} has more"
            " values, so"
            f" it cannot be used as {role}"
        )
    return found.values


def compute_disclosed_statistics(plan: Plan, rows: SiteRows, policy: Policy) -> ColumnStatistics:
    """Column statistics of a site's rows, as far as the owner allows.

    Classes are those of the rows that take part, each shared by enough clients. Rare categories
    count as unknown. The ends of ranges are rounded, with enough clients at or beyond each end,
    unless the policy's `disclosures` has "exact_ranges". What the plan's schema states is not
    disclosed. Missing numbers are disclosed where enough
    clients lack one, and a number format where the cells of enough clients show it. The hash of a
    frozen text encoder is public. Queries need nothing in the clear.
    """
    if plan.statistics is not None:
        return ColumnStatistics(classes=(), ranges={}, categories={})
    table, client, limits = rows.table, rows.table.columns.client, policy.limits
    settings = replace(
        plan.features, category_clients=1
    )  # here the owner's limit says how many clients a category needs
    seen, everything = (
        compute_statistics(table.train, table.columns, settings, plan.agree_values(table.columns)),
        pl.concat([table.train, table.test]),
    )
    categories = {}
    for name, known in seen.categories.items():
        common = set(list_common_values(everything, name, client, limits, "categorical"))
        categories[name] = tuple(value for value in known if value in common)
    exact = "exact_ranges" in policy.allow.disclosures
    ranges = (
        seen.ranges
        if exact
        else _rounded_ranges(table.train, client, seen.ranges, limits.min_clients_per_value)
    )
    missing = tuple(
        name
        for name in seen.missing
        if _clients_without(table.train, name, client) >= limits.min_clients_per_value
    )
    formats = select_disclosed_formats(plan, table.habits, limits)
    return replace(
        seen,
        categories=categories,
        ranges=ranges,
        missing=missing,
        formats=formats,
        encoder=find_encoder_digest(table.columns, plan.features),
    )


def select_disclosed_formats(plan: Plan, habits: Habits, limits: Limits) -> dict[str, NumberFormat]:
    """Number formats, as far as the cells of enough clients show them and the plan does not state
    them.
    """
    found, least = dict[str, NumberFormat](), limits.min_clients_per_value
    if plan.data.decimal is not None:
        return found
    for name, one in habits.formats.items():
        commas, unclear = habits.behind.get(name, (0, 0))
        found[name] = NumberFormat(one.comma and commas >= least, one.unclear and unclear >= least)
    return found


def _clients_without(frame: pl.DataFrame, name: str, client: str | None) -> int:
    """The number of clients, or rows, that lack a number in a column."""
    lacking = frame.filter(pl.col(name).is_null())
    return lacking[client].n_unique() if client else lacking.height


def _rounded_ranges(
    frame: pl.DataFrame, client: str | None, ranges: Mapping[str, tuple[float, float]], least: int
) -> dict[str, tuple[float, float]]:
    return {name: _rounded_range(frame, name, client, ends, least) for name, ends in ranges.items()}


def _rounded_range(
    frame: pl.DataFrame, name: str, client: str | None, ends: tuple[float, float], least: int
) -> tuple[float, float]:
    """Return ends with at least `least` clients at or beyond each, rounded outward so that they are
    nobody's own value.
    """
    who = pl.col(client) if client else pl.int_range(pl.len())
    values = frame.select(
        pl.col(name).cast(pl.Float64, strict=False).alias("value"), who.alias("who")
    )
    each = (
        values.filter(pl.col("value").is_finite())
        .group_by("who")
        .agg(low=pl.col("value").min(), high=pl.col("value").max())
    )
    lows, highs = np.sort(each["low"].to_numpy()), np.sort(each["high"].to_numpy())
    if not len(lows):
        return 0.0, 0.0
    low = max(ends[0], lows[least - 1]) if len(lows) >= least else math.inf
    high = min(ends[1], highs[-least]) if len(highs) >= least else -math.inf
    if not low <= high:
        raise PolicyError(
            f"limits.min_clients_per_value = {least:,}: too few clients have a number in {name!r}"
            " to"
            " tell its range; the plan must state it in features.ranges"
        )
    return round_outward(low, high)


def build_disclosure_entry(opened: OfferResponse, plan: Plan) -> dict[str, Any]:
    """Exactly what the server learns about a site's rows, for the site's ledger; of class counts,
    which only leave as part of a sum over all sites, the rule.
    """
    facts = {
        "clients": opened.clients,
        "rows": opened.rows,
        "test_rows": opened.test_rows,
        "largest_weight": opened.largest_weight,
    }
    share = plan.data.share
    summed = (
        {"class_counts": {"rule": share.rule_name, "release": share.release}}
        if share and share.counts == "global"
        else {}
    )
    return {**facts, **summed, "seen": json.loads(msgspec.json.encode(asdict(opened.seen)))}


def describe_disclosure(rows: SiteRows, seen: ColumnStatistics, policy: Policy) -> list[str]:
    """What the server learns about a site's rows, in words for the site's log; the values
    themselves are in its ledger.
    """
    columns, least = rows.table.columns, policy.limits.min_clients_per_value
    who, exact = (
        "clients" if columns.client else "rows",
        ("exact" if "exact_ranges" in policy.allow.disclosures else "rounded"),
    )
    told = [f"{len(seen.classes):,} classes of {columns.label!r}"] if seen.classes else []
    told += [f"{len(known):,} categories of {name!r}" for name, known in seen.categories.items()]
    told += [
        f"the {exact} range {low:g} to {high:g} of {name!r}"
        for name, (low, high) in seen.ranges.items()
    ]
    told += [f"that numbers are missing in {name!r}" for name in seen.missing]
    told += [
        f"that {name!r} is written with a decimal {one.mark}" for name, one in seen.formats.items()
    ]
    counts = [f"{len(rows.owners):,} clients", f"{len(rows.clients.order):,} rows"]
    sentence = f"tells the server: {', '.join([*counts, *told])}"
    named = seen.classes or seen.categories
    shared = f"; each class and category is that of at least {least:,} {who}" if named else ""
    return [f"{sentence}{shared}", *rows.left_out]
