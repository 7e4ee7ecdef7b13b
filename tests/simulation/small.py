"""A small real job: made-up reviews in a CSV, and a plan that runs them in a second."""

from pathlib import Path
from typing import Any

import numpy as np

from tacit import plan

WORDS = {1: ["good", "fine", "lovely", "bright"], 0: ["bad", "dull", "awful", "grey"]}
FILLER = ["the", "film", "was", "and", "a", "story", "of", "two", "people", "café"]


def write_csv(path: Path, rows: int = 400) -> Path:
    random = np.random.default_rng(0)
    lines = ["who,opinion,stars"]
    for number in range(rows):
        label = int(random.integers(0, 2))
        words = [*random.choice(FILLER, 8), *random.choice(WORDS[label], 2)]
        lines.append(f'person{number % 20},"{" ".join(words)}",{"up" if label else "down"}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def small_plan(source: Path, **changes: object) -> plan.Plan:
    tree: dict[str, Any] = {
        "name": "small",
        "seed": 3,
        "data": {
            "source": str(source),
            "clients": 20,
            "columns": {"text": ["opinion"], "label": "stars"},
        },
        "features": {"buckets": 300},
        "model": {"name": "mlp", "hidden": [8]},
        "local": {"lr": 0.01, "epochs": 1, "batch": 8},
        "codec": {"name": "rr", "epsilon": 2, "clip": 0.02},
        "server": {"rounds": 6},
    }
    for key, value in changes.items():
        table, _, name = key.partition("__")
        if name:
            tree.setdefault(table, {})[name] = value
        else:
            tree[table] = value
    return plan.parse(tree)
