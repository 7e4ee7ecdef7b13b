"""What systems cost and give alone, in pairs and all together, on one data set: `python -m
bench.composition [--seeds N]`.

Every line is `examples/all_five.toml` less the tables of the systems it goes without. Each run's
figures are kept below bench/out/composition under the hash of their plan, so a stop loses at most
one run. `--page` writes what is there into docs/concepts/composition.md.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import tempfile
import tomllib
from pathlib import Path
from statistics import fmean
from typing import Any

from bench import ROOT
from tacit import plan, simulation
from tacit.audit.words.reconstruct import BASELINE, reconstruct
from tacit.interval import confidence_interval
from tacit.privacy import ledger
from tacit.runs import record
from tacit.runs.run_folder import RECORD

OUT, PAGE = ROOT / "bench" / "out" / "composition", ROOT / "docs" / "concepts" / "composition.md"
BEGIN, END = (
    "<!-- figures: written by python -m bench.composition --page -->",
    "<!-- end of figures -->",
)
SYSTEMS = {
    "bits": "one bit under a secure sum",
    "words": "private words",
    "rows": "shared rows",
    "votes": "votes",
    "tokens": "tokens",
}
ALL = tuple(SYSTEMS)
LINES: tuple[tuple[str, ...], ...] = (
    ALL,
    (),
    ("bits",),
    ("words",),
    ("rows",),
    ("votes",),
    ("tokens",),
    ("bits", "words"),
    ("bits", "votes"),
    ("words", "votes"),
    ("bits", "rows"),
    ("words", "rows"),
    ("rows", "votes"),
)
OPEN_VOTES = {"vote_epsilon": 1.6, "testers": 5}
"""Votes that are not added up in secret: each randomised, five per tester."""
AUDITED = {"model": {"name": "bilstm", "hidden": [50], "embedding": 100}}
"""The audit reads with public vectors of 100 numbers, and layers wide enough to show every word:
the attacker's best case.
"""

Tree = dict[str, Any]


def tree_of(systems: tuple[str, ...], seed: int) -> Tree:
    """Plan with all five, less those that are not asked for."""
    tree: Tree = tomllib.loads((ROOT / "examples" / "all_five.toml").read_text(encoding="utf-8"))
    tree["seed"] = seed
    if "bits" not in systems:
        tree["codec"] = {"name": "plain"}
        del tree["secure_aggregation"], tree["filter"]["votes_epsilon"]
        tree["filter"].update(OPEN_VOTES)
    for system, table, key in (
        ("words", tree, "private"),
        ("rows", tree["data"], "share"),
        ("votes", tree, "filter"),
    ):
        if system not in systems:
            del table[key]
    if "tokens" not in systems:
        del tree["features"]["quantise"], tree["negotiation"]
    return tree


def figures_of(tree: Tree) -> dict[str, Any]:
    """Figures of one run, from its record alone."""
    with tempfile.TemporaryDirectory() as root:
        entries = list(record.read(simulation.start(plan.parse(tree), Path(root)) / RECORD))
    rounds, shared = (
        record.select_entries(entries, record.Round),
        record.select_entries(entries, record.DisclosedRows),
    )
    clients = tree["data"]["clients"]
    found: dict[str, Any] = {
        "auc": rounds[-1].metrics["auc"],
        "accuracy": rounds[-1].metrics["accuracy"],
        "bytes": (
            (sum(one.bytes_up for one in rounds) + sum(sum(one.bytes_per_client) for one in shared))
            / clients
        ),
        "rows": shared[0].rows / shared[0].of_rows if shared else 0.0,
    }
    for part in ("train", "votes", "heads"):
        paid = [
            one for one in record.select_entries(entries, record.Released) if one.exchange == part
        ]
        totals = ledger.compute_totals(ledger.fold_releases(paid), 1e-5)
        found[part] = totals[-1].epsilon if totals else 0.0
    voted, corrupted = (
        record.select_entries(entries, record.Voted),
        record.select_entries(entries, record.Corrupted),
    )
    if voted:
        bad, rejected = set(corrupted[0].clients), set(voted[-1].rejected)
        found |= {
            "recall": len(bad & rejected) / len(bad),
            "precision": len(bad & rejected) / max(1, len(rejected)),
        }
    return found


def words_read() -> dict[str, float]:
    """Share of a text's words an attacker without the table reads, by how words are kept
    and what is sent.
    """
    tree = tree_of(("tokens",), 1) | AUDITED | {"private": {"words": "all"}}
    found = reconstruct(plan.parse(tree), texts=8, batches=(1,), per_bit=(1.0,))
    chosen = {
        "shared table, update in the clear": (
            "FedAvg: shared public table",
            "SGD steps, plain",
            "public table",
        ),
        "private words, update in the clear": (
            "FedVocab: private, random start",
            "SGD steps, plain",
            "adaptive",
        ),
        "private words, bits": ("FedVocab: private, random start", "per bit", "adaptive"),
        "nothing is sent": ("FedVocab: private, random start", "SGD steps, plain", BASELINE),
    }
    return {
        name: next(
            one.score.recall
            for one in found.lines
            if one.setting == setting and seen in one.seen and one.attacker == who
        )
        for name, (setting, seen, who) in chosen.items()
    }


def kept(name: str, what: Any, make: Any) -> Any:
    """Return what was found before under that name and for that very question, or make it and keep
    it.
    """
    path = place_of(name, what)
    if not path.exists():
        OUT.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def place_of(name: str, what: Any) -> Path:
    """Where the answer to a question is kept."""
    return (
        OUT
        / f"{name}-{hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]}.json"
    )


def lines(seeds: int, run: bool) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Figures of each line by seed; without `run`, of those that were measured
    before.
    """
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {line: [] for line in LINES}
    for seed in range(1, seeds + 1):
        for line in LINES:
            tree = tree_of(line, seed)
            name = f"{'-'.join(line) or 'none'}-{seed}"
            if run or place_of(name, tree).exists():
                figures = kept(name, tree, lambda tree=tree: figures_of(copy.deepcopy(tree)))
                found[line].append(figures)
                if run:
                    print(
                        name,
                        {
                            key: value if value is None else round(value, 3)
                            for key, value in figures.items()
                        },
                        flush=True,
                    )
    return {line: some for line, some in found.items() if some}


