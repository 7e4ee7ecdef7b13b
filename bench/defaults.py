"""What the plans of `tacit init --one-bit` reach without tuning, next to scikit-learn on all rows:
`python -m bench defaults`.

Each line is the plan `init` writes for a table with these columns, with nothing changed but the
source and who holds what. The other side is what a person with all rows would write:
HashingVectorizer with as many buckets, or StandardScaler and OneHotEncoder, and LogisticRegression.
Both are measured on test rows; settings were chosen on validation rows. Each figure is kept below
bench/out/defaults under the hash of its question, so a stop loses at most one run. `--grid` runs
both promises of `init` by number of people instead (`bench/defaults_grid.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from bench import ROOT, defaults_grid
from tacit import data, plan, simulation
from tacit.plan.presets.starter import starter_text
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD

OUT = ROOT / "bench" / "out" / "defaults"


@dataclass(frozen=True)
class BenchmarkCase:
    """One line of the table: a data set, who holds it, and how many points below scikit-learn are
    allowed.
    """

    source: str
    within: float
    clients: int = 100
    partition: str = "iid"

    @property
    def title(self) -> str:
        """Return what the line is called."""
        return (
            f"{self.source}, {self.clients:,} clients,"
            f" {'iid' if self.partition == 'iid' else 'Dirichlet 1'}"
        )


CASES = (
    BenchmarkCase("ag_news", 2),
    BenchmarkCase("sst2", 2),
    BenchmarkCase("imdb", 2),
    BenchmarkCase("newsgroups20", 6, partition="dirichlet"),
    BenchmarkCase("ag_news", 6, partition="dirichlet"),
    BenchmarkCase("ag_news", 4, clients=1000),
    BenchmarkCase("cardio", 2),
    BenchmarkCase("spambase", 2),
    BenchmarkCase("adult", 2),
)


def table_of(source: str, seed: int) -> data.Table:
    """Rows both sides see; sets without test rows of their own hold the same ones out
    for both.
    """
    return data.load(plan.Data(source=source), Draws.seeded(seed).at("data"))


def tree_of(case: BenchmarkCase, columns: plan.Columns, rows: int, seed: int) -> dict[str, Any]:
    """Plan of `init` for such a table, on the named set and without baselines."""
    roles = {
        name: role for role in ("text", "numeric", "categorical") for name in getattr(columns, role)
    }
    text = starter_text(
        {**roles, columns.label or "": "label"},
        case.source,
        rows,
        0,
        "defaults",
        "plan.toml",
        one_bit=case.clients,
    )
    tree = tomllib.loads(text)
    del tree["data"]["columns"], tree["data"]["test"]
    tree["data"] |= {"partition": case.partition}
    return tree | {"seed": seed, "baselines": []}


def ours(tree: dict[str, Any]) -> float:
    """Accuracy after the last round, in percent."""
    with tempfile.TemporaryDirectory() as root:
        entries = list(record.read(simulation.start(plan.parse(tree), Path(root)) / RECORD))
    return 100 * record.select_entries(entries, record.Round)[-1].metrics["accuracy"]


def theirs(table: data.Table, buckets: int) -> float:
    """Scikit-learn's accuracy with all train rows in one place, in percent."""
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = table.columns
    if columns.text:
        reader: Any = HashingVectorizer(n_features=buckets)
        inputs = [
            [" ".join(map(str, row)) for row in frame.select(columns.text).rows()]
            for frame in (table.train, table.test)
        ]
    else:
        numeric, named = list(columns.numeric), list(columns.categorical)
        reader = make_column_transformer(
            (StandardScaler(), numeric), (OneHotEncoder(handle_unknown="ignore"), named)
        )
        cells = [
            *(pl.col(name).cast(pl.Float64) for name in numeric),
            *(pl.col(name).cast(pl.String) for name in named),
        ]
        inputs = [frame.select(cells).to_pandas() for frame in (table.train, table.test)]
    labels = [frame[columns.label or ""].to_list() for frame in (table.train, table.test)]
    made = make_pipeline(reader, LogisticRegression(max_iter=2000)).fit(inputs[0], labels[0])
    return 100 * float(made.score(inputs[1], labels[1]))


def kept(question: dict[str, Any], make: Callable[[], float]) -> float:
    """Answer to a question, found before or now."""
    path = (
        OUT
        / f"{hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]}.json"
    )
    if not path.exists():
        OUT.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"question": question, "answer": make()}))
    return float(json.loads(path.read_text())["answer"])


def measure(case: BenchmarkCase, seeds: int) -> tuple[float, float]:
    """Our accuracy and scikit-learn's, each the mean over seeds."""
    found = []
    for seed in range(1, seeds + 1):
        table = table_of(case.source, seed)
        tree = tree_of(case, table.columns, table.train.height, seed)
        buckets = tree["features"].get("buckets", 0)
        peer = {"sklearn": case.source, "buckets": buckets, "seed": seed}
        found.append((kept(tree, partial(ours, tree)), kept(peer, partial(theirs, table, buckets))))
    return fmean(one for one, _ in found), fmean(other for _, other in found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return how many bounds are missed."""
    parser = argparse.ArgumentParser(prog="python -m bench defaults", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="runs per line (default 1)")
    parser.add_argument(
        "--only", default="", help="lines whose title contains this, such as spambase"
    )
    parser.add_argument(
        "--grid",
        action="store_true",
        help="private at 8, 2 and 1 per run and one bit, at 5,000, 500 and 100 people",
    )
    parser.add_argument(
        "--arm",
        default="",
        help="with --grid: promises whose name contains this, such as 'private 8'",
    )
    parser.add_argument(
        "--limit",
        type=int,
        help="with --grid: the most train rows, and the most test rows, of a set",
    )
    asked = parser.parse_args(arguments)
    if asked.grid:
        defaults_grid.run_cells(
            asked.only, tuple(arm for arm in defaults_grid.ARMS if asked.arm in arm), 1, asked.limit
        )
        print(defaults_grid.grid(1, asked.limit))
        return defaults_grid.missed(1, asked.limit)
    print(
        "| plan of init, one bit per weight | accuracy | scikit-learn, all rows | distance |"
        " allowed | |\n|---|---|---|---|---|---|"
    )
    missed = 0
    for case in [case for case in CASES if asked.only in case.title]:
        mine, peer = measure(case, asked.seeds)
        far = mine - peer
        missed += far < -case.within
        verdict = "missed" if far < -case.within else "kept"
        print(
            f"| {case.title} | {mine:.1f} | {peer:.1f} | {far:+.1f} | -{case.within:g} |"
            f" {verdict} |",
            flush=True,
        )
    return missed


if __name__ == "__main__":
    raise SystemExit(main())
