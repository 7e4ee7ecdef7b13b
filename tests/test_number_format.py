"""Files agree on one decimal mark per column; a file that it would misread is named."""

import pytest

from tacit.column_statistics.number_format import (
    NumberFormat,
    agree_formats,
    check_formats,
    find_conflicts,
)
from tacit.errors import DataError

CLEAR_COMMA, UNCLEAR_COMMA = NumberFormat(True, False), NumberFormat(True, True)
CLEAR, UNCLEAR = NumberFormat(False, False), NumberFormat(False, True)


@pytest.mark.parametrize(
    ("formats", "agreed"),
    [
        ([CLEAR, CLEAR], CLEAR),
        ([CLEAR, CLEAR_COMMA], CLEAR_COMMA),
        ([UNCLEAR, CLEAR_COMMA, CLEAR_COMMA], UNCLEAR),
        ([UNCLEAR_COMMA, CLEAR], UNCLEAR_COMMA),
        ([UNCLEAR_COMMA, UNCLEAR_COMMA, UNCLEAR], UNCLEAR_COMMA),
        ([UNCLEAR_COMMA, UNCLEAR], UNCLEAR),
    ],
)
def test_files_whose_cells_could_be_misread_decide(
    formats: list[NumberFormat], agreed: NumberFormat
) -> None:
    parts = [{"x": one} for one in formats]
    assert agree_formats(parts) == {"x": agreed}
    for one in formats:
        if one.unclear and one.comma != agreed.comma:
            with pytest.raises(
                DataError, match=r"column 'x': the run agreed on .*set decimal in site.toml"
            ):
                check_formats({"x": one}, {"x": agreed})
        else:
            check_formats({"x": one}, {"x": agreed})
    assert find_conflicts(parts) == (
        ["x"] if UNCLEAR in formats and UNCLEAR_COMMA in formats else []
    )


def test_a_column_that_nobody_agreed_on_is_read_as_its_file_shows() -> None:
    check_formats({"x": UNCLEAR_COMMA}, {})
