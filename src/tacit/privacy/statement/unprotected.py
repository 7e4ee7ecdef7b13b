"""What the privacy guarantee does not cover, one sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, assert_never

from tacit.privacy.accounting import losses
from tacit.privacy.claim import Approximate, Claim, Disclosed, Event
from tacit.privacy.ledger.account import Account, is_subsampled, list_claims
from tacit.privacy.statement.lists import group_names
from tacit.privacy.statement.prose import describe_uses, format_epsilon
from tacit.privacy.statement.prose_rows import describe_class_names
from tacit.runs.record import Prepared, Released

Results = Literal["none", "noisy", "exact"]
"""Results on held-out rows: none, with noise of at least one site, or without noise."""


def list_unprotected(
    account: Account,
    before: Sequence[Released],
    plan: dict[str, Any],
    data: Prepared | None = None,
    *,
    results: Results = "exact",
) -> list[str]:
    """List what the guarantee does not cover, one sentence each.

    `plan` is the plan as a dict; `data` says how text was encoded and where the rows were.
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
        found.append(f"{whole}: each {unit} is protected separately, and the losses add up.")
    found.append(_describe_participation(claims))
    if plan.get("server", {}).get("weights", "equal") != "equal":
        found.append(
            "The number of rows of a client: its messages contain it, capped if the plan sets a"
            " cap."
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
    settings = plan.get("features", {})
    is_stated = settings.get("fit") == "private" or settings.get("classes")
    if data and data.classes and not is_stated:
        cleartext.append(describe_class_names(data.classes))
    if cleartext:
        what = (
            "What sites sent in the clear"
            if sites
            else "What was read once in the clear, to build features and classes"
        )
        found.append(f"{what}: {'; '.join(group_names(cleartext))}.")
    if plan.get("public"):
        found.append(
            "The public rows: the server has them in the clear and trains the initial model on"
            " them."
        )
    if results == "exact" and sites and any(claim.unit == "measure" for claim in claims):
        results = "noisy"
    found += _describe_measuring(plan, results)
    if plan.get("features", {}).get("quantise"):
        found.append(_describe_channels(plan["features"]["quantise"]))
    if text in ("hashed words", "listed words"):
        found.append(_describe_words(text, plan.get("features", {})))
    if plan.get("features", {}).get("text", "").startswith("encoder") and text:
        found.append(
            "Texts: a public network turns each into numbers, from which a reader of a single update"
            " can guess much of the text."
        )
    if plan.get("baselines"):
        found.append(_describe_baselines(plan["baselines"]))
    if plan.get("selected_by"):
        found.append(
            "What the choice of settings reveals about the rows used to choose them:"
            f" {plan['selected_by']}."
        )
    found.append(
        "What the answers reveal about the population of the clients."
        if plan.get("statistics")
        else "What the trained model reveals about the population of its clients."
    )
    found.append(_describe_place(sites, seeded))
    return found


def _describe_baselines(names: Sequence[str]) -> str:
    plural = "s" if len(names) > 1 else ""
    return (
        f"The baseline{plural} {', '.join(names)}: trained on the same rows for comparison, without"
        " any protection; the record and the report contain results of such models."
    )


def _describe_place(sites: int, seeded: bool) -> str:
    """Say against whom rows and noise are not protected, given where they are."""
    if not sites:
        return (
            "Everything in a simulation: all rows are on one machine, which also knows the results"
            " of each client, and anyone who knows the seed can reproduce the noise. The guarantee"
            " describes a deployment of the same plan."
        )
    if seeded:
        return (
            "Everything in a rehearsal: anyone who knows the plan's seed can reproduce the noise, so"
            " that the result equals a simulation."
        )
    return "Rows, from anyone who controls the machine of their site."


def _describe_participation(claims: Sequence[Claim]) -> str:
    """Say what metadata reveals, however well the content is protected."""
    if is_subsampled(claims):
        return (
            "Clients, from anyone who learns which clients were sampled in a round, or how many, for"
            " example by watching the network: amplification by subsampling relies on this"
            " secret."
        )
    return "That a client took part, in which rounds, when, and the size of its messages."


def _describe_words(text: str, settings: dict[str, Any]) -> str:
    """Say what the encoding of text reveals to a reader of a single update."""
    further = {
        "how often a word occurs": settings.get("counts", "presence") != "presence",
        "which words are adjacent": settings.get("ngrams", 1) > 1,
        "parts of words that are in no dictionary": bool(settings.get("characters")),
    }
    revealed = [what for what, asked in further.items() if asked]
    whose = (
        "Words: inputs are words of a public list, so a reader of a single update learns which of"
        " them a client uses."
    )
    if text == "hashed words":
        whose = "Words: text is hashed with a public function, which a dictionary can invert."
    return f"{whose} Inputs also reveal {', '.join(revealed)}." if revealed else whose


def _describe_channels(settings: dict[str, Any]) -> str:
    """Say what rows with quantised columns reveal to their reader."""
    if settings["trained_on"] == "midpoints":
        return (
            "Quantised numbers beyond the width of a channel: a reader of a row sees the channel of"
            " each number."
        )
    return (
        "Quantised numbers, from guessing: a reader of the rows sees equal tokens and how often each"
        " occurs, and can guess channels from known distributions and correlations. Every client"
        " can decode every token."
    )


def _describe_readers(claims: Sequence[Claim]) -> list[str]:
    """Name the readers of updates without noise."""
    views = {claim.view for claim in claims if losses.is_unprotected(claim.event)}
    if views == {"peers"}:
        return [
            "What an update reveals about its rows, from the other clients: they hold the secret key"
            " and can read the sum."
        ]
    return (
        ["What an update reveals about its rows: updates are sent in the clear."] if views else []
    )


def _is_event(one: Released, kind: type[Event]) -> bool:
    return isinstance(losses.unwrap(one.promise.event), kind)


def _describe_earlier_release(one: Released) -> str:
    """Describe disclosed rows, or what counting them revealed."""
    claim = one.promise
    if _is_event(one, Disclosed):
        return f"The rows sent to the server: {claim.mechanism}."
    if isinstance(claim.event, Approximate):
        figure = format_epsilon(claim.event.epsilon, claim.unit, claim.event.delta)
        return (
            f"The noisy choice of the rows to disclose, beyond {figure}, if you {claim.relation}."
        )
    return f"What joint counting revealed to the other clients: {claim.mechanism}."


def _describe_measuring(plan: dict[str, Any], results: Results) -> list[str]:
    """Say what evaluation reveals: results on held-out rows without noise, which may stop training.
    Empty without results.
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
        " They decide when training stops, so the number of rounds also depends on these rows."
        if server.get("patience")
        else ""
    )
    own = (
        " The final result of each client is on its own held-out rows."
        if data.get("local_test")
        else ""
    )
    match results:
        case "none":
            return []
        case "noisy":
            said = "results of sites that send exact counts have no noise"
        case "exact":
            said = "results on them are exact, without noise"
        case _:
            assert_never(results)
    return [f"{whose[0].upper()}{whose[1:]}: {said}, {when}.{steer}{own}"]
