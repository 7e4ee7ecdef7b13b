"""`python -m bench.carriers`: the same small plans in the simulator and between three sites over
Flower, and the models' hashes.

Noise comes from the plan's seed in both, so both must end in the same model: to the bit where sums
are of whole numbers. One server with TLS and three site processes carry all plans; each site has a
policy and a ledger of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tacit import plan as plans
from tacit.cli.federation.rehearse import compare_models, start_sites
from tacit.simulation.rehearsal import Rehearsal

_WORDS = {"up": ["good", "fine", "lovely", "bright"], "down": ["bad", "dull", "awful", "grey"]}
_FILLER = ["the", "film", "was", "and", "a", "story", "of", "two", "people"]
_TEXT = {"text": ["opinion"], "label": "stars"}
_TABLE = {
    "numeric": ["age", "pay"],
    "categorical": ["town"],
    "label": "stars",
    "quasi": ["age", "town"],
}
_MLP = {"name": "mlp", "hidden": [8]}
_VOTERS = {"clients": 9, "local_test": 0.3, "columns": _TEXT}

WAYS: dict[str, dict[str, Any]] = {
    "plain": {"codec": {"name": "plain"}},
    "rr": {"codec": {"name": "rr", "epsilon": 2, "clip": 0.02}},
    "rr_sampled": {"codec": {"name": "rr_sampled", "epsilon": 60, "clip": 0.02}},
    "hashcomb": {"codec": {"name": "hashcomb", "x_min": -0.04, "x_max": 0.04, "levels": 10}},
    "rqm": {"codec": {"name": "rqm", "clip": 0.02, "margin": 0.02, "levels": 6, "coordinates": 50}},
    "private tables": {
        "data": {"clients": 10, "columns": _TEXT},
        "features": {"text": "words", "length": 10, "buckets": 64},
        "model": {"name": "bilstm", "hidden": [4], "embedding": 5},
        "private": {"words": "all", "adapt": "pass"},
        "codec": {"name": "plain"},
    },
    "shared rows": {
        "data": {
            "clients": 4,
            "partition": "quantile",
            "by": "age",
            "columns": _TABLE,
            "share": {"k": 12},
        },
        "codec": {"name": "plain"},
        "model": {"name": "mlp", "hidden": [4]},
        "server": {"rounds": 3, "weights": "rows"},
    },
    "votes": {
        "data": _VOTERS,
        "filter": {"lr": 0.5, "vote_epsilon": 4.0},
        "model": {"name": "logistic"},
        "codec": {"name": "plain"},
    },
    "dp_sum, added up at sites": {
        "codec": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
        "server": {"rounds": 3, "sum_at": "site"},
    },
    "dp_sum, secure sum": {
        "codec": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
        "secure_aggregation": {"helpers": 2},
    },
    # after two answers of 4,834 each (per update) a client's own ledger lets it answer no more
    "rr, secure sum, drop-outs": {
        "codec": {"name": "rr", "epsilon": 2, "clip": 0.02},
        "secure_aggregation": {"helpers": 1, "min_clients": 2},
        "ledger": {"epsilon": 10_000.0},
        "server": {"rounds": 4, "cohort": "count", "cohort_size": 11},
    },
}


def made_up(path: Path, rows: int = 400) -> Path:
    """Write rows with a text, two numbers, a town and a label."""
    random = np.random.default_rng(0)
    lines = ["opinion,age,pay,town,stars"]
    for _ in range(rows):
        label = str(random.choice(["up", "down"]))
        text = " ".join([*random.choice(_FILLER, 8), *random.choice(_WORDS[label], 2)])
        age, town = int(random.integers(20, 30)), random.choice(["here", "there"])
        lines.append(f"{text},{age},{random.normal(3 + (label == 'up'), 1):.2f},{town},{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def plan_of(way: str, source: Path) -> plans.Plan:
    """Return a small plan."""
    tree: dict[str, Any] = {
        "name": "small",
        "seed": 3,
        "data": {"clients": 20, "columns": _TEXT},
        "features": {"buckets": 300},
        "model": _MLP,
        "local": {"lr": 0.01, "epochs": 1, "batch": 8},
        "server": {"rounds": 3},
    }
    tree |= WAYS[way]
    tree["data"] = {**tree["data"], "source": str(source)}
    return plans.parse(tree)


def main() -> int:
    """Run the ways asked for, print their hashes, and return 1 if two differ."""
    parser = argparse.ArgumentParser(prog="python -m bench.carriers", description=__doc__)
    parser.add_argument("ways", nargs="*", help=f"of {', '.join(WAYS)}; without any, all")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = {}
    with (
        tempfile.TemporaryDirectory(prefix="tacit-carriers-") as folder,
        contextlib.ExitStack() as stack,
    ):
        place, source = Path(folder), made_up(Path(folder) / "rows.csv")
        servers: list[Path] = []

        @contextlib.contextmanager
        def server_of(ready: Rehearsal) -> Iterator[Path]:
            if not servers:
                servers.append(stack.enter_context(start_sites(place, ready)))
            yield servers[0]

        for way in asked.ways or WAYS:
            found[way] = compare_models(plan_of(way, source), place, server_of, 3)
            if not asked.json:
                simulated, deployed = found[way]
                print(
                    f"{way:28} {simulated[:16]}  {deployed[:16]} "
                    f" {'same' if simulated == deployed else 'DIFFERENT'}",
                    flush=True,
                )
    if asked.json:
        print(
            json.dumps(
                {
                    way: {"simulated": one, "sites": two, "same": one == two}
                    for way, (one, two) in found.items()
                },
                indent=1,
            )
        )
    return int(any(one != two for one, two in found.values()))


if __name__ == "__main__":
    sys.exit(main())
