"""[features]: how rows become numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

Text = Literal["binary", "sequence", "words", "pieces"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Features:
    """How rows become numbers."""

    text: Text = "binary"
    """Which hashed words occur, or their order (for `embedding` and `lstm`); or unhashed words (`bilstm`) or word pieces
    (`encoder`) in order."""
    buckets: Annotated[int, Ge(2), Le(50_000_000)] = 5000
    """How many numbers words are hashed to."""
    base: Annotated[int, Ge(2), Le(1_000_003)] = 31
    """Base of the rolling hash."""
    length: Annotated[int, Ge(1), Le(100_000)] = 300
    """`sequence`, `words`, `pieces`: how many are read per row; longer texts are cut."""
    stop_words: bool = False
    """Drop common English words first."""
    numeric: Literal["minmax", "raw"] = "minmax"
    """Scale each column to 0…1 by its range in the training rows, which is read in the clear; or leave it."""
    categorical: Literal["codes", "onehot"] = "onehot"
    """One input per category, or one number per column. The categories are read in the clear."""


def problems(plan: Plan) -> list[str]:
    """Return a sentence if the model cannot read what the rows become."""
    text, model = plan.features.text, plan.model
    if text in model.reads:
        return []
    fitting = " or ".join(repr(word) for word in model.reads)
    return [f"features.text: needs {fitting}, since model.name = {model.name!r} reads nothing else; got {text!r}"]
