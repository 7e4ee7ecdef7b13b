"""Sentences about rows: simulated owners, disclosed rows, quantised columns and public rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tacit.privacy.ledger.disclosure import describe_rule
from tacit.privacy.statement.prose import POOLED
from tacit.runs.record import DisclosedRows, Prepared, WarmStarted

_NAMES_SHOWN = 10

if TYPE_CHECKING:
    from tacit.plan import Features, Public, Quantise, RowSharing


# Owners


def owners_are_made_up(plan: dict[str, Any], data: Prepared | None = None) -> bool:
    """Whether the clients exist only in this simulation; `plan` is the plan as a dict."""
    at_sites = data is not None and data.sites > 0
    return (
        not at_sites
        and plan.get("regime", "federated") == "federated"
        and plan.get("data", {}).get("partition", "iid") != "client"
    )


def describe_made_up_owners(
    plan: dict[str, Any], data: Prepared | None = None, *, promises: bool = True
) -> str:
    """Say whom the guarantee protects if no column names the owner of a row; else empty.

    `promises` says whether there is an epsilon at all.
    """
    if not owners_are_made_up(plan, data):
        return ""
    if data is None:
        return _describe_planned_owners(int(plan.get("data", {}).get("clients", 100)), promises)
    largest = max(data.rows_per_client, default=0)
    dealt = (
        "Owners are simulated: no column says who owns a row, so the rows were divided among"
        f" {data.clients:,} simulated clients."
    )
    if not promises:
        return dealt
    if largest == 1:
        return (
            f"{dealt} Each has one row, so a row is protected, not a person: a person with several"
            " rows is protected less."
        )
    return f"{dealt} Such a simulated group of up to {largest:,} rows is protected, not a person."


def _describe_planned_owners(clients: int, promises: bool) -> str:
    """Say whom a plan would protect; in a deployment each site decides that."""
    dealt = (
        "Owners will be simulated: no column says who owns a row, so `tacit run` divides the rows"
        f" among {clients:,} simulated clients."
    )
    whom = " Such a simulated group of rows is protected, not a person." if promises else ""
    return f"{dealt}{whom} In a deployment, each site says who its clients are."


# Disclosed rows


def describe_disclosure(facts: DisclosedRows) -> str:
    """Describe disclosed rows, to be read with the statement about updates."""
    if not facts.rows:
        return f"No row is disclosed: no group of rows is large enough ({describe_rule(facts)})."
    share = facts.rows / facts.of_rows
    rest = "the label" if facts.release == "whole_row" else "the other columns or the label"
    return (
        f"Some rows are disclosed to the server in full: {facts.rows:,} of {facts.of_rows:,} rows"
        f" ({100 * share:.1f} %). In them {describe_rule(facts)}{_describe_smallest_class(facts)}."
        f" This is not differential privacy and does not protect {rest}:"
        f" {100 * facts.unique_share:.0f} % of them are unique in all their columns, and for"
        f" {100 * facts.single_label_share:.0f} %, {', '.join(facts.key[:3])}"
        f"{' …' if len(facts.key) > 3 else ''} determine the label. The statement about updates"
        " covers only the rows that were not disclosed, and which rows those are is visible."
    )


def _describe_smallest_class(facts: DisclosedRows) -> str:
    """Give the smallest group at the server if it is below k: noisy counts, or rows not sent."""
    if facts.smallest_class >= facts.k:
        return ""
    how = "with noise" if facts.counts == "stable" else "with rows that were not sent"
    return f" (counted {how}; the smallest group at the server has {facts.smallest_class:,})"


def describe_planned_disclosure(share: RowSharing) -> str:
    """Say which rows a plan would disclose, before any data is read."""
    where = (
        "in every column but the label"
        if share.release == "whole_row"
        else "in the quasi-identifiers"
    )
    others = " other rows" if share.k_of == "other_rows" else ""
    rule = f"{share.rule_name}, k = {share.k:,}{others}" + (
        f", l = {share.l:g}" if share.l is not None else ""
    )
    if share.k_column is not None:
        rule += f", or as many as a client states in the column {share.k_column}"
    return (
        f"rows that are identical {where} go to the server in full ({rule}); `tacit plan disclose` shows"
        " which. The other rows:"
    )


# Quantised columns


def describe_quantisation(settings: Quantise) -> str:
    """Say how quantised numbers enter a model."""
    which = f"the columns {', '.join(settings.columns)}" if settings.columns else "all numbers"
    if settings.trained_on == "tokens":
        return (
            f"{which} as keyed tokens of up to 2^{settings.levels} channels, the same in all rows"
        )
    return f"{which} as mid-points of up to 2^{settings.levels} channels"


def describe_planned_pool(features: Features) -> str:
    """State the guarantee of a plan that pools all rows."""
    if features.quantise is None:
        return POOLED
    return f"{POOLED}, with {describe_quantisation(features.quantise)}; not differentially private"


# Parts of a model that stay


def describe_private_parameters(private: dict[str, Any]) -> str:
    """Name the parameters that are never sent; `private` is the plan's [private] table. Empty if
    all parameters are sent.
    """
    words = {"all": "the vectors of all words", "digits": "the vectors of words with a digit"}.get(
        private.get("words", "none"), ""
    )
    named = ", ".join(private.get("parameters") or ())
    what = " and ".join(
        part for part in (words, f"the parameters {named}" if named else "") if part
    )
    if not what:
        return ""
    return (
        f"{what[0].upper()}{what[1:]} stay with each client and are never sent; the updates that"
        " are sent may still depend on them."
    )


# Public rows


def describe_warm_start(facts: WarmStarted) -> str:
    """Describe the public rows of a warm start."""
    return f"The initial model was trained on {facts.rows:,} public rows, which have no protection."


def describe_planned_public(public: Public) -> str:
    """Say which rows a plan treats as public, before any data is read."""
    whose = f"the rows of {public.source}" if public.source else "the training rows"
    return (
        f"{100 * public.share:g} % of {whose} are public, without protection; the server trains the"
        " initial model on them"
    )


def describe_selection(plan: dict[str, Any]) -> str:
    """Warn that settings were chosen on data; empty if the plan does not say so."""
    how = plan.get("selected_by")
    return (
        f"Settings were chosen by looking at data ({how}); no epsilon here covers that choice."
        if how
        else ""
    )


def describe_class_names(classes: Sequence[str]) -> str:
    """List the names of the classes, which are part of every model."""
    shown = ", ".join(classes[:_NAMES_SHOWN])
    more = f", and {len(classes) - _NAMES_SHOWN:,} more" if len(classes) > _NAMES_SHOWN else ""
    return f"names of the {len(classes):,} classes ({shown}{more})"
