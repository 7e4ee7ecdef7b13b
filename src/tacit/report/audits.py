"""Results of audits as tables and one chart, from the findings in a run's record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tacit.report import phrasing
from tacit.runs.record import Audited

Findings = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AuditGrid:
    """One table: the first `words` columns hold text, the others figures. A table that is `aside`
    is folded on the page.
    """

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: int = 1
    note: str = ""
    aside: bool = False


def select_latest(audits: Iterable[Audited]) -> tuple[Audited, ...]:
    """Last audit of each name."""
    return tuple({one.name: one for one in audits}.values())


def build_grids(audit: Audited) -> list[AuditGrid]:
    """Build the tables of an audit, without empty ones; none for an audit that this version does
    not know.
    """
    make = {
        "tokens": _tokens,
        "reconstruct": _reconstruct,
        "messages": _messages,
        "canaries": _canaries,
    }.get(audit.name)
    return [grid for grid in make(audit.findings) if grid.rows] if make else []


def select_rebuilt(audits: Iterable[Audited]) -> dict[str, list[float]]:
    """True values and the values that a server without the secret reconstructed, by kind of tokens;
    empty if not attempted.
    """
    return next(
        (one.findings["points"] for one in select_latest(audits) if one.name == "tokens"), {}
    )


def _reconstruct(findings: Findings) -> list[AuditGrid]:
    lines = [line for line in findings["lines"] if line["batch"] == 1]
    attackers = tuple(dict.fromkeys(line["attacker"] for line in lines))
    found = {
        (line["setting"], line["seen"], line["attacker"]): _percent(line["score"]["recall"])
        for line in lines
    }
    cases = dict.fromkeys(key[:2] for key in found)
    rows = [
        (*case, *(found.get((*case, attacker), phrasing.NONE) for attacker in attackers))
        for case in cases
    ]
    title = "Share of a text's words that each attacker recovered, one text at a time"
    return [
        AuditGrid(title=title, headings=("setting", "what is seen", *attackers), rows=rows, words=2)
    ]


def _messages(findings: Findings) -> list[AuditGrid]:
    def mean(line: Findings, key: str, form: Callable[[float], str]) -> str:
        return (
            phrasing.NONE
            if line[key] is None or line[key]["mean"] is None
            else form(line[key]["mean"])
        )

    def three(value: float) -> str:
        return f"{value:.3f}"

    columns = {
        "auc": three,
        "auc_without": three,
        "found": _percent,
        "found_without": _percent,
        "named": _percent,
    }
    return [
        AuditGrid(
            title=(
                f"What messages reveal, for {findings['clients']} clients of the first round's"
                f" {findings['cohort']:,}"
            ),
            headings=("what", "seen by", "AUC", "… without", "found", "… without", "words named"),
            rows=[
                (
                    line["what"],
                    line["who"],
                    *(mean(line, key, form) for key, form in columns.items()),
                )
                for line in findings["lines"]
            ],
            words=2,
            note=(
                "Found: the share of true items among as many highest scores. Without: the same"
                " attack on another client's message, or on the sum without the client. Random"
                " guessing has an AUC of 0.5."
            ),
        )
    ]


def _canaries(findings: Findings) -> list[AuditGrid]:
    return [
        AuditGrid(
            title=f"Empirical epsilon per run from canaries; claimed: {findings['claimed']:g}",
            headings=(
                "method",
                "kind",
                "epsilon",
                "… expected at the claim",
                "largest possible",
            ),
            rows=[
                (
                    one["name"],
                    "bound" if one["proved"] else "estimate",
                    f"{one['epsilon']:.2f}",
                    f"{one['at_claim']:.2f}",
                    phrasing.NONE if one["ceiling"] is None else f"{one['ceiling']:.2f}",
                )
                for one in findings["shown"]
            ],
            words=2,
            note=f"All at delta {findings['delta']:g}, from the models of this one run.",
        )
    ]


def _tokens(findings: Findings) -> list[AuditGrid]:
    parts: tuple[Callable[[Findings], AuditGrid], ...] = (
        _seriation,
        _insiders,
        _build_falsification_grid,
        _spaces,
        _collisions,
    )
    return [part(findings) for part in parts]


def _seriation(findings: Findings) -> AuditGrid:
    return AuditGrid(
        title="Order of channels, recovered by a server without the secret from one client's tokens",
        headings=(
            "tokens",
            "rounds seen",
            "order, |Spearman|",
            "values, |correlation|",
            "parameters placed",
        ),
        rows=[
            (
                one["tokens"],
                f"{one['transitions'] + 1}",
                f"{one['spearman']:.4f}",
                f"{one['correlation']:.4f}",
                _percent(one["placed"]),
            )
            for one in findings["seriation"]
        ],
        note="1: everything up to scale and direction is recovered; 0: nothing. The better of two ways to link tokens.",
    )


def _insiders(findings: Findings) -> AuditGrid:
    shares = ("certain", "certain_within_one", "by_weight", "guessed", "guessed_from_mean", "equal")
    return AuditGrid(
        title="Another client's channels, recovered by a client that has the secret",
        headings=(
            "clients",
            "known with certainty",
            "… within one channel",
            "… if weights differ",
            "best guess right",
            "… from the mean alone",
            "bits unknown",
            "equal at all clients",
        ),
        rows=[
            (
                f"{one['clients']}",
                *(_percent(one[key]) for key in shares[:-1]),
                f"{one['bits_left']:.2f}",
                _percent(one["equal"]),
            )
            for one in findings["insiders"]
        ],
        note=f"Shares of the parameters; a channel carries {findings['levels']} bits. The server sees the last column too.",
    )


def _build_falsification_grid(findings: Findings) -> AuditGrid:
    kinds, found = (
        ("paper", "keyed"),
        {(one["what"], one["tokens"]): one for one in findings["falsified"]},
    )
    cases = dict.fromkeys(what for what, _ in found)
    return AuditGrid(
        title="Falsified histograms, from a server that lies to all clients",
        headings=("falsification", "static tokens", "keyed tokens", "a client could notice"),
        rows=[
            (
                what,
                *(_outcome(found[what, kind]) for kind in kinds),
                "yes" if all(found[what, kind]["owner_notices"] for kind in kinds) else "no",
            )
            for what in cases
        ],
        words=4,
        note="Error of the next model, in steps: its root mean square relative to the change of an honest round. Clients do not "
        "check for their own tokens; the last column says whether such a check would detect it.",
    )


def _outcome(one: Findings) -> str:
    accuracy = phrasing.format_metric("accuracy", one["accuracy"])
    return (
        "refused"
        if one["detected"]
        else f"accepted: {one['off']:.2g} steps off, accuracy {accuracy}"
    )


def _spaces(findings: Findings) -> AuditGrid:
    return AuditGrid(
        title="Ranges that a server must try if it knows how channels are hashed",
        headings=("assumption", "ranges", "time on one core"),
        rows=[
            (one["assumption"], f"2^{one['log2']:.3g}", _years(one["years"]))
            for one in findings["spaces"]
        ],
        aside=True,
    )


def _collisions(findings: Findings) -> AuditGrid:
    return AuditGrid(
        title="Channels with the same token",
        headings=(
            "levels",
            "channels",
            "pairs at 28 bits",
            "expected",
            "at 128 bits",
            "values misread at 28 bits",
        ),
        rows=[
            (
                f"{one['levels']}",
                f"{one['channels']:,}",
                f"{one['observed']}",
                f"{one['expected']:.2g}",
                f"{one['wide']}",
                f"{100 * one['misread']:.2g} %",
            )
            for one in findings["collisions"]
        ],
        aside=True,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _years(years: float) -> str:
    if years < 0.1:
        return phrasing.format_duration(years * 365.25 * 24 * 3600)
    if years < 1e6:
        return f"{float(f'{years:.2g}'):,g} years"
    digit, power = f"{years:.0e}".split("e")
    return f"{digit} × 10^{int(power)} years"
