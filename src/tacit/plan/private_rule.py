"""The settings of the `private` preset, from what is public: epsilon · clients, and whether rows are text.

All clients take part in every round, so training is noisy gradient descent. With independent noise per round, the noise in the last
model depends on the sum of all steps, not on their number: more rounds cost bytes and time, but no privacy and no accuracy. Three
choices are left. They were made on validation rows of AG News, 20 Newsgroups, SST-2, IMDB, Cardio, Spambase and Adult.

- The clip. A client's update is its mean gradient times the square root of its rows (`local.row_scale`), so that one clip serves
  clients of one row and of hundreds. Rows have L2 norm 1, so the first gradient of a row has an L2 norm of 0.5 (two classes) to 1.
  A clip below that lets quiet clients be heard and still keeps the size of small errors. Scaling every update to norm 1 does not:
  where a client is one row, only the sign of its error is left, and training does not converge.
- The path: the sum of all steps, in units of the clip. It grows with q = epsilon · clients / 5000.
- The rounds: as many as keep a single step stable where clients have dozens of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Tree = dict[str, Any]

CLIP_TEXT, CLIP_TABLE = 1 / 10, 1 / 3
_LONGEST_TABLE_PATH = 8000.0

TABLES = (
    "adult", "cardio", "cifar10", "hashcomb_cardio", "hashcomb_hps", "hashcomb_okiru", "hashcomb_spam", "iot23", "mnist",
    "spambase",
)  # fmt: skip
"""Named sets without text: tables and pictures."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Settings for so much data and so much noise; the updates they are for are clipped to L2 norm 1."""

    local_rate: float
    constant: float
    rounds: int
    momentum: float
    rate: float
    soften: float
    words: int = 0
    rarity: float = 0.0


def rule(epsilon: float, clients: int, *, text: bool) -> Rule:
    """Settings for an epsilon per run and a number of clients that all take part in every round."""
    q, momentum = epsilon * clients / 5000, 0.9
    rounds = 80 if text else 200
    path = 1000 * q**0.9 if text else min(_LONGEST_TABLE_PATH, 2000 * q**0.6)
    rate = round(path * (1 - momentum) / rounds, 4)
    if not text:
        return Rule(local_rate=1 / CLIP_TABLE, constant=0.5, rounds=rounds, momentum=momentum, rate=rate, soften=0.0)
    return Rule(
        local_rate=1 / CLIP_TEXT,
        constant=0.1,
        rounds=rounds,
        momentum=momentum,
        rate=rate,
        soften=0.3,
        words=round(min(50_000, max(5_000, 12_000 * q**0.6))),
        rarity=0.3 if q < 4 else 0.28,
    )


def holds_text(tree: Tree) -> bool:
    """Whether a plan's rows have a text column, as far as the plan says: by its columns, else by the name of its set."""
    table = tree.get("data", {})
    data = table if isinstance(table, dict) else {}
    columns = data.get("columns")
    if isinstance(columns, dict) and any(columns.get(role) for role in ("text", "numeric", "categorical", "image")):
        return bool(columns.get("text"))
    return data.get("source") not in TABLES
