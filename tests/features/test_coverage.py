"""How much of the texts a model reads, and in which language they are."""

from __future__ import annotations

import polars as pl
import pytest

from tacit.features import find_language, measure_coverage
from tacit.plan import Columns, Features

COLUMNS = Columns(text=("t",))
LISTED = Features(text="listed", list="en", words="unicode")
ENGLISH = ("the", "hotel", "was", "clean", "and", "cheap", "but", "not", "nice", "it", "is")


def texts(*cells: str) -> pl.DataFrame:
    return pl.DataFrame({"t": [cells[k % len(cells)] for k in range(60)]})


def test_shares_of_texts_and_of_words() -> None:
    found = measure_coverage(
        texts("the hotel was nice", "the zorg blat vrum", "qx12 #ok 👍", ""),
        COLUMNS,
        LISTED,
        ENGLISH,
    )
    assert found.texts == 45  # texts without any word are left out
    assert found.texts_seen == pytest.approx(2 / 3)
    assert found.words_seen == pytest.approx(5 / 11)
    assert not found.is_enough


def test_prose_of_the_list_is_covered_and_no_texts_are_too() -> None:
    assert measure_coverage(
        texts("the hotel was clean and cheap"), COLUMNS, LISTED, ENGLISH
    ).is_enough
    assert measure_coverage(texts("", "  "), COLUMNS, LISTED, ENGLISH).is_enough


def test_letters_are_blind_to_other_scripts_and_hashed_words_of_any_script_are_not() -> None:
    frame = texts("отель был чистый", "这家酒店很干净", "👍👍")
    assert measure_coverage(frame, COLUMNS, Features(words="letters")).words_seen == 0.0
    assert measure_coverage(frame, COLUMNS, Features(words="unicode")).words_seen == 1.0


@pytest.mark.parametrize(
    ("text", "code", "name"),
    [
        ("The hotel was clean and the staff were kind", "en", "English"),
        ("good phone, great battery", "en", "English"),
        ("Das Hotel war sauber und das Personal ist freundlich", "de", "German"),
        ("El hotel estaba muy limpio pero el desayuno ya no está", "es", "Spanish"),
        ("L'hôtel est propre et le personnel est gentil dans les couloirs", "fr", "French"),
        ("Il hotel era pulito ma non è bello", "it", "Italian"),
        ("Het hotel is schoon maar niet goedkoop", "nl", "Dutch"),
        ("O hotel é muito limpo e não é caro", "pt", "Portuguese"),
        ("Jag är inte nöjd med hotellet", "sv", "Swedish"),
        ("Hotel jest czysty ale nie jest tani i tak się nie da", "pl", "Polish"),
        ("Отель был очень чистый", None, "Cyrillic"),
        ("这家酒店非常干净", None, "Chinese"),
        ("このホテルはとてもきれいでした", None, "Japanese"),
        ("qx12 zorg blat vrum", None, ""),
        ("😀😀 👍", None, ""),
    ],
)
def test_languages(text: str, code: str | None, name: str) -> None:
    assert find_language(texts(text), COLUMNS) == (code, name)
