"""A small job whose words stay with the clients."""

from pathlib import Path

from tacit import plan
from tests.simulation.small import small_plan


def worded_plan(source: Path, private: dict | None = None, **changes: object) -> plan.Plan:
    settings = {
        "data": {
            "source": str(source), "clients": 10, "partition": "dirichlet", "divide_test": True,
            "columns": {"text": ["opinion"], "label": "stars"},
        },
        "features": {"text": "words", "length": 10, "buckets": 64},
        "model": {"name": "bilstm", "hidden": [4], "embedding": 5},
        "local": {"lr": 0.05, "epochs": 1, "batch": 8, "clip_norm": 15.0, "schedule": "linear"},
        "private": {"words": "all", "adapt": "pass"} if private is None else private,
        "codec": {"name": "plain"},
        "server": {"rounds": 4, "cohort": "count", "cohort_size": 4},
    }  # fmt: skip
    return small_plan(source, **{**settings, **changes})
