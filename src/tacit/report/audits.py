"""What audits found out about a run, as tables and one chart, from the findings in its record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tacit.record import Audited
from tacit.report import phrasing

Findings = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """One table: the first `words` columns hold words, the others figures."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: int = 1
    note: str = ""


def latest(audits: Iterable[Audited]) -> tuple[Audited, ...]:
    """Return the last audit of each name."""
    return tuple({one.name: one for one in audits}.values())


def grids(audit: Audited) -> list[Grid]:
    """Return the tables of an audit, those without rows left out; none for an audit this version does not know."""
    make = {"tokens": _tokens, "reconstruct": _reconstruct}.get(audit.name)
    return [grid for grid in make(audit.findings) if grid.rows] if make else []


def rebuilt(audits: Iterable[Audited]) -> dict[str, list[float]]:
    """Return true values and what a server without the secret rebuilt of them, by kind of tokens; nothing if that was not tried."""
    return next((one.findings["points"] for one in latest(audits) if one.name == "tokens"), {})


def _reconstruct(findings: Findings) -> list[Grid]:
    lines = [line for line in findings["lines"] if line["batch"] == 1]
    attackers = tuple(dict.fromkeys(line["attacker"] for line in lines))
    found = {(line["setting"], line["seen"], line["attacker"]): _percent(line["score"]["recall"]) for line in lines}
    cases = dict.fromkeys(key[:2] for key in found)
    rows = [(*case, *(found.get((*case, attacker), phrasing.NONE) for attacker in attackers)) for case in cases]
    title = "Share of a text's words that each attacker read, one text at a time"
    return [Grid(title=title, headings=("setting", "what is seen", *attackers), rows=rows, words=2)]


def _tokens(findings: Findings) -> list[Grid]:
    parts: tuple[Callable[[Findings], Grid], ...] = (_seriation, _insiders, _falsified, _spaces, _collisions)
    return [part(findings) for part in parts]


def _seriation(findings: Findings) -> Grid:
    return Grid(
        title="Order of channels, by a server without the secret that sees one client's tokens",
        headings=("tokens", "rounds seen", "order, |Spearman|", "values, |correlation|", "parameters placed"),
        rows=[
            (
                one["tokens"], f"{one['transitions'] + 1}", f"{one['spearman']:.4f}", f"{one['correlation']:.4f}",
                _percent(one["placed"]),
            )
            for one in findings["seriation"]
        ],
        note="1 is all of it up to scale and direction, 0 is nothing.",
    )  # fmt: skip


def _insiders(findings: Findings) -> Grid:
    shares = ("certain", "certain_within_one", "by_weight", "guessed", "guessed_from_mean", "equal")
    return Grid(
        title="Another client's channels, by a client that holds the secret",
        headings=(
            "clients", "known for sure", "… within one channel", "… if weights differ", "best guess right",
            "… from the mean alone", "bits left", "equal at all clients",
        ),
        rows=[
            (f"{one['clients']}", *(_percent(one[key]) for key in shares[:-1]), f"{one['bits_left']:.2f}", _percent(one["equal"]))
            for one in findings["insiders"]
        ],
        note=f"Shares of the parameters; a channel says {findings['levels']} bits. The server sees the last column too.",
    )  # fmt: skip


def _falsified(findings: Findings) -> Grid:
    kinds = {"paper": "static", "keyed": "keyed"}
    return Grid(
        title="False histograms",
        headings=("falsification", "tokens", "refused", "model off, in steps", "accuracy then", "some client misses its token"),
        rows=[
            (
                one["what"], kinds[one["tokens"]], "yes" if one["detected"] else "no",
                phrasing.NONE if one["detected"] else f"{one['off']:.2g}",
                phrasing.NONE if one["detected"] else phrasing.metric("accuracy", one["accuracy"]),
                "yes" if one["owner_notices"] else "no",
            )
            for one in findings["falsified"]
        ],
        words=3,
        note="A step is the root mean square change of the honest round. Clients do not look for their own tokens yet.",
    )  # fmt: skip


def _spaces(findings: Findings) -> Grid:
    return Grid(
        title="Ranges to try for a server that knows how channels are hashed",
        headings=("the range is", "ranges", "one core takes"),
        rows=[(one["assumption"], f"2^{one['log2']:.3g}", _years(one["years"])) for one in findings["spaces"]],
    )


def _collisions(findings: Findings) -> Grid:
    return Grid(
        title="Channels with the same token",
        headings=("levels", "channels", "pairs at 28 bits", "expected", "at 128 bits", "values misread at 28 bits"),
        rows=[
            (
                f"{one['levels']}", f"{one['channels']:,}", f"{one['observed']}", f"{one['expected']:.2g}", f"{one['wide']}",
                f"{100 * one['misread']:.2g} %",
            )
            for one in findings["collisions"]
        ],
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _years(years: float) -> str:
    if years < 0.1:
        return phrasing.duration(years * 365.25 * 24 * 3600)
    return f"{years:,.1f} years" if years < 1e5 else f"{years:.0e} years".replace("e+", " × 10^")
