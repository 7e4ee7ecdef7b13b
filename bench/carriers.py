"""`python -m bench.carriers`: run the same small plans in the simulator and between three sites over
Flower, and compare the hashes of the models.

Noise comes from the plan's seed in both, so both must end in the same model: to the bit where sums
are sums of integers. One server with TLS and three site processes run all plans; each site has its
own policy and ledger.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit import plan as plans
from tacit.cli.deploy.rehearse import compare_models, start_sites
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

PLANS: dict[str, dict[str, Any]] = {
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
    # after two responses (epsilon 4,834 per update) a client's own ledger refuses a third
    "rr, secure sum, drop-outs": {
        "codec": {"name": "rr", "epsilon": 2, "clip": 0.02},
        "secure_aggregation": {"helpers": 1, "min_clients": 2},
        "ledger": {"epsilon": 10_000.0},
        "server": {"rounds": 4, "cohort": "count", "cohort_size": 11},
    },
}


def write_rows(path: Path, rows: int = 400) -> Path:
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


def build_plan(name: str, source: Path) -> plans.Plan:
    """Build a small plan from its entry in `PLANS`."""
    tree: dict[str, Any] = {
        "name": "small",
        "seed": 3,
        "data": {"clients": 20, "columns": _TEXT},
        "features": {"buckets": 300},
        "model": _MLP,
        "local": {"lr": 0.01, "epochs": 1, "batch": 8},
        "server": {"rounds": 3},
    }
    tree |= PLANS[name]
    tree["data"] = {**tree["data"], "source": str(source)}
    return plans.parse(tree)


def with_quasi_identifiers(ready: Rehearsal) -> Rehearsal:
    """Declare the quasi-identifiers of all plans: the sites are created once, for the first plan,
    and a site whose owner declares none discloses no rows.
    """
    columns = replace(ready.plan.data.columns, quasi=tuple(_TABLE["quasi"]))
    return replace(ready, plan=replace(ready.plan, data=replace(ready.plan.data, columns=columns)))


def main() -> int:
    """Run the named plans, or all; print the hashes; return 1 if two of a plan differ."""
    parser = argparse.ArgumentParser(prog="python -m bench.carriers", description=__doc__)
    parser.add_argument("plans", nargs="*", help=f"any of: {', '.join(PLANS)}; all by default")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = {}
    with (
        tempfile.TemporaryDirectory(prefix="tacit-carriers-") as folder,
        contextlib.ExitStack() as stack,
    ):
        place, source = Path(folder), write_rows(Path(folder) / "rows.csv")
        servers: list[Path] = []

        @contextlib.contextmanager
        def start_server(ready: Rehearsal) -> Iterator[Path]:
            if not servers:
                servers.append(
                    stack.enter_context(start_sites(place, with_quasi_identifiers(ready)))
                )
            yield servers[0]

        for name in arguments.plans or PLANS:
            found[name] = compare_models(build_plan(name, source), place, start_server, 3)
            if not arguments.json:
                simulated, deployed = found[name]
                print(
                    f"{name:28} {simulated[:16]}  {deployed[:16]} "
                    f" {'same' if simulated == deployed else 'DIFFERENT'}",
                    flush=True,
                )
    if arguments.json:
        print(
            json.dumps(
                {
                    name: {"simulated": one, "sites": two, "same": one == two}
                    for name, (one, two) in found.items()
                },
                indent=1,
            )
        )
    return int(any(one != two for one, two in found.values()))


if __name__ == "__main__":
    sys.exit(main())
