"""Numbers in text cells: each is read by itself under one decimal mark, and a file that could be misread is refused."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl
import pytest

from tacit.column_statistics.number_format import NumberFormat
from tacit.data import SiteFile, load
from tacit.data.clean import parse_numbers, to_text
from tacit.data.decimals import choose_formats, find_decimal_evidence, parse_cells
from tacit.errors import DataError
from tacit.plan import Columns, Data
from tacit.randomness import Draws

CELLS = {
    "12": (12, 12), "-7": (-7, -7), "1e3": (1000, 1000), "0.5": (0.5, 0.5), "0,5": (0.5, 0.5), ".5": (0.5, 0.5), ",5": (0.5, 0.5),
    "+1234,567": (1234.567, 1234.567), "1234.567": (1234.567, 1234.567), "0,123": (0.123, 0.123), "1,5e2": (150, 150),
    "1,234.5": (1234.5, 1234.5), "1.234,5": (1234.5, 1234.5), "-1,234,567": (-1234567, -1234567), "1.234.567": (1234567, 1234567),
    "1,234": (1234, 1.234), "-12.345": (-12.345, -12345), "999,999": (999999, 999.999),
    "1,2,3": (None, None), "1.2.3": (None, None), "many": (None, None), "": (None, None), "1,23,456": (None, None),
}  # fmt: skip
"""What a cell says with a decimal point, and with a decimal comma."""


def series(*cells: str | None) -> pl.Series:
    return pl.Series("x", cells, dtype=pl.String)


def formats_of(*cells: str, pinned: str | None = None, vouched: bool = True) -> NumberFormat:
    return choose_formats({"x": find_decimal_evidence(series(*cells))}, pinned, vouched)["x"]  # type: ignore[arg-type]


def test_every_cell_is_read_by_itself() -> None:
    for place, mark in enumerate(("point", "comma")):
        expected = [values[place] for values in CELLS.values()]
        assert parse_cells(series(*CELLS), mark).to_list() == expected
        assert [parse_cells(series(cell), mark)[0] for cell in CELLS] == expected


@pytest.mark.parametrize(
    ("cells", "comma", "unclear"),
    [
        (["1", "2"], False, False),
        (["1,5", "2"], True, False),
        (["1.5", "2"], False, False),
        (["1.5", "2,5"], False, False),  # each can be read in one way
        (["1,234", "7"], False, True),
        (["1,234", "2,5"], True, True),
        (["1,234", "2.5"], False, True),
        (["1.234", "1.234.567"], True, True),
    ],
)
def test_a_column_shows_its_decimal_mark(cells: list[str], comma: bool, unclear: bool) -> None:
    assert formats_of(*cells) == NumberFormat(comma, unclear)


def test_a_column_of_unclear_cells_is_read_as_the_other_columns_show() -> None:
    unclear, comma, point = (
        find_decimal_evidence(series(cell)) for cell in ("3,512", "1,5", "1.5")
    )
    assert choose_formats({"x": unclear, "y": comma}, None, True)["x"] == NumberFormat(True, True)
    assert choose_formats({"x": unclear, "y": comma, "z": point}, None, True)["x"] == NumberFormat(
        False, True
    )


def test_a_column_with_both_marks_and_unclear_cells_is_refused_unless_somebody_says_which() -> None:
    with pytest.raises(
        DataError,
        match=(
            r"column 'x' has numbers with a decimal point, numbers with a decimal comma.*set"
            r" data.decimal"
        ),
    ):
        formats_of("1.5", "2,5", "1,234")
    assert formats_of("1.5", "2,5", "1,234", pinned="comma") == NumberFormat(True, False)


def test_what_a_plan_says_is_not_believed_against_the_file_and_what_its_owner_says_is() -> None:
    with pytest.raises(
        DataError, match=r"column 'x': the plan has data.decimal = 'comma'.*set decimal to 'point'"
    ):
        formats_of("1.5", "1,234", pinned="comma", vouched=False)
    assert formats_of("1.5", "1,234", pinned="comma", vouched=True).comma
    assert formats_of("1,234", pinned="comma", vouched=False).comma, (
        "nothing in the file says otherwise"
    )
    assert formats_of("1.5", pinned="comma", vouched=False).comma, "no cell would be another number"


def test_a_plan_may_say_the_mark(tmp_path: Path, draws: Draws) -> None:
    (tmp_path / "a.csv").write_text('x,y\n"1,234",a\n"5,678",b\n')
    source = {
        "source": str(tmp_path / "a.csv"),
        "columns": Columns(numeric=("x",), label="y"),
        "test": 0.0,
    }
    guessed, said = load(Data(**source), draws), load(Data(**source, decimal="comma"), draws)
    assert guessed.train["x"].to_list() == [1234, 5678]
    assert guessed.habits.released == (
        "whether numbers are written with a decimal point or a decimal comma",
    )
    assert said.train["x"].to_list() == [1.234, 5.678]
    assert said.habits.released == (), "nothing is read of rows"
    at_site = load(Data(**source, decimal="point"), draws, site=SiteFile(decimal="comma"))
    assert at_site.train["x"].to_list() == [1.234, 5.678]


def test_one_fraction_changes_how_no_other_number_is_kept_or_written() -> None:
    for more in ("4", "4.5"):
        cells = parse_cells(series("17", more), "point")
        assert cells.dtype == pl.Float64
        assert to_text(cells)[0] == "17"
        assert to_text(pl.Series([17.0, float(more)]))[0] == "17"
    assert to_text(pl.Series([0.5, None, 1e300])).to_list() == ["0.5", None, "1e+300"]


def test_days_and_times_are_seconds_in_any_unit() -> None:
    day, noon = datetime.date(1970, 1, 3), datetime.datetime(1970, 1, 3)
    found = [parse_numbers(pl.Series([day]), "point")[0]]
    found += [
        parse_numbers(pl.Series([noon], dtype=pl.Datetime(unit)), "point")[0]
        for unit in ("ms", "us", "ns")
    ]
    assert found == [2 * 86_400] * 4
    assert parse_numbers(pl.Series([datetime.time(0, 1)]), "point")[0] == 60
    assert parse_numbers(pl.Series([datetime.timedelta(minutes=2)]), "point")[0] == 120


def test_a_site_does_not_guess_an_encoding_from_everybodys_rows(
    tmp_path: Path, draws: Draws
) -> None:
    (tmp_path / "a.csv").write_bytes("t,y\ncafé,a\nnaïve,b\n".encode("cp1252"))
    source = {
        "source": str(tmp_path / "a.csv"),
        "columns": Columns(text=("t",), label="y"),
        "test": 0.0,
    }
    assert "a guess" in load(Data(**source), draws).source
    with pytest.raises(
        DataError, match=r"not UTF-8 \(byte 7\); save it as UTF-8, or set encoding in site.toml"
    ):
        load(Data(**source), draws, site=SiteFile())
    assert load(Data(**source, encoding="cp1252"), draws, site=SiteFile()).train["t"].to_list() == [
        "café",
        "naïve",
    ]