def table(found: dict[tuple[str, ...], list[dict[str, Any]]]) -> str:
    """All lines as Markdown, with 95 % intervals over seeds where there are several."""
    head = (
        "| systems | seeds | AUC | kB up per client and run | epsilon per client and run | per"
        " tester and run | per row and run (last layers) | rows disclosed | caught: recall,"
        " precision |"
    )
    rows = [head, "|---" * 9 + "|"]
    for line, some in found.items():
        name = "all five" if line == ALL else " + ".join(SYSTEMS[one] for one in line) or "none"
        auc, values = fmean(one["auc"] for one in some), [one["auc"] for one in some]
        ends = confidence_interval(values)
        caught = (
            f"{mean(some, 'recall'):.2f}, {mean(some, 'precision'):.2f}"
            if "recall" in some[0]
            else "–"
        )
        cells = [
            name,
            str(len(some)),
            f"{auc:.3f}" + (f" ± {ends[1] - auc:.3f}" if ends else ""),
            f"{mean(some, 'bytes') / 1000:.1f}",
            epsilon(some, "train"),
            epsilon(some, "votes"),
            epsilon(some, "heads"),
            f"{100 * mean(some, 'rows'):.0f} %",
            caught,
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def mean(some: list[dict[str, Any]], key: str) -> float:
    """Mean over seeds."""
    return fmean(one[key] for one in some)


def epsilon(some: list[dict[str, Any]], part: str) -> str:
    """Loss of one part of what clients send; it is the same for every seed."""
    value = some[0][part]
    return "none" if value is None else "–" if value == 0 else f"{value:.2f}"


def read_table(read: dict[str, float]) -> str:
    """What attackers read, as Markdown."""
    return "\n".join(
        [
            "| what leaves | words read |",
            "|---|---|",
            *(f"| {name} | {value:.2f} |" for name, value in read.items()),
        ]
    )


def main() -> None:
    """Measure what is missing, print the tables, and write them into the page if asked."""
    parser = argparse.ArgumentParser(prog="python -m bench.composition", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="runs per line (default 3)")
    parser.add_argument(
        "--page",
        action="store_true",
        help="write what was measured into docs/concepts/composition.md; measure nothing",
    )
    asked = parser.parse_args()
    read = kept("words", AUDITED, words_read)
    parts = f"{table(lines(asked.seeds, run=not asked.page))}\n\n{read_table(read)}"
    print(parts)
    if asked.page:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(
            f"{before}{BEGIN}\n\n{parts}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
