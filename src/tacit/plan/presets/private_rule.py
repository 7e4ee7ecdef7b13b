"""The settings of the `private` preset, from what is public: epsilon · clients, and whether rows
are text.

All clients take part in every round, so training is noisy gradient descent. With independent noise
per round, the noise in the last model depends on the sum of all steps, not on their number: more
rounds cost bytes and time, but no privacy and no accuracy. Three choices are left. They were made
on validation rows of AG News, 20 Newsgroups, SST-2, IMDB, Cardio, Spambase and Adult.

- The clip. A client's update is its mean gradient times the square root of its rows
  (`local.row_scale`), so that one clip suits clients with one row and with hundreds. Texts are
  scaled to L2 norm 1, so the first gradient of a row has an L2 norm of 0.5 (two classes) to 1. Rows
  of a table keep their norm, which distinguishes rare rows; its usual value follows from the
  columns. A clip below it raises the influence of clients with small updates and still keeps the
  size of small errors. Scaling every update to norm 1 does not: if a client has one row, only the
  sign of its error remains, and training does not converge.
- The path: the sum of all steps, in units of the clip. It grows with q = epsilon · clients / 5000.
- The rounds: enough to keep a single step stable if clients have dozens of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit import extensions
from tacit.plan.tables.rows.data import is_place

Tree = dict[str, Any]

CLIP_TEXT, CLIP_TABLE = 1 / 10, 1 / 3
_LONGEST_TABLE_PATH, _LONGEST_ENCODER_PATH = 8000.0, 4000.0

TABLES = {
    "adult": (5, 7),
    "cardio": (11, 0),
    "mnist": (0, 0),
    "spambase": (57, 0),
}
"""Named data sets of Tacit without text, with their numbers of numeric and categorical columns; images have
neither.
"""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a plan says about its rows: whether they have text, and the typical L2 norm of a row
    that is not scaled to 1.
    """

    text: bool
    norm: float | None = None


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Settings for an amount of data and noise, with updates clipped to L2 norm 1."""

    local_rate: float
    constant: float
    rounds: int
    momentum: float
    rate: float
    soften: float
    words: int = 0
    rarity: float = 0.0


def encoder_rule(epsilon: float, clients: int) -> Rule:
    """Settings for texts that only a frozen encoder reads."""
    q, rounds, momentum = epsilon * clients / 5000, 40, 0.9
    path = min(_LONGEST_ENCODER_PATH, 1000 * q**0.85)
    return Rule(
        local_rate=1 / CLIP_TEXT,
        constant=0.1,
        rounds=rounds,
        momentum=momentum,
        rate=round(path * (1 - momentum) / rounds, 4),
        soften=0.0,
    )


def rule(epsilon: float, clients: int, inputs: Inputs) -> Rule:
    """Settings for an epsilon per run and a number of clients that all take part in every round."""
    q, momentum = epsilon * clients / 5000, 0.9
    if not inputs.text:
        rounds, norm = 200, inputs.norm or 1.0
        path = min(_LONGEST_TABLE_PATH, 2000 * q**0.6)
        return Rule(
            local_rate=round(1 / (CLIP_TABLE * norm), 4),
            constant=round(0.5 * norm, 4),
            rounds=rounds,
            momentum=momentum,
            rate=round(path / norm * (1 - momentum) / rounds, 4),
            soften=0.0,
        )
    rounds, path = 80, 1000 * q**0.9
    return Rule(
        local_rate=1 / CLIP_TEXT,
        constant=0.1,
        rounds=rounds,
        momentum=momentum,
        rate=round(path * (1 - momentum) / rounds, 4),
        soften=0.3,
        words=round(min(50_000, max(5_000, 12_000 * q**0.6))),
        rarity=0.3 if q < 4 else 0.28,
    )


def inputs_of(tree: Tree) -> Inputs:
    """What a plan says about its rows: by its columns, else by the name of its data set."""
    data, features = _table(tree, "data"), _table(tree, "features")
    columns = _table(data, "columns")
    if _names_inputs(tree):
        text, counts = (
            bool(columns.get("text")),
            (
                _count(columns, "numeric"),
                _count(columns, "categorical"),
            ),
        )
    else:
        source = data.get("source")
        text, counts = (
            source not in TABLES,
            (TABLES.get(source, (0, 0)) if isinstance(source, str) else (0, 0)),
        )
    if text or not any(counts) or features.get("row_norm") or features.get("numeric") == "raw":
        return Inputs(text=text)
    # A column scaled to -1…1 has a mean square of about 1/4; of the inputs of a category one is 1.
    return Inputs(text=False, norm=math.sqrt(counts[0] / 4 + counts[1]))


def lacks_inputs(tree: Tree) -> bool:
    """Whether a plan leaves its columns to a data set that is not Tacit's: what its rows are is
    known only to code, and reading a plan runs none.
    """
    source = _table(tree, "data").get("source")
    if not isinstance(source, str) or is_place(source) or _names_inputs(tree):
        return False
    return ":" in source or source in extensions.find_entry_points("datasets")


def _names_inputs(tree: Tree) -> bool:
    columns = _table(_table(tree, "data"), "columns")
    return any(columns.get(role) for role in ("text", "numeric", "categorical", "image"))


def _table(tree: Tree, name: str) -> Tree:
    found = tree.get(name, {})
    return found if isinstance(found, dict) else {}


def _count(columns: Tree, role: str) -> int:
    named = columns.get(role, ())
    return len(named) if isinstance(named, list | tuple) else 0
