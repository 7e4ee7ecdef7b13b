"""What a message contains and what an attacker reads in it, from the JSON output of two commands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tacit.report.audits import AuditGrid, build_grids
from tacit.runs.record import Audited

_MAX_PAIRS, _MAX_WORDS, _MAX_SENTENCES = 24, 60, 40


@dataclass(frozen=True, kw_only=True)
class TextPair:
    """What a client has and what an attacker reads; each word with whether it is right."""

    title: str
    left_title: str
    left: str
    right_title: str
    right: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, kw_only=True)
class AttackView:
    """Results of an attack on messages."""

    sentences: tuple[str, ...]
    grids: tuple[AuditGrid, ...]
    pairs: tuple[TextPair, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MessageReadings:
    """One message, or disclosed rows, as pairs of name and value."""

    privacy: str
    sentences: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]


def view_attack(values: dict[str, Any]) -> AttackView:
    """Read the output of `tacit audit reconstruct --rows --json`; what it lacks is left out."""
    name = "messages" if values.get("attack") == "messages" else "reconstruct"
    try:
        grids = tuple(build_grids(Audited(name=name, findings=values)))
    except (KeyError, TypeError, ValueError, AttributeError):
        grids = ()
    examples = [one for one in _as_list(values.get("examples")) if isinstance(one, dict)]
    pairs = [pair for one in examples for pair in _pair(one)]
    return AttackView(
        sentences=_texts(values.get("sentences")),
        grids=grids,
        pairs=tuple(pairs[:_MAX_PAIRS]),
        notes=_texts(values.get("notes")),
    )


def _pair(example: dict[str, Any]) -> Iterable[TextPair]:
    """The text of an example, paired with each attacker's reconstruction of it."""
    if "original" in example:
        words = [str(word) for word in _as_list(example["original"])]
        recovered = example.get("recovered")
        for attacker, found in recovered.items() if isinstance(recovered, dict) else ():
            yield TextPair(
                title=f"{example.get('setting', '')}: {example.get('seen', '')}",
                left_title="the client's text",
                left=" ".join(words[:_MAX_WORDS]),
                right_title=f"read by {attacker}",
                right=_mark([str(word) for word in _as_list(found)], set(words)),
            )
        return
    guesses = [one for one in _as_list(example.get("guesses")) if isinstance(one, dict)]
    if not guesses:
        return
    true = {str(word) for one in guesses for word in _as_list(one.get("true"))}
    held = example.get("held")
    yield TextPair(
        title=f"Client {example.get('client', '')}: {example.get('what', '')}",
        left_title=f"what the client has ({held} in all), as far as the attack names it",
        left=" ".join(sorted(true)[:_MAX_WORDS]) or "none of the guesses is right",
        right_title=f"read by {example.get('who', 'the attacker')}",
        right=_mark([str(one.get("place", "")) for one in guesses], true),
    )


def _mark(words: list[str], right: set[str]) -> tuple[tuple[str, bool], ...]:
    return tuple((word, word in right) for word in words[:_MAX_WORDS])


def view_message(values: dict[str, Any]) -> MessageReadings:
    """Read the output of `tacit plan disclose --json`."""
    message = values.get("message")
    if isinstance(message, dict):
        return _view_one_message(values, message)
    facts = {
        key: value for key, value in values.items() if isinstance(value, str | int | float | list)
    }
    return MessageReadings(
        privacy="",
        sentences=("Rows that pass the plan's rule would leave, once, in plaintext.",),
        fields=tuple(
            (key.replace("_", " "), _text(value)) for key, value in facts.items() if key != "schema"
        ),
    )


def _view_one_message(values: dict[str, Any], message: dict[str, Any]) -> MessageReadings:
    fields = message.get("fields")
    named = fields.items() if isinstance(fields, dict) else ()
    return MessageReadings(
        privacy=str(values.get("privacy", "")),
        sentences=(
            "No row leaves a client. In each round, each sampled client sends one message.",
        ),
        fields=(
            *((str(name), _text(value)) for name, value in named),
            ("head", f"{_text(message.get('head_bytes'))} bytes: the fields above"),
            (
                "payload",
                f"{_text(message.get('payload_bytes'))} bytes: {message.get('first_bytes', '')} …",
            ),
            ("the payload is", "; ".join(_texts(message.get("mechanism")))),
            ("the model reads", _text(message.get("reads"))),
            (
                "sent once, in the clear",
                ", ".join(_texts(message.get("in_the_clear"))) or "nothing",
            ),
        ),
    )


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value[:_MAX_SENTENCES])
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in _as_list(value)[:_MAX_SENTENCES])


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
