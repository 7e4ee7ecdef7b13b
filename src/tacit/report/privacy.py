"""The promise of a run as its record states it: totals with their units, what they rest on, and what is not covered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.record import RUN, Entry, Prepared, Released, Spent, Started, of_kind
from tacit.report import phrasing


@dataclass(frozen=True, kw_only=True)
class Total:
    """One total of the ledger. None: no number exists."""

    unit: str
    epsilon: float | None
    text: str
    composition: str


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """What a data owner was promised, in words and figures."""

    statement: str
    totals: list[Total]
    mechanisms: list[str]
    relations: list[str]
    views: list[str]
    trust: list[str]
    sources: list[str]
    unprotected: list[str]

    @property
    def rests_on(self) -> str:
        """Whom one must believe, in one phrase."""
        return "; ".join(self.trust) or "nobody else"


_POOLED = "none: rows are pooled"
_KEPT = "nothing leaves"


def per_update(entries: list[Entry], arm: str, method: str = "") -> str:
    """Return what one update of an arm costs its client, in words; `method` is how the run itself trains."""
    spent = of_kind(entries, Spent, arm)
    totals = spent[-1].totals if spent else {}
    value = totals.get("update")
    if value is not None:
        return phrasing.epsilon(value, "update") if value > 0 else _KEPT
    way = method if arm == RUN else arm
    if way == "central":
        return _POOLED
    words = {entry.loss for entry in _updates(entries, arm)}
    if "open" in words or "unproven" in words:
        return "none: sent in the clear" if "open" in words else "unproven: no known bound"
    if words == {"free"} or way == "local":
        return _KEPT
    return "no bound" if "update" in totals else "not stated"


def privacy(entries: list[Entry]) -> Privacy:
    """Return the promise of the run itself; baselines are there for comparison and promise nothing."""
    released = _updates(entries, RUN)
    spent = of_kind(entries, Spent, RUN)
    last = spent[-1] if spent else None
    return Privacy(
        statement=last.statement if last else "No release has been recorded yet, so there is nothing to state.",
        totals=[_total(unit, value, released) for unit, value in (last.totals if last else {}).items()],
        mechanisms=_each(released, lambda entry: entry.mechanism),
        relations=_each(released, lambda entry: entry.relation),
        views=_each(released, lambda entry: entry.view),
        trust=list(dict.fromkeys(word for entry in released for word in entry.trust)),
        sources=_each(released, lambda entry: entry.source),
        unprotected=_unprotected(entries, released),
    )


def _updates(entries: list[Entry], arm: str) -> list[Released]:
    """Return what left in rounds; round 0 is what was read in the clear to make features."""
    return [entry for entry in of_kind(entries, Released, arm) if entry.round_no > 0]


def _each(released: list[Released], read: Callable[[Released], str]) -> list[str]:
    return list(dict.fromkeys(read(entry) for entry in released if read(entry)))


def _total(unit: str, value: float | None, released: list[Released]) -> Total:
    text = f"{phrasing.bound(value)} {phrasing.per(unit)}" if value is not None else f"no bound {phrasing.per(unit)}"
    return Total(unit=unit, epsilon=value, text=text, composition=_composition(unit, released))


def _composition(unit: str, released: list[Released]) -> str:
    base, _, extra = unit.partition(" (")
    rounds = len({entry.round_no for entry in released})
    counts = {(entry.count, entry.unit) for entry in released if entry.unit != base}
    if base == "run":
        return f"sum over the rounds of the client that took part most, {rounds} at most" + (
            ", as (epsilon, delta)" if extra else ""
        )
    if base == "update" and len(counts) == 1:
        count, of = counts.pop()
        return f"all {count:,} {of}s of one update together"
    return f"one {base} alone"


def _unprotected(entries: list[Entry], released: list[Released]) -> list[str]:
    """Return a sentence for each thing the promise does not cover."""
    words = {entry.loss for entry in released}
    found = []
    if "open" in words:
        found.append("What an update says about the rows behind it: updates are sent in the clear.")
    if "unproven" in words:
        found.append("What an update says about the rows behind it: no bound is proved for this mechanism.")
    if "pure" in words:
        found.append("A whole update beyond the figure per update: bits are protected one by one, and their losses add up.")
    found.append("That a client took part, in which rounds, when, and how long its messages were.")
    if _weighed_by_rows(entries):
        found.append("How many rows a client has: its messages carry that number, up to the cap if there is one.")
    before = [entry for entry in of_kind(entries, Released, RUN) if entry.round_no == 0]
    found += [_of_sharing(entry) for entry in before if entry.loss == "disclosed" or entry.view != "server"]
    cleartext = [entry.mechanism for entry in before if entry.loss == "open" and entry.view == "server"]
    if cleartext:
        found.append(f"What was read in the clear once, to make features of rows: {_listed(cleartext)}.")
    if _hashes_words(entries):
        found.append("Words: the hash that turns text into numbers is public and can be undone with a dictionary.")
    found.append("What the finished model says about the population its clients come from.")
    found.append(
        "Anything in a simulation: here all rows lie on one machine, the noise can be repeated from the seed, and per-client "
        "figures are known to that machine alone."
    )
    return found


def _of_sharing(entry: Released) -> str:
    """Return what sharing rows, and counting them together first, told whom."""
    if entry.loss == "disclosed":
        return f"The rows handed to the server: {entry.mechanism}."
    if entry.epsilon is not None:
        figure = phrasing.epsilon(entry.epsilon, entry.unit)
        return f"In the noisy decision which rows are shared, more than {figure}, under this change of data: {entry.relation}."
    return f"What counting together told the other clients: {entry.mechanism}."


def _listed(things: list[str], most: int = 8) -> str:
    return ", ".join(things[:most]) + (f" and {len(things) - most} more" if len(things) > most else "")


def _weighed_by_rows(entries: list[Entry]) -> bool:
    started = of_kind(entries, Started)
    return bool(started) and started[0].plan.get("server", {}).get("weights", "equal") != "equal"


def _hashes_words(entries: list[Entry]) -> bool:
    started, prepared = of_kind(entries, Started), of_kind(entries, Prepared)
    buckets = started[0].plan.get("features", {}).get("buckets") if started else None
    # A table's own columns hardly ever are as many as the buckets words are hashed to.
    return bool(buckets and prepared and prepared[0].inputs >= buckets)
