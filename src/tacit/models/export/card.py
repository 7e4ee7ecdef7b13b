"""The model card: what the model reads, how good it is, and which privacy guarantee its training
had.
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


def render_card(card: ModelCard, how: str, hub: bool = False) -> str:
    """Render the card as Markdown; `how` describes the use of the other files, `hub` adds the
    header that model hubs read.
    """
    named = ", ".join(map(_cell, card.classes[:20])) + (", …" if len(card.classes) > 20 else "")
    lines = [*(_HEAD if hub else ()), f"# {_cell(card.name)}", "", _WHAT, ""]
    lines += [f"- It reads: {', '.join(f'`{_cell(name)}`' for name in card.columns)}."]
    lines += [f"- It distinguishes {len(card.classes)} classes: {named}."]
    lines += [f"- Trained on {card.trained_on}."] if card.trained_on else []
    figures = ", ".join(f"{name} {value:.4g}" for name, value in card.figures.items())
    lines += [f"- On the run's test rows: {figures}."] if figures else []
    lines += ["", "## Use", "", how.strip(), "", "## Privacy", ""]
    if card.statement:
        lines += [
            card.statement,
            "",
            f"Trust required: {card.rests_on}.",
            "",
            "Not protected:",
            "",
        ]
        lines += [f"- {sentence}" for sentence in card.unprotected]
    else:
        lines += ["The record of the run was not available, so no guarantee can be stated."]
    return "\n".join([*lines, "", "## Limits", "", _LIMITS, ""])


def _cell(text: str) -> str:
    """Turn a name from the data into one harmless line of Markdown."""
    return " ".join(text.split()).replace("`", "'").replace("<", "&lt;")
