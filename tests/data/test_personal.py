"""Personal data in tables: all of it found in twenty tables, and hardly anything taken for it in twenty others."""

from __future__ import annotations

import polars as pl
import pytest

from tacit.data import guess_roles
from tacit.data.guess_roles import study
from tacit.data.personal import find_personal
from tacit.errors import DataError
from tests.data.personal_tables import WITH, WITHOUT, Made


@pytest.mark.parametrize("made", WITH.values(), ids=WITH.keys())
def test_every_personal_column_is_left_out_or_the_owner(made: Made) -> None:
    found = {one.column: one for one in guess_roles(made.frame)}
    for column in made.personal:
        assert found[column].role in ("left out", "client"), found[column]
    owners = [one.column for one in found.values() if one.role == "client"]
    assert owners == ([made.owner] if made.owner else [])


def test_hardly_anything_else_is_taken_for_personal_data() -> None:
    wrong = [title for title, made in WITHOUT.items() for one in guess_roles(made.frame)[:1] if one.role != "categorical"]
    assert len(wrong) <= 2, wrong
    assert (len(WITH), len(WITHOUT)) == (20, 20)
