"""What is said about rows themselves, in words: rows that are disclosed, handed over as quantised
columns, or public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tacit.privacy.ledger.disclosure import describe_rule
from tacit.privacy.statement.prose import POOLED
from tacit.runs.record import DisclosedRows, Prepared, WarmStarted

_NAMES_SHOWN = 10

if TYPE_CHECKING:
    from tacit.plan import Features, Public, Quantise, Sharing


# Owners


def owners_are_made_up(plan: dict[str, Any], data: Prepared | None = None) -> bool:
    """Return whether a simulation dealt rows to clients that exist nowhere else; `plan` is the plan
    as a tree.
    """
    at_sites = data is not None and data.sites > 0
    return (
        not at_sites
        and plan.get("regime", "federated") == "federated"
        and plan.get("data", {}).get("partition", "iid") != "client"
    )


def describe_made_up_owners(
    plan: dict[str, Any], data: Prepared | None = None, *, promises: bool = True
) -> str:
    """Return to whom a promise is made where no column says who owns a row; nothing where one does.

    `promises` says whether there is an epsilon at all.
    """
    if not owners_are_made_up(plan, data):
        return ""
    if data is None:
        return _describe_planned_owners(int(plan.get("data", {}).get("clients", 100)), promises)
    largest = max(data.rows_per_client, default=0)
    dealt = (
        "Owners were made up: no column says who owns a row, so the rows were dealt to"
        f" {data.clients:,} simulated clients."
    )
    if not promises:
        return dealt
    if largest == 1:
        return (
            f"{dealt} Each has one row, so the promise is to a row, not to a person: a person with"
            " several rows gets less."
        )
    return (
        f"{dealt} The promise is to such a made-up group of up to {largest:,} rows, not to a"
        " person."
    )


def _describe_planned_owners(clients: int, promises: bool) -> str:
    """Return to whom a plan would promise something; between sites that is for each site to say."""
    dealt = (
        "Owners will be made up: no column says who owns a row, so `tacit run` deals the rows to"
        f" {clients:,} simulated clients."
    )
    whom = (
        " The promise is then to such a made-up group of rows, not to a person." if promises else ""
    )
    return f"{dealt}{whom} Between sites, each site says who its clients are."


# Disclosed rows


def describe_disclosure(facts: DisclosedRows) -> str:
    """Return the sentences a data owner must read beside the statement about updates."""
    if not facts.rows:
        return f"No row is disclosed: nowhere do enough rows look alike ({describe_rule(facts)})."
    share = facts.rows / facts.of_rows
    rest = "the label" if facts.release == "whole_row" else "the other columns or of the label"
    return (
        f"Some rows are disclosed to the server in full: {facts.rows:,} of {facts.of_rows:,} rows"
        f" ({100 * share:.1f} %). In them {describe_rule(facts)}{_describe_smallest_class(facts)}; no differential privacy, no"
        f" protection of {rest}: {100 * facts.unique_share:.0f} % of them are unique in all their"
        f" columns, and for {100 * facts.single_label_share:.0f} % whoever knows"
        f" {', '.join(facts.key[:3])}{' …' if len(facts.key) > 3 else ''} knows the label. What is"
        " stated about updates covers the kept rows only, and which rows are kept is visible."
    )


def _describe_smallest_class(facts: DisclosedRows) -> str:
    """Return how few rows may look alike at the server where more were counted than were sent, or
    with noise.
    """
    if facts.smallest_class >= facts.k:
        return ""
    how = "with noise" if facts.counts == "stable" else "with rows that were not sent"
    return f" (counted {how}; at the server the fewest are {facts.smallest_class:,})"


def describe_planned_disclosure(share: Sharing) -> str:
    """Return which rows a plan would disclose, before any data is read."""
    where = (
        "in every column but the label"
        if share.release == "whole_row"
        else "in the quasi-identifiers"
    )
    others = " other rows" if share.k_of == "other_rows" else ""
    rule = f"{share.rule}, k = {share.k:,}{others}" + (
        f", l = {share.l:g}" if share.l is not None else ""
    )
    return (
        f"rows that look alike {where} go to the server in full ({rule}); `tacit disclose` shows"
        " which. The rest:"
    )


# Quantised columns


def describe_quantisation(settings: Quantise) -> str:
    """Return in what form numbers enter a model, in a few words."""
    which = f"the columns {', '.join(settings.columns)}" if settings.columns else "all numbers"
    if settings.trained_on == "tokens":
        return (
            f"{which} as keyed tokens of up to 2^{settings.levels} channels, the same in all rows"
        )
    return f"{which} as mid-points of up to 2^{settings.levels} channels"


def describe_planned_pool(features: Features) -> str:
    """Return what a plan that hands over all rows promises."""
    if features.quantise is None:
        return POOLED
    return f"{POOLED}, with {describe_quantisation(features.quantise)}; not differentially private"


# Parts of a model that stay


def describe_private_parameters(private: dict[str, Any]) -> str:
    """Return the sentence about what is in no message, from a plan's [private] table as a tree;
    nothing if all is sent.
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
        f"{what[0].upper()}{what[1:]} stay with each client and are in no message; what is sent may"
        " still tell of them."
    )


# Public rows


def describe_warm_start(facts: WarmStarted) -> str:
    """Return the sentence about rows that were at the center from the beginning."""
    return (
        f"The first model was trained on {facts.rows:,} public rows, which are protected by"
        " nothing."
    )


def describe_planned_public(public: Public) -> str:
    """Return whose rows a plan takes to be public, before any data is read."""
    whose = f"the rows of {public.source}" if public.source else "the train rows"
    return (
        f"{100 * public.share:g} % of {whose} are at the center and protected by nothing; the first"
        " model is trained on them"
    )


def describe_selection(plan: dict[str, Any]) -> str:
    """Return what is to be said where settings were chosen by looking at data; nothing where the
    plan does not say so.
    """
    how = plan.get("selected_by")
    return (
        f"Settings were chosen by looking at data ({how}); no epsilon here covers what that choice"
        " tells."
        if how
        else ""
    )


def describe_class_names(classes: Sequence[str]) -> str:
    """Return the phrase for the names of classes, which every model carries."""
    shown = ", ".join(classes[:_NAMES_SHOWN])
    more = f", and {len(classes) - _NAMES_SHOWN:,} more" if len(classes) > _NAMES_SHOWN else ""
    return f"names of the {len(classes):,} classes ({shown}{more})"
