"""Odd tables, as people have them: each is made from its number alone, and mixes several oddities."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tacit.randomness import Draws

Cells = list[object]
Random = np.random.Generator

WORDS = (
    "good", "bad", "film", "the", "case", "phone", "naïve", "très", "🙂", "🔥", "хорошо", "плохо", "好", "不好", "#tag", "C3PO",
    "a,b", 'said "no"', "line;end", "x" * 60,
)  # fmt: skip
LABEL_NAMES = (
    "label",
    "Target",
    "y",
    "class",
    "Diagnosis",
    "is spam?",
    "topic.name",
    "sentiment ",
    "Ergebnis",
    "结果",
)
OWNER_NAMES = ("user_id", "patient", "Kunde", "customer id", "author", "deviceId")
SPLIT_NAMES = ("split", "set", "Subset", "fold part")
SIZES = ((3, 9), (9, 40), (40, 160))
"""From so many rows to below so many."""
LEARNABLE = (
    "short text",
    "long text",
    "numbers",
    "numbers with holes",
    "integers",
    "decimal commas",
    "truth",
    "categories",
)
ODD_HEADERS = (
    "",
    "  padded  ",
    'a "quoted" name',
    "dots.in.it",
    "emoji 💬",
    "[x]",
    "#",
    "n" * 201,
    "ünï",
    "1",
    "a,b",
    "train",
)


@dataclass(frozen=True, kw_only=True)
class OddTable:
    """A table in a file, what is odd about it, and for how many one-bit clients a plan is asked for, if for any."""

    path: Path
    oddities: tuple[str, ...]
    one_bit: int | None = None


def make_odd_table(number: int, folder: Path) -> OddTable:
    """Write the odd table of some number into a folder."""
    random = Draws.seeded(0).at("odd table", number).generator()
    rows = int(random.integers(*SIZES[int(random.choice(len(SIZES), p=[0.15, 0.35, 0.5]))]))
    oddities: list[str] = [f"{rows} rows"]
    columns: dict[str, Cells] = {}

    def add(name: str, what: str, cells: Cells) -> None:
        while name in columns:
            name += "_"
        columns[name] = cells
        oddities.append(what)

    kind = (
        _pick(random, tuple(LABELS))
        if random.random() < 0.9
        else _pick(random, tuple(HOPELESS_LABELS))
    )
    label = (LABELS | HOPELESS_LABELS)[kind](rows, random)
    if random.random() < 0.85:
        what = _pick(random, LEARNABLE)
        add(what, what, INPUTS[what](rows, random, label))
    for _ in range(int(random.integers(0, 5))):
        what = _pick(random, tuple(INPUTS))
        name = _pick(random, ODD_HEADERS) if random.random() < 0.15 else f"{what} {len(columns)}"
        add(name, what, INPUTS[what](rows, random, label))
    if random.random() < 0.08:
        for number_of in range(80):
            add(f"wide {number_of}", "", [float(value) for value in random.normal(size=rows)])
        oddities.append("80 more columns")
    if random.random() < 0.35:
        what = _pick(random, tuple(OWNERS))
        add(_pick(random, OWNER_NAMES), what, OWNERS[what](rows, random))
    if random.random() < 0.3:
        what = _pick(random, tuple(SPLITS))
        add(_pick(random, SPLIT_NAMES), what, SPLITS[what](rows, random))
    what, missing = (
        _pick(random, ("labels complete", "labels missing", "labels blank")),
        float(random.uniform(0, 0.6)),
    )
    if what != "labels complete":
        label = [
            (None if what == "labels missing" else "  ") if random.random() < missing else cell
            for cell in label
        ]
    add(_pick(random, LABEL_NAMES), f"{kind}, {what}", label)
    if random.random() < 0.15:
        half = [int(row) for row in random.integers(0, max(1, rows // 3), rows)]
        columns = {name: [cells[row] for row in half] for name, cells in columns.items()}
        oddities.append("duplicate rows")
    one_bit = int(random.choice([2, 10, 500])) if random.random() < 0.2 else None
    path = _write(columns, folder, f"odd {number}", _pick(random, tuple(WRITERS)))
    return OddTable(path=path, oddities=(*filter(None, oddities), path.suffix), one_bit=one_bit)


def _pick(random: Random, of: Sequence[str]) -> str:
    return of[int(random.integers(len(of)))]


def _classes(
    names: Sequence[object], shares: Sequence[float] | None = None
) -> Callable[[int, Random], Cells]:
    weights = None if shares is None else np.array(shares) / sum(shares)

    def make(rows: int, random: Random) -> Cells:
        return [names[int(place)] for place in random.choice(len(names), rows, p=weights)]

    return make


def _one_of_a_class(rows: int, random: Random) -> Cells:
    return [
        "rare" if row == int(rows / 2) else "common" if row % 3 else "other" for row in range(rows)
    ]


LABELS: dict[str, Callable[[int, Random], Cells]] = {
    "two classes": _classes(["yes", "no"]),
    "classes in two spellings": _classes(["Yes", "yes ", "no"]),
    "numeric classes": _classes([0, 1]),
    "float classes": _classes([0.0, 1.0, 2.0]),
    "truth values": _classes([True, False]),
    "seven classes": _classes([f"class {n}" for n in range(7)]),
    "few of one class": _classes(["common", "rare"], [0.96, 0.04]),
    "one row of a class": _one_of_a_class,
    "classes with a blank word": _classes(["n/a", "good", "bad"]),
    "unicode classes": _classes(["好", "плохо", "🙂"]),
    "long class names": _classes(["a" * 120, "b" * 120]),
}
HOPELESS_LABELS: dict[str, Callable[[int, Random], Cells]] = {
    "one class": _classes(["only"]),
    "numbers as amounts": lambda rows, random: [float(value) for value in random.normal(size=rows)],
}


def _text(rows: int, random: Random, label: Cells, length: int = 8) -> Cells:
    return [
        " ".join(_pick(random, WORDS) for _ in range(int(random.integers(1, length))))
        for _ in range(rows)
    ]


def _with_holes(
    make: Callable[[int, Random], Cells], share: float
) -> Callable[[int, Random, Cells], Cells]:
    def holed(rows: int, random: Random, label: Cells) -> Cells:
        return [None if random.random() < share else cell for cell in make(rows, random)]

    return holed


def _numbers(rows: int, random: Random) -> Cells:
    return [float(value) for value in random.normal(size=rows)]


def _mixed(rows: int, random: Random, label: Cells) -> Cells:
    share = random.random()
    return [
        str(row) if random.random() < share else _pick(random, ("n/a", "-", "many", "1,5", "12 %"))
        for row in range(rows)
    ]


INPUTS: dict[str, Callable[[int, Random, Cells], Cells]] = {
    "short text": _text,
    "long text": lambda rows, random, label: _text(rows, random, label, 200),
    "text with holes": _with_holes(lambda rows, random: _text(rows, random, []), 0.5),
    "numbers": lambda rows, random, label: _numbers(rows, random),
    "numbers with holes": _with_holes(_numbers, 0.7),
    "integers": lambda rows, random, label: [int(value) for value in random.integers(-5, 90, rows)],
    "decimal commas": lambda rows, random, label: [
        f"{value:.2f}".replace(".", ",") for value in random.normal(size=rows)
    ],
    "huge numbers": lambda rows, random, label: [
        float(value) * 1e300 for value in random.normal(size=rows)
    ],
    "numbers and infinities": lambda rows, random, label: [
        "inf" if random.random() < 0.2 else str(row) for row in range(rows)
    ],
    "mixed types": _mixed,
    "constant": lambda rows, random, label: ["same"] * rows,
    "constant number": lambda rows, random, label: [7] * rows,
    "blank": lambda rows, random, label: [None] * rows,
    "white space": lambda rows, random, label: ["  "] * rows,
    "dates": lambda rows, random, label: [f"2024-0{1 + row % 9}-1{row % 9}" for row in range(rows)],
    "truth": lambda rows, random, label: [bool(value) for value in random.integers(0, 2, rows)],
    "categories": lambda rows, random, label: [
        _pick(random, ("red", "green ", " blue", "Größe", "红")) for _ in range(rows)
    ],
    "nearly unique words": lambda rows, random, label: [
        f"w{int(value)}" for value in random.integers(0, 2 * rows, rows)
    ],
    "row numbers": lambda rows, random, label: list(range(rows)),
    "e-mail addresses": lambda rows, random, label: [
        f"someone.{row}@example.org" for row in range(rows)
    ],
    "a copy of the label": lambda rows, random, label: [f"is {cell}" for cell in label],
}

OWNERS: dict[str, Callable[[int, Random], Cells]] = {
    "owners of one row": lambda rows, random: [f"u{row}" for row in range(rows)],
    "one owner": lambda rows, random: ["me"] * rows,
    "owners of some rows": lambda rows, random: [
        f"u{int(value)}" for value in random.integers(0, max(2, rows // 4), rows)
    ],
    "rows without owner": lambda rows, random: [
        None if random.random() < 0.4 else int(value)
        for value in random.integers(0, max(2, rows // 4), rows)
    ],
    "one large owner": lambda rows, random: [
        "big" if random.random() < 0.9 else f"u{row % 3}" for row in range(rows)
    ],
}


def _marks(names: Sequence[object], shares: Sequence[float]) -> Callable[[int, Random], Cells]:
    return _classes(names, shares)


SPLITS: dict[str, Callable[[int, Random], Cells]] = {
    "split": _marks(["train", "test"], [0.8, 0.2]),
    "split in other spellings": _marks([" Train", "TEST ", "train"], [0.4, 0.3, 0.3]),
    "split of three": _marks(["train", "dev", "test"], [0.5, 0.3, 0.2]),
    "split with few train rows": _marks(["train", "test"], [0.1, 0.9]),
    "split with few test rows": _marks(["train", "test"], [0.97, 0.03]),
    "split with holes": _marks(["train", "test", None], [0.5, 0.2, 0.3]),
    "split by other words": _marks(["training", "holdout"], [0.8, 0.2]),
}


def _write_text(
    separator: str, encoding: str, ending: str
) -> Callable[[dict[str, Cells], Path], Path]:
    def write(columns: dict[str, Cells], stem: Path) -> Path:
        path = stem.with_suffix(ending)
        with path.open("w", newline="", encoding=encoding, errors="replace") as file:
            writer = csv.writer(file, delimiter=separator)
            writer.writerow(columns)
            writer.writerows(
                ["" if cell is None else cell for cell in row]
                for row in zip(*columns.values(), strict=True)
            )
        return path

    return write


def _write_jsonl(columns: dict[str, Cells], stem: Path) -> Path:
    path = stem.with_suffix(".jsonl")
    lines = (
        json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
        for row in zip(*columns.values(), strict=True)
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _write_parquet(columns: dict[str, Cells], stem: Path) -> Path:
    path = stem.with_suffix(".parquet")
    pl.DataFrame(
        {name: pl.Series(cells, strict=False) for name, cells in columns.items()}
    ).write_parquet(path)
    return path


WRITERS: dict[str, Callable[[dict[str, Cells], Path], Path]] = {
    "csv": _write_text(",", "utf-8", ".csv"),
    "csv with a mark of its order": _write_text(",", "utf-8-sig", ".csv"),
    "semicolons": _write_text(";", "utf-8", ".csv"),
    "tsv": _write_text("\t", "utf-8", ".tsv"),
    "cp1252": _write_text(",", "cp1252", ".csv"),
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}


def _write(columns: dict[str, Cells], folder: Path, stem: str, how: str) -> Path:
    return WRITERS[how](columns, folder / stem)
