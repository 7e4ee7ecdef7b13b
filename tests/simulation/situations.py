"""Tables and plans made up so that one thing is wrong with each run: what the verdict must name first."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit import plan, simulation
from tacit.report import summarise
from tacit.report.figures import Summary
from tacit.report.finding import ResultFinding
from tacit.report.verdict import judge_run
from tacit.runs import record
from tacit.runs.record import RUN

Tree = dict[str, Any]
ALL = ["central", "fedavg", "noiseless", "same_features"]
COLUMNS = [f"x{place}" for place in range(6)]
ENGLISH = {1: ["good", "fine", "lovely", "bright"], 0: ["bad", "dull", "awful", "grey"]}
CODES = {1: ["qzv81", "qzw82", "qzx83", "qzy84"], 0: ["vkj11", "vkk12", "vkl13", "vkm14"]}
FILLER = ["the", "film", "was", "and", "a", "story", "of", "two", "people", "house", "day", "man"]


def numbers(
    people: int, rows: int, seed: int = 0, rare: float = 0.0, slow: bool = False
) -> pl.DataFrame:
    """Return rows of six numbers with a noisy linear label, owned by so many people in turn.

    `rare` is the share of the rarer label, if not half. With `slow`, columns come in pairs that differ by little, and only the
    difference tells the label, so that gradients take many steps to find it.
    """
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, len(COLUMNS)))
    if slow:
        values[:, 1::2] = values[:, ::2] + 0.4 * values[:, 1::2]
    score = (
        6 * (values[:, ::2] - values[:, 1::2]).sum(axis=1)
        + values[:, 0]
        + random.logistic(size=rows)
        if slow
        else values @ np.array([1.5, -1.2, 1.0, 0.8, -0.5, 0.0]) + random.logistic(size=rows) * 0.6
    )
    label = np.where(score > np.quantile(score, 1 - rare if rare else 0.5), "yes", "no")
    frame = pl.DataFrame(
        {name: np.clip(values[:, place], -3, 3) for place, name in enumerate(COLUMNS)}
    )
    return frame.with_columns(
        who=pl.Series([f"p{number % people}" for number in range(rows)]), label=pl.Series(label)
    )


def texts(words: dict[int, list[str]], people: int, rows: int) -> pl.DataFrame:
    """Return short texts with two words that tell the label nine times out of ten."""
    random = np.random.default_rng(1)
    found = []
    for number in range(rows):
        label = int(random.integers(0, 2))
        told = [
            random.choice(words[label if random.random() < 0.9 else 1 - label]) for _ in range(2)
        ]
        found.append(
            {
                "text": " ".join([*random.choice(FILLER, 6), *told]),
                "label": f"l{label}",
                "who": f"p{number % people}",
            }
        )
    return pl.DataFrame(found)


def private(people: int, epsilon: float = 8.0, **tables: Tree) -> Tree:
    """Return a plan on `rows.csv` with an owner column, six numbers and all baselines; tables are joined in.

    What the preset would fill in is written out, so that another rule of the preset changes none of these situations.
    """
    tree: Tree = {
        "name": "made-up",
        "seed": 1,
        "baselines": list(ALL),
        "privacy": {"preset": "private", "epsilon": epsilon, "delta": 1e-5, "clients": people},
        "data": {
            "partition": "client",
            "columns": {"numeric": list(COLUMNS), "label": "label", "client": "who"},
        },
        "features": {
            "numeric": "robust",
            "text": "listed",
            "list": "en",
            "rarity": 0.3,
            "buckets": 10_000,
            "row_norm": 1.0,
            "constant": 0.1,
        },
        "model": {"name": "logistic", "bias": False, "start": "zero"},
        "local": {"optimizer": "sgd", "lr": 1.0, "epochs": 1, "batches": 1, "normalise": True},
        "server": {
            "rounds": 40,
            "optimizer": "momentum",
            "momentum": 0.8,
            "lr": 3.0,
            "soften": 0.3,
            "evaluate_every": 5,
        },
        "engine": {"workers": 1},
    }
    return changed(tree, **tables)


def changed(tree: Tree, **tables: Tree) -> Tree:
    """Return a plan's tables with keys of some tables changed."""
    made = deepcopy(tree)
    for name, keys in tables.items():
        made[name] = {**made.get(name, {}), **keys}
    return made


def carried_out(folder: Path, rows: pl.DataFrame, tree: Tree) -> Summary:
    """Return the figures of a run of the plan on these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    rows.write_csv(folder / "rows.csv")
    made = plan.parse(changed(tree, data={"source": str(folder / "rows.csv")}))
    return summarise(record.read(simulation.start(made, folder / "runs") / "record.jsonl"))


def said(run: Summary) -> list[ResultFinding]:
    """Return the verdict, and print it with all figures for whoever reads a failed test."""
    for arm in run.arms:
        print(
            arm.title,
            {name: round(arm.metrics[name], 3) for name in ("accuracy", "auc", "f1", "loss")},
            arm.rounds,
        )
    for finding in (found := judge_run(run)):
        print("-", finding.kind, "|", finding.sentence)
    return [one for one in found if one.kind != "few test rows"]  # these tables are small


def figure(run: Summary, metric: str = "accuracy") -> float:
    """Return a figure of the run itself."""
    ours = run.arm(RUN)
    assert ours is not None
    return ours.metrics[metric]
