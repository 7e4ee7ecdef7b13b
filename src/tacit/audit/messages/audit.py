"""The attack on messages over several seeds: figures with their intervals, and sentences that
describe them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

from tacit.audit.messages.attack import (
    LABELS,
    AttackResult,
    ClientExample,
    Reading,
    attack_messages,
)
from tacit.audit.messages.views import BEFORE_NOISE, CONTROL, NO_MESSAGE
from tacit.interval import confidence_interval
from tacit.plan import Plan

NAME = "messages"
_SHOWN = 2  # clients whose words are shown, if they may be
_WORKS, _NEXT_TO_NOTHING = 0.9, 0.01


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A mean over seeds and its 95 % interval; there is no interval for a single seed."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class MessageAuditLine:
    """What one party learns about one target.

    `found` is the share of present inputs among as many highest scores, `chance` that of a random
    guess. The figures without the message are those of the same attack on another client's message,
    or on the same sum without the client; `gain` is by how much the AUC is larger with it. `named`
    is the share of a client's words that a public dictionary names.
    """

    what: str
    who: str
    column: bool
    auc: Figure
    found: Figure | None
    chance: float | None
    auc_without: Figure | None
    found_without: Figure | None
    gain: Figure | None
    named: Figure | None

    @property
    def told(self) -> bool | None:
        """Whether the message reveals something about its client, as far as the seeds can show;
        None if they cannot.
        """
        gain = self.gain
        return None if gain is None or gain.low is None else gain.low > 0


@dataclass(frozen=True, kw_only=True)
class MessageAudit:
    """All lines, with the settings under which they were measured."""

    source: str
    mechanism: tuple[str, ...]
    parameters: int
    clients: int
    cohort: int
    seeds: tuple[int, ...]
    sizes: dict[str, tuple[int, float]]
    public_words: int
    sharing: float
    lines: tuple[MessageAuditLine, ...]
    notes: tuple[str, ...]
    examples: tuple[ClientExample, ...]

    def as_json(self) -> dict[str, Any]:
        """The audit as plain values."""
        return {"attack": NAME, **_replace_nan(asdict(self)), "sentences": write_sentences(self)}

    def of(self, what: str) -> list[MessageAuditLine]:
        """List the lines about one target."""
        return [line for line in self.lines if line.what == what and not line.column]

    @property
    def things(self) -> list[str]:
        """Names of the targets, without single columns."""
        return list(dict.fromkeys(line.what for line in self.lines if not line.column))


def read_messages(
    job: Plan,
    clients: int,
    seeds: Sequence[int],
    *,
    rows: bool = False,
    progress: Callable[[str], None] = lambda words: None,
) -> MessageAudit:
    """Attack clients' messages of the first round over some seeds; with `rows`, keep examples of
    true words and categories.
    """
    found = list[AttackResult]()
    for seed in seeds:
        progress(f"messages of {clients} clients, seed {seed}")
        found.append(
            attack_messages(
                replace(job, seed=seed), clients, examples=_SHOWN if rows and not found else 0
            )
        )
    first = found[0]
    readings = [one for each in found for one in each.readings]
    keys = dict.fromkeys((one.what, one.who, one.column) for one in readings)
    return MessageAudit(
        source=first.source,
        mechanism=first.mechanism,
        parameters=first.parameters,
        clients=first.clients,
        cohort=first.cohort,
        seeds=tuple(seeds),
        sizes={
            name: (size, fmean(each.sizes[name][1] for each in found))
            for name, (size, _) in first.sizes.items()
        },
        public_words=first.public_words,
        sharing=first.sharing,
        lines=tuple(
            _line(
                [
                    one
                    for each in found
                    for one in each.readings
                    if (one.what, one.who, one.column) == key
                ]
            )
            for key in keys
        ),
        notes=tuple(_notes(job, first)),
        examples=tuple(first.examples),
    )


def _line(readings: list[Reading]) -> MessageAuditLine:
    first = readings[0]
    controls = [0.5 if one.what == LABELS else one.auc_without for one in readings]
    gains = [
        one.auc - other for one, other in zip(readings, controls, strict=True) if other is not None
    ]
    chances = [one.chance for one in readings if one.chance is not None]
    return MessageAuditLine(
        what=first.what,
        who=first.who,
        column=first.column,
        auc=_figure([one.auc for one in readings]) or Figure(mean=math.nan, low=None, high=None),
        found=_figure([one.found for one in readings]),
        chance=fmean(chances) if chances else None,
        auc_without=_figure([one.auc_without for one in readings]),
        found_without=_figure([one.found_without for one in readings]),
        gain=_figure(list(gains)),
        named=_figure([one.named for one in readings]),
    )


def _figure(values: Sequence[float | None]) -> Figure | None:
    """Mean of the known values with its confidence interval over seeds."""
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known:
        return None
    low, high = confidence_interval(known) or (None, None)
    return Figure(mean=fmean(known), low=low, high=high)


def write_sentences(audit: MessageAudit) -> list[str]:
    """Describe the results of each party in sentences, the control first, then what was not
    attacked.
    """
    found = []
    for what in audit.things:
        lines = audit.of(what)
        found += [_control(what, line) for line in lines if line.who == CONTROL]
        found += [
            _describe_line(what, line) for line in lines if line.who not in (CONTROL, NO_MESSAGE)
        ]
    return [*found, *audit.notes]


def _control(what: str, line: MessageAuditLine) -> str:
    works = line.auc.mean >= _WORKS
    verdict = (
        "the attack works"
        if works
        else "the attack itself is weak here, so low figures below prove little"
    )
    return f"Control, {what}: from the unmodified update, AUC {_auc(line.auc)}; {verdict}."


def _describe_line(what: str, line: MessageAuditLine) -> str:
    who = line.who.removeprefix("… and ")
    who = f"a party that sees that sum and {who}" if who != line.who else who
    if what == LABELS:
        tells = {True: "tells", False: "does not tell better than chance", None: "may tell"}[
            line.told
        ]
        return (
            f"Labels, {who}: {tells} which of two clients has more rows of a class: right in "
            f"{_percent(line.auc)} of pairs (chance 50 %)."
        )
    assert line.found is not None
    share = f"finds {_percent(line.found)} of a client's {what}"
    if line.found_without is None or line.told is None:
        return f"{what.capitalize()}, {who}: {share}."
    comparison = f"AUC {_auc(line.auc)} with the client's message, {_auc(line.auc_without)} without"
    finding = "these seeds do not show that the message reveals anything"
    if line.told and line.gain is not None:
        finding = f"the message reveals data: it {share}, against {_percent(line.found_without)} without it"
        if line.gain.mean < _NEXT_TO_NOTHING:
            finding = (
                f"the message reveals almost nothing: it raises the AUC by {line.gain.mean:.4f}"
            )
    return f"{what.capitalize()}, {who}: {finding}; {comparison}."


def _notes(job: Plan, found: AttackResult) -> list[str]:
    """Describe what is not attacked, one sentence each, and what to do about it."""
    kinds, notes = {block.kind: block.name for block in found.blocks}, []
    if not found.sizes:
        notes.append(
            "No layer that is sent has inputs for words or categories, so their presence is not "
            "attacked; `tacit plan disclose` shows what is sent."
        )
    if "number" in kinds or "picture" in kinds:
        what = "pixels or features of images" if "picture" in kinds else "values of numeric columns"
        notes.append(
            f"Not attacked: {what}. With few rows per client an update can be close to the rows"
            " themselves; bound the privacy loss of the run ([privacy] preset = 'private') or use "
            "secure aggregation ([secure_aggregation])."
        )
    if job.server.rounds > 1:
        notes.append(
            f"One round is attacked; a client responds in up to {job.server.rounds:,} rounds, and "
            "what they reveal adds up."
        )
    if job.filter is not None:
        notes.append(
            "Not attacked: the last layers and votes that [filter] sends before the update."
        )
    if job.data.share is not None:
        notes.append(
            "Rows that [data.share] discloses need no attack: `tacit plan disclose` lists them."
        )
    if any(reading.who == BEFORE_NOISE for reading in found.readings):
        notes.append(
            "The server is trusted: it sees every update before it adds the noise. With "
            "[secure_aggregation] it sees only the sum."
        )
    return notes


def _auc(figure: Figure | None) -> str:
    return "–" if figure is None else f"{figure.mean:.3f}"


def _percent(figure: Figure | None) -> str:
    return "–" if figure is None else f"{100 * figure.mean:.{0 if figure.mean >= 0.1 else 1}f} %"


def _replace_nan(value: Any) -> Any:
    """Replace NaN in nested values by None, since JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _replace_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
