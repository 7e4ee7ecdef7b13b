"""Sites of a deployment that were missing, and rounds that were lost, from the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.report import phrasing
from tacit.runs.record import Entry, Refused, SiteMissing, select_entries

_LOST = "round lost"


@dataclass(frozen=True, kw_only=True)
class MissingSite:
    """A site that was missing for one reason: in which rounds and exchanges, and how many seconds
    the server waited for it. Round 0 is before the first round.
    """

    site: str
    cause: str
    reason: str
    rounds: tuple[int, ...]
    exchanges: tuple[str, ...]
    seconds: float

    @property
    def sentence(self) -> str:
        """When the site was missing, why, and how long the server waited."""
        waited = f" (waited {phrasing.format_duration(self.seconds)})" if self.seconds else ""
        if self.exchanges == ("open",):
            return f"Site {self.site} took no part: {self.reason}{waited}."
        within = [number for number in self.rounds if number]
        when = f"in {_name_rounds(within)}" if within else "before round 1"
        if self.exchanges == ("measure",):
            return f"Site {self.site} did not evaluate {when}: {self.reason}{waited}."
        return f"Site {self.site} was missing {when}: {self.reason}{waited}."


@dataclass(frozen=True, kw_only=True)
class Absences:
    """Everything that was missing in a run."""

    sites: tuple[MissingSite, ...] = ()
    lost_rounds: tuple[int, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """One sentence for each site and reason, and one for lost rounds."""
        found = [one.sentence for one in self.sites]
        if self.lost_rounds:
            rounds = _name_rounds(self.lost_rounds)
            found.append(
                f"{rounds[0].upper()}{rounds[1:]} did not change the model: lost, and charged."
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """The same as plain values; empty if nothing was missing."""
        found: dict[str, Any] = {}
        if self.sites:
            found["sites_missing"] = [
                {
                    "site": one.site,
                    "cause": one.cause,
                    "reason": one.reason,
                    "rounds": list(one.rounds),
                    "exchanges": list(one.exchanges),
                    "seconds": one.seconds,
                }
                for one in self.sites
            ]
        return {**found, **({"lost_rounds": list(self.lost_rounds)} if self.lost_rounds else {})}


def summarise_absences(entries: list[Entry]) -> Absences:
    """Group the missing replies of a record by site and reason."""
    groups: dict[tuple[str, str, str], list[SiteMissing]] = {}
    for entry in select_entries(entries, SiteMissing):
        groups.setdefault((entry.site, entry.cause, entry.reason), []).append(entry)
    sites = [
        MissingSite(
            site=site,
            cause=cause,
            reason=reason,
            rounds=tuple(sorted({one.round_no for one in group})),
            exchanges=tuple(dict.fromkeys(one.exchange for one in group)),
            seconds=round(sum(one.seconds for one in group), 3),
        )
        for (site, cause, reason), group in sorted(groups.items())
    ]
    lost = {
        one.round_no for one in select_entries(entries, Refused) if one.reason.startswith(_LOST)
    }
    return Absences(sites=tuple(sites), lost_rounds=tuple(sorted(lost)))


def _name_rounds(numbers: tuple[int, ...] | list[int]) -> str:
    """Rounds in words, consecutive ones as a range: `rounds 2 to 4 and 7`."""
    spans = list[list[int]]()
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    parts = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in spans]
    joined = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    return f"round{'s' if len(numbers) > 1 else ''} {joined}"
