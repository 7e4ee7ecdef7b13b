"""Two worlds that differ in the rows of one client, and every kind of features and codec that the law of no coupling tries.

What is told in the clear before round one (ranges, categories, classes, which columns lack numbers, how numbers are written, how
many clients there are) is the same in both worlds, since it is told and stated: an anchor client shows all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.laws.codec_cases import CASES

CHANGED = "p3"
"""The client whose rows differ between the worlds; others come before and after it."""
OTHERS = ("p0", "p1", "p2", "p4", "p5", "p6")
_WORDS = ("calm", "pain", "cough", "fever", "naïve", "tables", "ward", "room", "2024")


def _row(who: str, lab: str, note: str, ward: str, outcome: str) -> dict[str, object]:
    picture = [
        len(note) * 37 % 256,
        len(lab) * 91 % 256,
        255 if outcome == "yes" else 0,
        sum(map(ord, note + lab)) % 256,
    ]
    return {
        "who": who,
        "lab": lab,
        "dose": str(len(note)),
        "note": note,
        "ward": ward,
        "outcome": outcome,
        "picture": picture,
    }


def _rare(who: str, place: int) -> str:
    """Return a word that one row of one client has, and in one world the changed client too."""
    return f"rare{'abcdefg'[int(who[1:])]}{'uvwxyz'[place]}"


def _anchor() -> list[dict[str, object]]:
    """Rows of the first client: every class, category, end of a range and way of writing, and a cell without a number."""
    cells = [
        ("0.0", "n", "a", "yes"),
        ("10.0", "n" * 60, "b", "no"),
        ("", "of", "c", "yes"),
        ("2.5", "", "", "no"),
    ]
    return [_row("p0", *cell) for cell in cells * 2]


def _others(who: str) -> list[dict[str, object]]:
    random = np.random.default_rng(int(who[1:]))
    rows = []
    for place in range(6):
        note = f"{' '.join(random.choice(_WORDS, 3))} {_rare(who, place)}"
        lab = "" if random.random() < 0.4 else f"{random.uniform(0, 10):.1f}"
        rows.append(
            _row(
                who,
                lab,
                note,
                str(random.choice(["a", "b", "c"])),
                str(random.choice(["yes", "no"])),
            )
        )
    return rows


def _changed(world: int) -> list[dict[str, object]]:
    """Rows of the client that differs: other numbers, words, labels and wards, another number of rows, others without numbers."""
    if world == 0:
        return [_row(CHANGED, "0.5", "room room calm", "a", "yes") for _ in range(9)]
    words = (
        "naïve",
        "xylem",
        "table",
        "coug",
        "ward",
        *(_rare(who, place) for who in OTHERS for place in range(6)),
    )
    odd = [_row(CHANGED, "9.5", f"fever {word} zebra 77 {word}", "c", "no") for word in words]
    return [
        *odd,
        _row(CHANGED, "", "", "", "yes"),
        *(_row(CHANGED, "9.7", "pain pain", "b", "no") for _ in range(40)),
    ]


def write_world(folder: Path, world: int, ending: str = ".csv") -> Path:
    """Write a world's rows to a file: the changed client's rows stand in other places in each world."""
    rest = [row for who in OTHERS for row in (_anchor() if who == "p0" else _others(who))]
    cut = 0 if world == 0 else 17
    rows = pl.DataFrame([*rest[:cut], *_changed(world), *rest[cut:]])
    path = folder / f"world-{world}{ending}"
    if ending == ".csv":
        rows.drop("picture").write_csv(path)
    else:
        rows.with_columns(pl.col("picture").cast(pl.List(pl.UInt8))).write_parquet(path)
    return path


TEXT, TABLE = {"text": ["note"]}, {"numeric": ["lab", "dose"], "categorical": ["ward"]}
AGREED = {"ranges": {"lab": [0.0, 10.0], "dose": [0.0, 60.0]}}
"""What `robust` reads of rows depends on how many there are; the plan says it."""
MLP, LOGISTIC = {"name": "mlp", "hidden": [4]}, {"name": "logistic"}
LSTM = {"name": "bilstm", "hidden": [3], "embedding": 4}
KINDS: dict[str, dict[str, Any]] = {
    "hashed words": {"columns": TEXT, "features": {"buckets": 40}, "model": MLP},
    "words of any script, counts and n-grams": {
        "columns": TEXT, "model": LOGISTIC,
        "features": {"buckets": 60, "words": "unicode", "counts": "sublinear", "ngrams": 2, "characters": [3, 4]},
    },
    "weighed by a public list": {
        "columns": TEXT, "model": LOGISTIC, "features": {"buckets": 40, "words": "unicode", "rarity": 0.3, "list": "LIST"},
    },
    "listed words": {"columns": TEXT, "model": MLP, "features": {"text": "listed", "buckets": 5, "list": "LIST"}},
    "sequences of hashed words": {
        "columns": TEXT, "model": {"name": "embedding", "embedding": 3},
        "features": {"text": "sequence", "buckets": 30, "length": 5},
    },
    "a table": {"columns": TABLE, "model": MLP, "features": {}},
    "a table, robust, by codes": {
        "columns": TABLE, "model": MLP, "features": {"numeric": "robust", "categorical": "codes", **AGREED},
    },
    "a table, raw, rows of one length": {
        "columns": TABLE, "model": LOGISTIC, "features": {"numeric": "raw", "row_norm": 1.0, "constant": 0.1},
    },
    "agreed ranges and missing columns": {
        "columns": TABLE, "model": LOGISTIC, "features": {**AGREED, "missing": ["lab", "dose"]},
    },
    "mid-points of channels": {"columns": TABLE, "model": MLP, "features": {"quantise": {"levels": 3}}},
    "tokens of channels": {
        "columns": TABLE, "model": MLP,
        "features": {"quantise": {"levels": 3, "trained_on": "tokens", "selection": "last_head", "mean_level": 2.0}},
    },
    "words beside a table": {"columns": {**TEXT, **TABLE}, "model": MLP, "features": {"buckets": 40}},
    "pixels": {"columns": {"image": "picture"}, "model": MLP, "features": {}},
}  # fmt: skip
"""Kinds of features whose local training is compiled."""

MODULES: dict[str, dict[str, Any]] = {
    "private words": {"columns": TEXT, "model": LSTM, "features": {"text": "words", "length": 6}, "private": {"words": "all"}},
    "private words, the rare left out, beside a table": {
        "columns": {**TEXT, **TABLE}, "model": LSTM, "features": {"text": "words", "length": 6, "min_count": 2},
        "private": {"words": "all", "adapt": "pass"},
    },
    "private words from public vectors, by their stems": {
        "columns": TEXT, "model": LSTM, "features": {"text": "words", "length": 6},
        "private": {"words": "all", "start": "public", "spelling": "stem"},
    },
    "private words from vectors that each client turns": {
        "columns": TEXT, "model": LSTM, "features": {"text": "words", "length": 6}, "private": {"words": "all", "start": "rotated"},
    },
    "keyed private rows": {
        "columns": TEXT, "model": LSTM, "features": {"text": "words", "length": 6, "buckets": 16, "min_count": 2},
        "private": {"words": "all", "rows": "keyed"},
    },
}  # fmt: skip
"""Kinds whose local training is PyTorch's."""

