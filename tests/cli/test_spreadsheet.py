"""Cells in CSV files: nothing a spreadsheet would run, and every text can be had back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.cli.spreadsheet import escape_cell, unescape_cell

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "-",
    "'=1",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_escaped(text: str) -> None:
    assert escape_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "up", "-5", "+3.25", "-1e-7", "1,000", "-.5", "'tis", "a=b", "2+2"]
)
def test_numbers_and_words_stay(text: str) -> None:
    assert escape_cell(text) == text


@given(st.text(alphabet="'=+-@\t\r\nab1.", max_size=6) | st.text(max_size=8))
def test_every_text_can_be_had_back_and_none_begins_a_formula(text: str) -> None:
    cell = escape_cell(text)
    assert unescape_cell(cell) == text
    if cell and cell[0] in "=+-@\t\r\n＝＋－＠":
        assert set(cell) <= set("+-0123456789.,eE")
        assert any(one.isdigit() for one in cell)
