"""`check` says what to expect of rows at hand, and nothing where that could be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tacit import plan as plans
from tacit.simulation.advice.client_count import count_clients
from tacit.simulation.advice.enough_people import describe_expected_accuracy

ENGLISH = "The film was a pleasure to watch and the actors were very good in all of the scenes."
GERMAN = (
    "Der Film war ein Vergnügen und die Schauspieler waren in allen Szenen sehr gut, aber lang."
)


def describe(
    folder: Path, sentence: str, clients: int, *, classes: int = 2, **features: Any
) -> str:
    frame = pl.DataFrame(
        {
            "note": [f"{sentence} {row}" for row in range(600)],
            "kind": [row % classes for row in range(600)],
        }
    )
    frame.write_csv(folder / "rows.csv")
    columns = {"text": ["note"], "label": "kind"}
    data = {"source": str(folder / "rows.csv"), "clients": clients, "columns": columns}
    job = plans.parse({"privacy": {"epsilon": 1.0}, "data": data, "features": features})
    return describe_expected_accuracy(job, count_clients(job))


@pytest.mark.parametrize("form", ["listed", "binary", "encoder"])
def test_few_people_are_told_what_to_expect(tmp_path: Path, form: str) -> None:
    said = describe(tmp_path, ENGLISH, 5, text=form)
    assert said.startswith("with 5 clients at epsilon 1 per run expect a model close to chance")
    more = describe(tmp_path, ENGLISH, 400, text=form)
    assert "close to chance" not in more or "may stay close to chance" in more
    assert "other data may lie outside" in more


def test_an_english_encoder_promises_nothing_for_other_languages(tmp_path: Path) -> None:
    said = describe(tmp_path, GERMAN, 400, text="encoder")
    assert said.startswith(
        "unknown: the texts seem to be German, and the encoder minilm reads English"
    )
    assert describe(tmp_path, GERMAN, 400, text="binary").startswith("with 400 clients")


def test_many_classes_and_other_encoders_were_not_measured(tmp_path: Path) -> None:
    assert describe(tmp_path, ENGLISH, 100, classes=30, text="encoder") == ""
    assert describe(tmp_path, ENGLISH, 100, text="encoder", encoder="mine") == ""