_TRIED: dict[str, dict[str, Any]] = {
    "plain": {"name": "plain"},
    "rr": {"name": "rr", "epsilon": 2, "clip": 0.02},
    "rr_sampled": {"name": "rr_sampled", "epsilon": 60, "clip": 0.02},
    "rqm": {"name": "rqm", "clip": 0.02, "margin": 0.02, "levels": 6, "coordinates": 5},
    "gaussian": {"name": "gaussian", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
    "dp_sum": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
    "onebit": {"name": "onebit", "epsilon": 4.0, "delta": 1e-3, "clip": 0.5},
    "skellam": {"name": "skellam", "epsilon": 4.0, "delta": 1e-3, "clip": 0.5},
    "projunit": {"name": "projunit", "epsilon": 4.0, "clip": 0.5},
    "qsgd": {"name": "qsgd"},
    "hashcomb": {"name": "hashcomb", "x_min": -0.04, "x_max": 0.04, "levels": 6},
}
CODECS = {
    name: _TRIED.get(name) or {key: one for key, one in asdict(cases[0]).items() if one is not None}
    for name, cases in CASES.items()
}
"""Every codec with settings for small updates; a new one is tried with the first of its law cases."""
COUNTED_ALIKE = ("dp_sum", "onebit", "skellam")


def public_vectors(words: tuple[str, ...], progress: object = None) -> np.ndarray:
    """Return made-up public vectors; rare words have none."""
    made = np.zeros((len(words), 4), np.float32)
    for place, word in enumerate(words):
        if not word.startswith("rare"):
            made[place] = np.random.default_rng(sum(map(ord, word))).standard_normal(4)
    return made


def tree_of(
    kind: Mapping[str, Any], codec: Mapping[str, Any], source: str, **more: Any
) -> dict[str, Any]:
    """Return a plan, as a tree, for rows with a column of owners."""
    data = {
        "source": source, "partition": "client", "test": 0.2,
        "columns": {**kind["columns"], "client": "who", "label": "outcome"}, **more.pop("data", {}),
    }  # fmt: skip
    weights = "equal" if codec["name"] in COUNTED_ALIKE else "rows"
    features = {key: value for key, value in kind["features"].items() if key != "list"}
    if "list" in kind["features"]:
        path = Path(source).parent / "list.txt"
        path.write_text("the\ncalm\ntable\npain\nfever\nward\n", encoding="utf-8")
        features["list"] = str(path)
    tree = {
        "name": "law", "seed": 11, "data": data, "features": features, "model": kind["model"], "codec": dict(codec),
        "local": {"lr": 0.05, "epochs": 2, "batch": 4}, "server": {"rounds": 1, "weights": weights},
    }  # fmt: skip
    if "private" in kind:
        tree["private"] = kind["private"]
    return {**tree, **more}
