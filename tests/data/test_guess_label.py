"""What is predicted: classes; amounts and several classes in a cell are recognised, and nothing else is chosen in their place."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tacit.data.roles.guess_roles import guess_roles, study_columns
from tacit.errors import DataError

ROWS = 400
DRAWS = np.random.default_rng(3)
AMOUNTS = DRAWS.normal(size=ROWS).round(3)
MANY = DRAWS.integers(1000, 90_000, ROWS)
AGES = DRAWS.integers(18, 90, ROWS)
TEXTS = [f"a good film number {k} that was seen" for k in range(ROWS)]


def few(*values: str) -> list[str]:
    return [values[k] for k in DRAWS.integers(len(values), size=ROWS)]


@pytest.mark.parametrize(
    ("columns", "amount"),
    [
        ({"age": AGES, "sex": few("m", "f"), "bmi": AMOUNTS, "target": MANY}, "target"),
        ({"city": few("A", "B", "C"), "sqm": AMOUNTS, "price": MANY}, "price"),
        ({"sqm": AMOUNTS, "price": MANY, "city": few("A", "B", "C")}, "price"),
        (
            {"age": AGES, "smoker": few("y", "n"), "region": few("a", "b"), "charges": AMOUNTS},
            "charges",
        ),
        ({"Ort": few("A", "B"), "Zimmer": AGES, "Kaufpreis": MANY}, "Kaufpreis"),
        ({"ville": few("A", "B"), "surface": AMOUNTS, "prix": MANY}, "prix"),
        ({"ciudad": few("A", "B"), "precio": MANY, "x": AMOUNTS}, "precio"),
        ({"город": few("A", "B"), "цена": MANY}, "цена"),
        ({"城市": few("A", "B"), "价格": MANY}, "价格"),
        ({"a": few("x", "y"), "b": few("u", "v", "w"), "c": AMOUNTS, "out": AMOUNTS[::-1]}, "out"),
    ],
)
def test_amounts_stop_with_what_to_do(columns: dict[str, list[object]], amount: str) -> None:
    with pytest.raises(DataError, match="amounts not yet") as refusal:
        guess_roles(pl.DataFrame(columns))
    assert repr(amount) in str(refusal.value)
    assert "--label" in str(refusal.value)


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ({"fare": AMOUNTS, "sex": few("m", "f"), "Survived": few("0", "1")}, "Survived"),
        ({"Survived": few("0", "1"), "sex": few("m", "f"), "fare": AMOUNTS}, "Survived"),
        ({"price": MANY, "area": AMOUNTS, "sold": few("0", "1")}, "sold"),
        ({"amount": MANY, "purpose": few("a", "b", "c"), "risk": few("good", "bad")}, "risk"),
        ({"cultivar": few("1", "2", "3"), "alcohol": AMOUNTS, "ash": AMOUNTS[::-1]}, "cultivar"),
        (
            {"age": AGES, "weight": AMOUNTS, "gender": few("1", "2"), "cardio": few("0", "1")},
            "cardio",
        ),
        ({"review": TEXTS, "opinion": few("good", "bad"), "age": AGES}, "opinion"),
        ({"price": MANY, "colour": few("a", "b", "c"), "category": few("u", "v", "w")}, "category"),
        (
            {
                "text": TEXTS,
                "product": few(
                    "Credit reporting, repair, or other", "Mortgage", "Payday, title loan"
                ),
            },
            "product",
        ),
        (
            {"text": TEXTS, "tags": few("a;b", "b;c", "a", "a;c"), "sentiment": few("good", "bad")},
            "sentiment",
        ),
        (
            {
                "评论": [f"这家酒店很干净服务也好{k}" for k in range(ROWS)],
                "情感": few("正面", "负面"),
            },
            "情感",
        ),
    ],
)
def test_true_class_labels_are_taken(columns: dict[str, list[object]], label: str) -> None:
    assert [one.column for one in guess_roles(pl.DataFrame(columns)) if one.role == "label"] == [
        label
    ]


@pytest.mark.parametrize(
    "tags",
    [few("a;b", "b;c", "a", "a;c;d", "d"), few("War|Drama", "Drama", "War|Comedy", "Comedy|Drama"),
     few("a, b", "b, c", "a", "c, a"),
     few("['a', 'b']", "['b', 'c']", "['a']", "['a', 'c']"), [["a", "b"][: 1 + k % 2] for k in range(ROWS)]],
)  # fmt: skip
def test_several_classes_in_a_cell_stop(tags: list[object]) -> None:
    for name in ("tags", "label"):
        with pytest.raises(DataError, match="several classes at once"):
            guess_roles(pl.DataFrame({"text": TEXTS, name: tags}))


def test_chinese_texts_are_texts() -> None:
    frame = pl.DataFrame({"内容": [f"很好吃{k}" for k in range(ROWS)], "标签": few("好", "坏")})
    assert {one.column: one.role for one in guess_roles(frame)} == {"内容": "text", "标签": "label"}


def test_rows_without_a_label_are_counted() -> None:
    frame = pl.DataFrame(
        {"x": AMOUNTS, "label": [None if k % 10 == 0 else "ab"[k % 2] for k in range(ROWS)]}
    )
    assert any("40 of 400 rows (10%) have no label" in note for note in study_columns(frame).notes)
