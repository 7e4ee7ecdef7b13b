"""What a promise does not cover, one sentence for each thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.privacy.accounting import losses
from tacit.privacy.claim import Approximate, Claim, Disclosed, Event
from tacit.privacy.ledger.account import Account, is_subsampled, list_claims
from tacit.privacy.statement.lists import group_names
from tacit.privacy.statement.prose import describe_uses, format_epsilon
from tacit.privacy.statement.prose_rows import describe_class_names
from tacit.runs.record import Prepared, Released


def list_unprotected(
    account: Account, before: Sequence[Released], plan: dict[str, Any], data: Prepared | None = None
) -> list[str]:
    """Return a sentence for each thing the promise does not cover.

    `plan` is the plan as a tree; `data` says what words were turned into, and where rows were.
    """
    text, sites, seeded = (data.text, data.sites, data.seeded) if data else ("", 0, True)
    claims = list_claims(account)
    found = []
    found += _describe_readers(claims)
    for unit in dict.fromkeys(
        claim.unit
        for claim in claims
        if describe_uses(claim) and not losses.is_unprotected(claim.event)
    ):
        whole = (
            "All votes of a round beyond their sum"
            if unit == "vote"
            else "A whole update beyond the figure per update"
        )
        found.append(f"{whole}: {unit}s are protected one by one, and their losses add up.")
    found.append(_describe_participation(claims))
    if plan.get("server", {}).get("weights", "equal") != "equal":
        found.append(
            "How many rows a client has: its messages carry that number, up to the cap if there is"
            " one."
        )
    found += [
        _describe_earlier_release(one)
        for one in before
        if one.promise.view != "server" or _is_event(one, Disclosed)
    ]
    cleartext = [
        one.promise.mechanism
        for one in before
        if one.promise.view == "server" and not _is_event(one, Disclosed)
    ]
    if data and data.classes:
        cleartext.append(describe_class_names(data.classes))
    if cleartext:
        what = (
            "What sites told in the clear"
            if sites
            else "What was read in the clear once, to make features and classes of rows"
        )
        found.append(f"{what}: {'; '.join(group_names(cleartext))}.")
    if plan.get("public"):
        found.append(
            "The public rows: the center has them in the clear, and the first model is trained on"
            " them."
        )
    found.append(_describe_measuring(plan))
    if plan.get("features", {}).get("quantise"):
        found.append(_describe_channels(plan["features"]["quantise"]))
    if text in ("hashed words", "listed words"):
        found.append(_describe_words(text, plan.get("features", {})))
    if plan.get("baselines"):
        found.append(_describe_baselines(plan["baselines"]))
    if plan.get("selected_by"):
        found.append(
            "What the choice of settings tells about the rows it was made on:"
            f" {plan['selected_by']}."
        )
    found.append("What the finished model says about the population its clients come from.")
    found.append(_describe_place(sites, seeded))
    return found


def _describe_baselines(names: Sequence[str]) -> str:
    """Return what was trained beside the run without its protection."""
    plural = "s" if len(names) > 1 else ""
    return (
        f"The baseline{plural} {', '.join(names)}: trained on the same rows to compare with,"
        " without any protection; figures of such a model are in the record and in the report."
    )


def _describe_place(sites: int, seeded: bool) -> str:
    """Return what the place of the rows and of the noise leaves open."""
    if not sites:
        return (
            "Anything in a simulation: here all rows lie on one machine, the noise can be repeated"
            " from the seed, and per-client figures are known to that machine alone."
        )
    if seeded:
        return (
            "Anything in a rehearsal: the noise can be repeated from the plan's seed, to compare"
            " with a simulation."
        )
    return "Rows, from whoever controls the machine of their site."


def _describe_participation(claims: Sequence[Claim]) -> str:
    """Return what messages show however their content is protected."""
    if is_subsampled(claims):
        return (
            "Clients from whoever learns who was asked in which round, or how many were, as one who"
            " watches the network can: the figures count on that chance."
        )
    return "That a client took part, in which rounds, when, and how long its messages were."


def _describe_words(text: str, settings: dict[str, Any]) -> str:
    """Return what inputs tell of words, to whoever reads a single update."""
    further = {
        "how often a word occurs": settings.get("counts", "presence") != "presence",
        "which words stand side by side": settings.get("ngrams", 1) > 1,
        "parts of words that no dictionary has": bool(settings.get("characters")),
    }
    told = [what for what, asked in further.items() if asked]
    whose = (
        "Words: inputs are words of a public list, so whoever reads a single update reads which of"
        " them a client has."
    )
    if text == "hashed words":
        whose = (
            "Words: the hash that turns text into numbers is public and can be undone with a"
            " dictionary."
        )
    return f"{whose} Inputs also tell {', '.join(told)}." if told else whose


def _describe_channels(settings: dict[str, Any]) -> str:
    """Return what whoever is given rows with quantised columns can read in them."""
    if settings["trained_on"] == "midpoints":
        return (
            "Quantised numbers beyond their channel's width: whoever sees a row sees which channel"
            " each of them lies in."
        )
    return (
        "Quantised numbers from guessing: whoever sees rows sees which of them have equal tokens in"
        " a column and how often each token occurs, and can guess channels from how values are"
        " spread or go together. All clients can read every token."
    )


def _describe_readers(claims: Sequence[Claim]) -> list[str]:
    """Return who reads updates that carry no noise."""
    views = {claim.view for claim in claims if losses.is_unprotected(claim.event)}
    if views == {"peers"}:
        return [
            "What an update says about the rows behind it, from the other clients: they hold the"
            " secret and read the sum."
        ]
    return (
        ["What an update says about the rows behind it: updates are sent in the clear."]
        if views
        else []
    )


def _is_event(one: Released, kind: type[Event]) -> bool:
    return isinstance(losses.unwrap(one.promise.event), kind)


def _describe_earlier_release(one: Released) -> str:
    """Return what disclosing rows, and counting them together first, told whom."""
    claim = one.promise
    if _is_event(one, Disclosed):
        return f"The rows handed to the server: {claim.mechanism}."
    if isinstance(claim.event, Approximate):
        figure = format_epsilon(claim.event.epsilon, claim.unit, claim.event.delta)
        return (
            f"In the noisy decision which rows are disclosed, more than {figure}, if you"
            f" {claim.relation}."
        )
    return f"What counting together told the other clients: {claim.mechanism}."


def _describe_measuring(plan: dict[str, Any]) -> str:
    """Return what measuring gives away: figures on held-out rows carry no noise, and may steer the
    training.
    """
    server, data = plan.get("server", {}), plan.get("data", {})
    personal = bool(plan.get("private", {}).get("parameters")) or plan.get("model", {}).get(
        "name"
    ) in ("bilstm", "encoder")
    whose = (
        "clients' own held-out rows"
        if personal or data.get("divide_test")
        else "the held-out test rows"
    )
    every = int(server.get("evaluate_every", 1))
    when = "after every round" if every == 1 else f"after every {every} rounds"
    steer = (
        " They decide when training stops, so the number of rounds depends on those rows too."
        if server.get("patience")
        else ""
    )
    own = (
        " The last figure of each client is on rows it held out itself."
        if data.get("local_test")
        else ""
    )
    return (
        f"The rows on which the model is tried: its figures on {whose} are exact, without noise,"
        f" {when}.{steer}{own}"
    )
