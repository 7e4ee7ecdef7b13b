"""Personal data in tables: all of it found in twenty tables, and hardly anything taken for it in twenty others."""

from __future__ import annotations

import polars as pl
import pytest

from tacit.data import load
from tacit.data.roles.guess_roles import guess_roles, study_columns
from tacit.errors import DataError
from tacit.plan import GIVEN, Columns, Data
from tacit.randomness import Draws
from tests.data.personal_tables import WITH, WITHOUT, Made, name, table


@pytest.mark.parametrize("made", WITH.values(), ids=WITH.keys())
def test_every_personal_column_is_left_out_or_the_owner(made: Made) -> None:
    found = {one.column: one for one in guess_roles(made.frame)}
    for column in made.personal:
        assert found[column].role in ("left out", "client"), found[column]
    owners = [one.column for one in found.values() if one.role == "client"]
    assert owners == ([made.owner] if made.owner else [])


def test_hardly_anything_else_is_taken_for_personal_data() -> None:
    wrong = [
        title
        for title, made in WITHOUT.items()
        for one in guess_roles(made.frame)[:1]
        if one.role != "categorical"
    ]
    assert len(wrong) <= 2, wrong
    assert (len(WITH), len(WITHOUT)) == (20, 20)


def _read(frame: pl.DataFrame, columns: Columns) -> None:
    load(Data(source=GIVEN, columns=columns), Draws.seeded(0), frame)


@pytest.mark.parametrize("made", WITH.values(), ids=WITH.keys())
def test_a_plan_written_by_hand_cannot_make_categories_of_personal_data(made: Made) -> None:
    label = made.frame.columns[-1]
    for column in made.personal:
        if column in ("patient_id", "naissance"):  # numbers and days without a shape of their own
            continue
        with pytest.raises(DataError, match="allow_personal") as refusal:
            _read(made.frame, Columns(categorical=(column,), numeric=("x",), label=label))
        assert repr(column) in str(refusal.value)
        assert not any(str(cell) in str(refusal.value) for cell in made.frame[column].unique())


def test_a_plan_can_allow_it() -> None:
    _read(
        WITH["profiles"].frame,
        Columns(categorical=("link",), numeric=("x",), label="y", allow_personal=("link",)),
    )


def test_a_category_that_is_nearly_unique_is_refused() -> None:
    frame = table({"comment": lambda k: f"remark {k}"}, each=1)
    with pytest.raises(DataError, match="identifies rows"):
        _read(frame, Columns(categorical=("comment",), numeric=("x",), label="y"))


def test_categories_are_never_refused_in_tempting_tables() -> None:
    for made in WITHOUT.values():
        _read(made.frame, Columns(categorical=(made.frame.columns[0],), numeric=("x",), label="y"))


@pytest.mark.parametrize(
    "column",
    [
        "user",
        "Kunde",
        "patient_id",
        "客户",
        "客户编号",
        "Kunden-Nr.",
        "KundenID",
        "id_paciente",
        "пациент",
    ],
)
def test_owners_are_found_by_name_in_many_languages(column: str) -> None:
    assert {one.column: one.role for one in guess_roles(table({column: lambda k: f"a{k}"}))}[
        column
    ] == "client"


@pytest.mark.parametrize(
    "column", ["customer_age", "patient_sex", "Kundengruppe", "user_type", "client country"]
)
def test_what_somebody_has_is_not_somebody(column: str) -> None:
    assert {one.column: one.role for one in guess_roles(table({column: ["a", "b", "c"]}))}[
        column
    ] == "categorical"


def test_two_kinds_of_people_are_pointed_out() -> None:
    found = study_columns(table({"buyer": name, "seller": [f"s{k}" for k in range(30)]}))
    assert [one.column for one in found.guesses if one.role == "client"] == ["buyer"]
    assert found.owners == ("seller",)
    assert any(
        "unclear who owns a row" in note and "--client 'seller'" in note for note in found.notes
    )


def test_where_people_belong_is_no_rival() -> None:
    found = study_columns(
        table(
            {
                "patient_id": lambda k: k,
                "hospital": lambda k: f"h{k % 4}",
                "email": lambda k: f"a{k}@b.de",
            }
        )
    )
    assert [one.column for one in found.guesses if one.role == "client"] == ["patient_id"]
    assert found.owners == ()


def test_an_owner_without_a_name_for_it_is_asked_for() -> None:
    found = study_columns(table({"record_id": lambda k: f"a{k}"}))
    assert found.owners == ("record_id",)
    assert any("--client 'record_id'" in note for note in found.notes)
