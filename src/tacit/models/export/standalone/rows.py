"""Encodes rows for a model that Tacit exported. Needs numpy and the files next to this one; not
Tacit.
"""

import json
import math
import runpy
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
MISSING = "(missing)"


def encode(rows: list[dict[str, Any]], folder: Path = HERE) -> dict[str, Any]:
    """Encode rows as the model's arguments, by name: `words` and `weights`, `numbers`, `categories`
    and their `codes`.

    Words of a text are indices of rows of the first layer, each with a weight; weight 0 is padding.
    A missing number is NaN, a missing category "(missing)"; a code is the index of a category, -1
    for an unknown one.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    if config["text"]:
        rule = runpy.run_path(str(folder / "spelling.py"))
        found["words"], found["weights"] = _entries(rows, config["text"], rule)
    if config["numbers"]:
        found["numbers"] = _numbers(rows, config["numbers"])
    if config["categories"]:
        cells = [[_name(row.get(one["name"])) for one in config["categories"]] for row in rows]
        places = [
            {name: place for place, name in enumerate(one["known"])} for one in config["categories"]
        ]
        found["categories"] = np.array(cells, dtype=object).reshape(len(rows), len(places))
        codes = [
            [known.get(cell, -1) for cell, known in zip(row, places, strict=True)] for row in cells
        ]
        found["codes"] = np.array(codes, np.int64).reshape(len(rows), len(places))
    return found


def _entries(
    rows: list[dict[str, Any]], text: dict[str, Any], rule: dict[str, Any]
) -> tuple[Any, Any]:
    known = {word: place for place, word in enumerate(text["listed"])}
    text, lines = {**text, "stop_words": set(text["stop_words"])}, []
    for row in rows:
        found = _places(
            " ".join(_text(row.get(name)) for name in text["columns"]), text, rule, known
        )
        if text["kind"] == "sequence":
            lines.append([(place, 1 / len(found)) for place in found])
        else:
            lines.append(
                [
                    (place, _value(place, count, text))
                    for place, count in sorted(Counter(found).items())
                ]
            )
    width = max([1, *map(len, lines)])
    places, weights = (
        np.zeros((len(rows), width), np.int64),
        np.zeros((len(rows), width), np.float32),
    )
    for at, line in enumerate(lines):
        for slot, (place, weight) in enumerate(line):
            places[at, slot], weights[at, slot] = place, weight
    return places, weights


def _places(
    whole: str, text: dict[str, Any], rule: dict[str, Any], known: dict[str, int]
) -> list[int]:
    """Row of the first layer for each word of a text, and for each n-gram."""
    if text["ngrams"] > 1 or text["characters"]:
        terms = rule["list_term_hashes"](
            _compose_accents(whole), text["ngrams"], tuple(text["characters"])
        )
        return [rule["find_bucket"](term, *text["hash"]) for term in terms]
    any_script = "list_term_hashes" in rule
    words = [
        word
        for word in rule["split_words"](_compose_accents(whole) if any_script else whole)
        if word not in text["stop_words"]
    ]
    if text["kind"] == "listed":
        return [known[word] for word in words if word in known]
    return [
        rule["hash_to_bucket"](word, *text["hash"])
        for word in (words[: text["length"]] if text["kind"] == "sequence" else words)
    ]


def _value(place: int, count: int, text: dict[str, Any]) -> float:
    weight = text["weights"][place] if text["weights"] else 1.0
    return (
        weight
        * {"presence": 1.0, "counts": count, "sublinear": 1 + math.log(count)}[text["counts"]]
    )


def _compose_accents(text: str) -> str:
    """Combine each accent with its letter into one character."""
    return (
        unicodedata.normalize("NFC", text)
        if any("\u0300" <= character <= "\u036f" for character in text)
        else text
    )


def _numbers(rows: list[dict[str, Any]], numbers: dict[str, Any]) -> Any:
    if numbers["picture"]:
        return np.array([np.ravel(row[numbers["picture"]]) for row in rows], np.float64).reshape(
            len(rows), numbers["count"]
        )
    cells = [[_number(row.get(name)) for name in numbers["names"]] for row in rows]
    return np.array(cells, np.float64).reshape(len(rows), numbers["count"])


def _number(cell: Any) -> float:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return float("nan")
    return value if abs(value) != float("inf") else float("nan")


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _name(cell: Any) -> str:
    return _text(cell).strip() or MISSING
