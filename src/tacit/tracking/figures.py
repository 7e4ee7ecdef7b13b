"""Figures of a record: what trackers receive. No figure is about a single client or a single site."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tacit.privacy.claim import Total
from tacit.privacy.statement import prose
from tacit.runs.record import (
    RUN,
    Entry,
    Finished,
    Prepared,
    Refused,
    Released,
    Round,
    SiteMissing,
    Spent,
    Started,
    Stored,
    Voted,
)

_MODEL_FILE = "model.safetensors"
_NOT_LOGGED = ("track",)
"""Tables of the plan that say where figures go, which may be a path or an address."""
_MOST_LETTERS = 80


@dataclass(frozen=True, kw_only=True)
class LoggedFigure:
    """A number of one arm after a round."""

    arm: str
    round_no: int
    name: str
    value: float


@dataclass(kw_only=True)
class FigureBatch:
    """Figures of some entries, settings of the run, and texts about it, each by its name.

    A later text replaces an earlier one of the same name. `finished` are arms that have ended.
    """

    figures: list[LoggedFigure] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)

    def add(self, other: FigureBatch) -> None:
        """Add the figures of later entries."""
        self.figures += other.figures
        self.settings |= other.settings
        self.texts |= other.texts
        self.finished += other.finished


class FigureReader:
    """Reads the figures of one run from its entries, in the order of the record."""

    def __init__(self) -> None:
        self._refused, self._missing = Counter[str](), Counter[str]()
        self._rejected: dict[str, int] = {}
        self._claims: dict[str, str] = {}

    def read(self, entry: Entry) -> FigureBatch:
        """The figures of an entry; empty for entries without any."""
        match entry:
            case Started():
                return FigureBatch(settings=dict(_list_settings(entry)))
            case Prepared():
                return FigureBatch(settings=_describe_data(entry))
            case Released(arm="run"):
                self._note_claim(entry)
            case Refused():
                self._refused[entry.arm] += 1
            case SiteMissing():
                self._missing[entry.arm] += 1
            case Voted():
                self._rejected[entry.arm] = len(entry.rejected)
            case Spent():
                return self._read_spent(entry)
            case Round():
                return FigureBatch(figures=list(self._list_round(entry)))
            case Stored() if _MODEL_FILE in entry.sha256:
                return FigureBatch(texts={"model_sha256": entry.sha256[_MODEL_FILE]})
            case Finished():
                return self._read_finished(entry)
            case _:
                pass
        return FigureBatch()

    def _note_claim(self, entry: Released) -> None:
        claim = entry.promise
        said = f"relation: {claim.relation}; trust required: {', '.join(claim.trust) or 'nobody'}"
        self._claims.setdefault(entry.exchange, said)

    def _read_spent(self, entry: Spent) -> FigureBatch:
        totals = [Total(**total) for total in entry.totals]
        figures = [
            LoggedFigure(
                arm=clean_name(entry.arm),
                round_no=entry.round_no,
                name=_name_epsilon(total),
                value=total.epsilon,
            )
            for total in totals
            if _is_number(total.epsilon) and total.epsilon is not None
        ]
        texts = {"privacy": self._describe_privacy(totals)} if entry.arm == RUN else {}
        return FigureBatch(figures=figures, texts=texts)

    def _describe_privacy(self, totals: list[Total]) -> str:
        """Totals of the client that took part most often, with composition, relation and trust."""
        stated = [
            f"{prose.format_epsilon(total.epsilon, total.unit, total.delta)} ({total.basis})"
            for total in totals
        ]
        claims = [f"{exchange}: {said}" for exchange, said in self._claims.items()]
        return "\n".join([*stated, *claims])

    def _list_round(self, entry: Round) -> Iterator[LoggedFigure]:
        found: dict[str, float] = {
            **entry.metrics,
            "bytes_up": entry.bytes_up,
            "bytes_down": entry.bytes_down,
            "clients": entry.cohort,
            "seconds": entry.seconds,
            "refused_messages": self._refused.pop(entry.arm, 0),
            "missing_sites": self._missing.pop(entry.arm, 0),
        }
        if entry.arm in self._rejected:
            found["rejected_clients"] = self._rejected.pop(entry.arm)
        for name, value in found.items():
            if _is_number(value):
                yield LoggedFigure(
                    arm=clean_name(entry.arm),
                    round_no=entry.round_no,
                    name=clean_name(name),
                    value=float(value),
                )

    def _read_finished(self, entry: Finished) -> FigureBatch:
        arm = clean_name(entry.arm)
        figures = [
            LoggedFigure(
                arm=arm, round_no=entry.rounds, name=f"final_{clean_name(name)}", value=float(value)
            )
            for name, value in entry.metrics.items()
            if _is_number(value)
        ]
        return FigureBatch(
            figures=figures,
            texts={f"parameters_sha256.{arm}": entry.parameters_sha256},
            finished=[entry.arm],
        )


def _name_epsilon(total: Total) -> str:
    """Name an epsilon with its unit, and with its delta if there is one."""
    name = f"epsilon_per_{clean_name(total.unit)}"
    return f"{name}_delta_{clean_name(f'{total.delta:g}')}" if total.delta else name


def clean_name(name: str) -> str:
    """A name that every tracker accepts, and that is no path: letters, digits, _ and - only."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", str(name)).lstrip("_-")[:_MOST_LETTERS]
    return plain or "unnamed"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _list_settings(entry: Started) -> Iterator[tuple[str, str]]:
    """Settings of the plan by key, and the hash of the plan."""
    yield from _flatten({key: value for key, value in entry.plan.items() if key not in _NOT_LOGGED})
    yield "plan_sha256", entry.plan_fingerprint
    for name, version in entry.versions.items():
        yield f"version.{clean_name(name)}", str(version)


def _flatten(table: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        name = f"{path}{clean_name(key)}"
        if isinstance(value, dict):
            yield from _flatten(value, f"{name}.")
        else:
            yield name, str(value)


def _describe_data(entry: Prepared) -> dict[str, str]:
    facts = {
        "clients": entry.clients,
        "sites": entry.sites,
        "rows_train": entry.rows_train,
        "rows_test": entry.rows_test,
        "parameters": entry.parameters,
        "classes": len(entry.classes),
    }
    return {f"prepared.{name}": str(value) for name, value in facts.items()}
