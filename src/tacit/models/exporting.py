"""Exports a run's model in another format, and compares it with the run itself on some rows before
the export is accepted.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit import data
from tacit.errors import PlanError, RunError, did_you_mean
from tacit.models import export
from tacit.models.export_form import build_form
from tacit.models.predict import StoredModel, load
from tacit.plan import Layered
from tacit.randomness import Draws

_ROWS = 1000
_LARGEST = 1e-5
"""Largest difference of a probability that rounding explains."""


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """The folder of an export, and the largest difference of its probabilities from the run's, over
    `rows` rows.
    """

    folder: Path
    difference: float
    rows: int


def export_model(
    model: StoredModel, to: str, out: Path, card: export.ModelCard, rows: object | None = None
) -> ExportResult:
    """Export a model and compare it with the run: on the given rows, or on a thousand synthetic
    ones.

    Raises RunError if the format cannot represent the model, or if the export predicts differently;
    then nothing is left behind.
    """
    if to not in export.FORMATS:
        raise PlanError(
            f"export to {to!r}: unknown format; choose one of"
            f" {', '.join(export.FORMATS)}.{did_you_mean(to, list(export.FORMATS))}"
        )
    if model.clients is not None:
        raise RunError(
            f"export to {to!r}: each client has its own model; name one with --client-id ID. The export"
            " then holds that client's private part"
        )
    if model.sources.secret:
        raise RunError(
            f"export to {to!r}: columns are quantised with the clients' secret, which an export"
            " would disclose; use `tacit predict` where the secret is kept"
        )
    has_layers = isinstance(model.network, Layered) and not model.settings.has_encoder
    as_run = to == "safetensors" or (to == "hub" and not has_layers)
    stored = export.RunModel(tensors=model.learner.tensors(model.vector), facts=model.facts)
    export.write(out, to, stored if as_run else build_form(model, to), card)
    try:
        return _try_export(model, to, out, as_run, rows)
    except BaseException:
        shutil.rmtree(
            out, ignore_errors=True
        )  # it was new: `write` refuses a folder that holds something
        raise


def _try_export(
    model: StoredModel, to: str, out: Path, as_run: bool, rows: object | None
) -> ExportResult:
    table = make_up_rows(model) if rows is None else data.read_new_rows(rows, model.roles)[0]
    ours = model.predict_proba(table)
    if as_run:
        theirs = load(out, allow_code=True).predict_proba(
            table
        )  # the same class that the model was loaded with
    else:
        cleaned, _ = model.clean(table)
        theirs = export.compute_probabilities(out, to, cleaned.to_dicts())
    apart = float(np.abs(ours - theirs).max(initial=0.0))
    if not apart <= _LARGEST:
        raise RunError(
            f"export to {to!r}: its probabilities differ from the run's by {apart:.2g} on"
            f" {len(ours):,} rows; nothing was written"
        )
    return ExportResult(folder=out, difference=apart, rows=len(ours))


def make_up_rows(model: StoredModel, count: int = _ROWS) -> pl.DataFrame:
    """Generate synthetic rows: random words, numbers in and around the known ranges, categories
    known and unknown, missing cells.
    """
    random, roles = Draws.seeded(0).at("export", "rows").generator(), model.roles
    cells: dict[str, Any] = {}
    for name in roles.text:
        known = [*_make_up_words(random), *model.fitted.words[:2000]]
        picks = iter(random.integers(0, len(known), 40 * count).tolist())
        cells[name] = [
            " ".join(known[next(picks)] for _ in range(length))
            for length in random.integers(0, 40, count).tolist()
        ]
    for name in roles.numeric:
        low, high = model.fitted.ranges.get(name, (-1.0, 1.0))
        values = low / 2 + high / 2 + (high / 2 - low / 2) * 1.3 * random.uniform(-1, 1, count)
        cells[name] = [
            None if hole else value
            for hole, value in zip(random.random(count) < 0.05, values.tolist(), strict=True)
        ]
    for name in roles.categorical:
        known = [*model.fitted.categories[name], "(of none)"]
        cells[name] = [
            None if pick == len(known) else known[pick]
            for pick in random.integers(0, len(known) + 1, count)
        ]
    if roles.image:
        cells[roles.image] = random.integers(0, 256, (count, model.fitted.pixels or 1)).astype(
            np.uint8
        )
    return pl.DataFrame(cells)


def _make_up_words(random: np.random.Generator, count: int = 1000) -> list[str]:
    """Generate words of all lengths, some with an accent, a digit or an apostrophe, some in other
    scripts.
    """
    scripts = ("abcdefghijklmnopqrstuvwxyzé1'\u0301", "абвгдежзиклмнопрстуф", "東京都人日本語")
    picks = iter(random.integers(0, 2**16, 10 * count).tolist())
    made = []
    for number, length in enumerate(random.integers(1, 9, count).tolist()):
        letters = scripts[0] if number % 8 else scripts[1 + number // 8 % 2]
        made.append("".join(letters[next(picks) % len(letters)] for _ in range(length)))
    return made
