"""The card of a model: what it reads, how good it is, what the people in its data were promised,
and what not.
"""

from __future__ import annotations

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
    "Probabilities are the network's own and not calibrated. Classes, categories and ranges of"
    " columns are in these files."
)


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What a card says, as plain values from a run's record."""

    name: str
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    trained_on: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    statement: str = ""
    unprotected: tuple[str, ...] = ()
    rests_on: str = ""


def render_card(card: ModelCard, how: str, hub: bool = False) -> str:
    """Return the card as Markdown; `how` says how the files beside it are used, `hub` adds the head
    that model hubs read.
    """
    named = ", ".join(map(_cell, card.classes[:20])) + (", …" if len(card.classes) > 20 else "")
    lines = [*(_HEAD if hub else ()), f"# {_cell(card.name)}", "", _WHAT, ""]
    lines += [f"- It reads: {', '.join(f'`{_cell(name)}`' for name in card.columns)}."]
    lines += [f"- It tells apart {len(card.classes)} classes: {named}."]
    lines += [f"- Trained on {card.trained_on}."] if card.trained_on else []
    figures = ", ".join(f"{name} {value:.4g}" for name, value in card.figures.items())
    lines += [f"- On the run's test rows: {figures}."] if figures else []
    lines += ["", "## Use", "", how.strip(), "", "## Privacy", ""]
    if card.statement:
        lines += [
            card.statement,
            "",
            f"This rests on trust in: {card.rests_on}.",
            "",
            "Not protected:",
            "",
        ]
        lines += [f"- {sentence}" for sentence in card.unprotected]
    else:
        lines += ["The record of the run was not at hand, so nothing can be said."]
    return "\n".join([*lines, "", "## Limits", "", _LIMITS, ""])


def _cell(text: str) -> str:
    """Return a name from the data as one harmless line of Markdown."""
    return " ".join(text.split()).replace("`", "'").replace("<", "&lt;")
