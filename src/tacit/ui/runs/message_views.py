"""What a message contains and what an attacker reads in it, from the JSON output of two commands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tacit.report.audits import AuditGrid, build_grids
from tacit.runs.record import Audited

_MAX_TEXTS, _MAX_WORDS, _MAX_SENTENCES = 24, 60, 40
_MAX_BARS = 40


@dataclass(frozen=True, kw_only=True)
class AttackReading:
    """What one attacker reads; each word with whether it is right."""

    who: str
    words: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, kw_only=True)
class TextComparison:
    """What a client has and what each attacker reads; the control is one of them."""

    title: str
    own_title: str
    own: str
    readings: tuple[AttackReading, ...]


@dataclass(frozen=True, kw_only=True)
class AttackView:
    """Results of an attack on messages."""

    sentences: tuple[str, ...]
    grids: tuple[AuditGrid, ...]
    texts: tuple[TextComparison, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MessageField:
    """A part of a message, with what it is for."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class MessageReadings:
    """One message field by field, or the rows that would be disclosed."""

    privacy: str
    sentences: tuple[str, ...]
    fields: tuple[MessageField, ...]
    facts: tuple[tuple[str, str], ...] = ()
    grids: tuple[AuditGrid, ...] = ()


def view_attack(values: dict[str, Any]) -> AttackView:
    """Read the output of `tacit audit reconstruct --rows --json`; what it lacks is left out."""
    name = "messages" if values.get("attack") == "messages" else "reconstruct"
    try:
        grids = tuple(build_grids(Audited(name=name, findings=values)))
    except (KeyError, TypeError, ValueError, AttributeError):
        grids = ()
    examples = [one for one in _as_list(values.get("examples")) if isinstance(one, dict)]
    sentences = _texts(values.get("sentences"))
    return AttackView(
        sentences=sentences,
        grids=grids,
        texts=(*_compare_texts(examples), *_compare_guesses(examples))[:_MAX_TEXTS],
        notes=tuple(note for note in _texts(values.get("notes")) if note not in sentences),
    )


def _compare_texts(examples: list[dict[str, Any]]) -> Iterable[TextComparison]:
    """Texts of a plan with word embeddings, each with what every attacker recovered."""
    for example in examples:
        recovered = example.get("recovered")
        if "original" not in example or not isinstance(recovered, dict):
            continue
        words = [str(word) for word in _as_list(example["original"])]
        readings = [
            AttackReading(who=str(who), words=_mark(map(str, _as_list(found)), set(words)))
            for who, found in recovered.items()
        ]
        yield TextComparison(
            title=f"{example.get('setting', '')}: {example.get('seen', '')}",
            own_title="The client's text",
            own=" ".join(words[:_MAX_WORDS]),
            readings=tuple(readings),
        )


