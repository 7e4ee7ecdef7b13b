"""The model card: what the model reads, how good it is, and which privacy guarantee its training
had.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEAD = (
    "---",
    "library_name: tacit",
    "tags:",
    "- federated-learning",
    "- privacy",
    "- classification",
    "---",
    "",
)
_WHAT = "A classifier trained with Tacit on data that stayed with its clients."
_LIMITS = (
    "Probabilities are the network's output and are not calibrated. Classes, categories and ranges of"
    " columns are in these files."
)


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """Contents of a card, as plain values from a run's record."""

    name: str
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    trained_on: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    statement: str = ""
    unprotected: tuple[str, ...] = ()
    rests_on: str = ""
    frozen: str = ""
    """The frozen public network that reads texts or images."""


def render_card(card: ModelCard, how: str, hub: bool = False) -> str:
    """Render the card as Markdown; `how` describes the use of the other files, `hub` adds the
    header that model hubs read. Every other text is escaped: a server may have chosen it.
    """
    named = ", ".join(map(_escape, card.classes[:20])) + (", …" if len(card.classes) > 20 else "")
    lines = [*(_HEAD if hub else ()), f"# {_escape(card.name)}", "", _WHAT, ""]
    lines += [f"- It reads: {', '.join(map(_quote, card.columns))}."]
    lines += [f"- It distinguishes {len(card.classes)} classes: {named}."]
    lines += (
        [f"- A frozen public network reads the inputs: {_escape(card.frozen)}."]
        if card.frozen
        else []
    )
    lines += [f"- Trained on {_escape(card.trained_on)}."] if card.trained_on else []
    figures = ", ".join(f"{_escape(name)} {value:.4g}" for name, value in card.figures.items())
    lines += [f"- On the run's test rows: {figures}."] if figures else []
    lines += ["", "## Use", "", how.strip(), "", "## Privacy", ""]
    if card.statement:
        lines += [
            _escape(card.statement),
            "",
            f"Trust required: {_escape(card.rests_on)}.",
            "",
            "Not protected:",
            "",
        ]
        lines += [f"- {_escape(sentence)}" for sentence in card.unprotected]
    else:
        lines += ["The record of the run was not available, so no guarantee can be stated."]
    return "\n".join([*lines, "", "## Limits", "", _LIMITS, ""])


def _escape(text: str) -> str:
    """One line of Markdown without links, images, code, HTML or addresses that become links."""
    escaped = re.sub(r"[\\`\[\]]", r"\\\g<0>", " ".join(text.split()))
    for sign, entity in {"<": "&lt;", "://": "&#58;//", "www.": "www&#46;", "@": "&#64;"}.items():
        escaped = escaped.replace(sign, entity)
    return escaped


def _quote(name: str) -> str:
    """A name as code in one line of Markdown."""
    return f"`{' '.join(name.split()).replace('`', chr(39))}`"
