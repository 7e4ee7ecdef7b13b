"""What audits found out about a run, as tables and one chart, from the findings in its record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tacit.report import phrasing
from tacit.runs.record import Audited

Findings = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AuditGrid:
    """One table: the first `words` columns hold words, the others figures. What is `aside` is shown
    when asked for.
    """

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: int = 1
    note: str = ""
    aside: bool = False


def select_latest(audits: Iterable[Audited]) -> tuple[Audited, ...]:
    """Return the last audit of each name."""
    return tuple({one.name: one for one in audits}.values())


def build_grids(audit: Audited) -> list[AuditGrid]:
    """Return the tables of an audit, those without rows left out; none for an audit this version
    does not know.
    """
    make = {
        "tokens": _tokens,
        "reconstruct": _reconstruct,
        "messages": _messages,
        "canaries": _canaries,
    }.get(audit.name)
    return [grid for grid in make(audit.findings) if grid.rows] if make else []


def select_rebuilt(audits: Iterable[Audited]) -> dict[str, list[float]]:
    """Return true values and what a server without the secret rebuilt of them, by kind of tokens;
    nothing if that was not tried.
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
    title = "Share of a text's words that each attacker read, one text at a time"
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
                f"What messages of {findings['clients']} clients of the first round's"
                f" {findings['cohort']:,} tell"
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
                "Found: the share of what is there among as many highest scores. Without: another"
                " client's message in its place, or the sum without the client. Chance has an AUC"
                " of .5."
            ),
        )
    ]


def _canaries(findings: Findings) -> list[AuditGrid]:
    return [
        AuditGrid(
            title=f"Epsilon per run that canaries show, of a claimed {findings['claimed']:g}",
            headings=(
                "number",
                "kind",
                "shown",
                "… by noise of the claimed size",
                "most it can show",
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
        _falsified,
        _spaces,
        _collisions,
    )
    return [part(findings) for part in parts]


def _seriation(findings: Findings) -> AuditGrid:
    return AuditGrid(
        title="Order of channels, by a server without the secret that sees one client's tokens",
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
        note="1 is everything up to scale and direction, 0 is nothing; the better of two ways to link tokens.",
    )


def _insiders(findings: Findings) -> AuditGrid:
    shares = ("certain", "certain_within_one", "by_weight", "guessed", "guessed_from_mean", "equal")
    return AuditGrid(
        title="Another client's channels, by a client that holds the secret",
        headings=(
            "clients",
            "known for sure",
            "… within one channel",
            "… if weights differ",
            "best guess right",
            "… from the mean alone",
            "bits left",
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
        note=f"Shares of the parameters; a channel says {findings['levels']} bits. The server sees the last column too.",
    )


def _falsified(findings: Findings) -> AuditGrid:
    kinds, found = (
        ("paper", "keyed"),
        {(one["what"], one["tokens"]): one for one in findings["falsified"]},
    )
    cases = dict.fromkeys(what for what, _ in found)
    return AuditGrid(
        title="False histograms, by a server that lies to all clients",
        headings=("falsification", "static tokens", "keyed tokens", "a client misses its own"),
        rows=[
            (
                what,
                *(_outcome(found[what, kind]) for kind in kinds),
                "yes" if all(found[what, kind]["owner_notices"] for kind in kinds) else "no",
            )
            for what in cases
        ],
        words=4,
        note="How far the next model is off, in steps: root mean squares, over the change the honest round makes. Clients do not "
        "look for their own tokens; the last column says what they would see.",
    )


def _outcome(one: Findings) -> str:
    accuracy = phrasing.format_metric("accuracy", one["accuracy"])
    return (
        "refused" if one["detected"] else f"taken: {one['off']:.2g} steps off, accuracy {accuracy}"
    )


def _spaces(findings: Findings) -> AuditGrid:
    return AuditGrid(
        title="Ranges to try for a server that knows how channels are hashed",
        headings=("the range is", "ranges", "one core takes"),
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