def _compare_guesses(examples: list[dict[str, Any]]) -> Iterable[TextComparison]:
    """Inputs of clients, each with the highest scores in every view of the messages."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for example in examples:
        if "guesses" in example:
            key = str(example.get("client", "")), str(example.get("what", ""))
            groups.setdefault(key, []).append(example)
    for (client, what), views in groups.items():
        guesses = [
            (view, [one for one in _as_list(view.get("guesses")) if isinstance(one, dict)])
            for view in views
        ]
        true = {
            str(one.get("place", "")) for _, found in guesses for one in found if one.get("true")
        }
        own = " ".join(sorted(true)[:_MAX_WORDS])
        yield TextComparison(
            title=f"Client {client}: {what}",
            own_title=f"The client has {_text(views[0].get('held'))}; here named are",
            own=own or "none: every guess is wrong",
            readings=tuple(
                AttackReading(
                    who=str(view.get("who", "")),
                    words=_mark((str(one.get("place", "")) for one in found), true),
                )
                for view, found in guesses
            ),
        )


def _mark(words: Iterable[str], right: set[str]) -> tuple[tuple[str, bool], ...]:
    return tuple((word, word in right) for word in islice(words, _MAX_WORDS))


_MEANINGS = {
    "run": "the run that the message belongs to",
    "round_no": "the round",
    "sender": "the client's number in this run",
    "codec": "how the update is encoded",
    "dim": "numbers in the update",
    "weight": "how much the client counts in the mean",
    "payload_size": "bytes of the payload",
}


def view_message(values: dict[str, Any]) -> MessageReadings:
    """Read the output of `tacit plan disclose --json`."""
    message = values.get("message")
    if isinstance(message, dict):
        return _view_one_message(values, message)
    return _view_rows(values)


def _view_one_message(values: dict[str, Any], message: dict[str, Any]) -> MessageReadings:
    fields = message.get("fields")
    named = fields.items() if isinstance(fields, dict) else ()
    return MessageReadings(
        privacy=str(values.get("privacy", "")),
        sentences=(
            "No row leaves a client. In each round, each sampled client sends one message.",
        ),
        fields=(
            *(
                MessageField(
                    name=str(name), value=_text(value), meaning=_MEANINGS.get(str(name), "")
                )
                for name, value in named
            ),
            MessageField(
                name="payload",
                value=f"{message.get('first_bytes', '')} …",
                meaning="; ".join(_texts(message.get("mechanism"))),
            ),
        ),
        facts=(
            ("Fields before the payload", f"{_text(message.get('head_bytes'))} bytes"),
            ("Payload", f"{_text(message.get('payload_bytes'))} bytes"),
            ("The model reads", _text(message.get("reads"))),
            (
                "Sent once, in the clear",
                ", ".join(_texts(message.get("in_the_clear"))) or "nothing",
            ),
        ),
    )


def _view_rows(values: dict[str, Any]) -> MessageReadings:
    """Rows that pass a plan's rule, and would leave once."""
    share = values.get("share")
    percent = f" ({share:.1%})" if isinstance(share, float) else ""
    given, rows = values.get("disclosed_per_client"), values.get("rows_per_client")
    clients: list[tuple[str, ...]] = [
        (f"client {number}", _text(one), _text(of))
        for number, (one, of) in enumerate(zip(_as_list(given), _as_list(rows), strict=False))
    ]
    classes = [*_as_list(values.get("largest")), *_as_list(values.get("smallest"))[::-1]]
    return MessageReadings(
        privacy="",
        sentences=(
            f"{_text(values.get('disclosed'))} of {_text(values.get('rows'))} rows{percent} pass the"
            " plan's rule. They would leave once, in plaintext, before round one. All other rows"
            " stay.",
        ),
        fields=(),
        facts=(
            ("Columns that would leave", ", ".join(_texts(values.get("columns")))),
            ("Equal rows are found by", ", ".join(_texts(values.get("key")))),
            ("Equivalence classes", _text(values.get("classes"))),
            ("Rows of the smallest class", _text(values.get("smallest_class"))),
            ("Classes with a single label", _text(values.get("single_label_classes"))),
        ),
        grids=(
            AuditGrid(
                title="Rows of each client",
                headings=("client", "would leave", "of rows"),
                rows=clients[:_MAX_BARS],
            ),
            AuditGrid(
                title="Largest and smallest equivalence classes that would leave",
                headings=("equal values", "rows", "labels"),
                rows=[_view_class(one) for one in classes if isinstance(one, dict)][:_MAX_BARS],
            ),
        ),
    )


def _view_class(found: dict[str, Any]) -> tuple[str, ...]:
    equal, labels = found.get("values"), found.get("labels")
    return (
        ", ".join(f"{key} {value}" for key, value in equal.items())
        if isinstance(equal, dict)
        else "",
        _text(found.get("rows")),
        ", ".join(f"{name} {_text(count)}" for name, count in labels.items())
        if isinstance(labels, dict)
        else "",
    )


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value[:_MAX_SENTENCES])
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in _as_list(value)[:_MAX_SENTENCES])


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
