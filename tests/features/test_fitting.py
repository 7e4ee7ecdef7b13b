import json

import polars as pl
import pytest

from tacit.errors import DataError, PlanError
from tacit.features import Fitted, fit, text_form
from tacit.plan import Columns, Features

FRAME = pl.DataFrame(
    {
        "age": [17, 90, None],
        "race": ["White", "Black", None],
        "words": ["a", "b", "c"],
        "y": [10, 9, 9],
    }
)
MIXED = Columns(text=("words",), numeric=("age",), categorical=("race",), label="y")


def test_fit_reads_ranges_categories_and_classes_and_says_so():
    fitted = fit(FRAME, MIXED, Features(category_clients=1))
    assert fitted.ranges == {"age": (17.0, 90.0)}
    assert fitted.categories == {"race": ("Black", "White")}
    assert fitted.classes == ("9", "10")
    assert fitted.released == (
        "smallest and largest value of age",
        "in which numeric columns numbers are missing",
        "categories of race",
    )
    assert fitted.missing == ("age",)


def test_hashed_text_and_raw_numbers_release_nothing():
    assert fit(FRAME, Columns(text=("words",), label="y"), Features()).released == ()
    raw = fit(
        FRAME, Columns(numeric=("age",), label="y"), Features(numeric="raw", missing=("age",))
    )
    assert raw.released == ()
    assert raw.missing == ("age",)
    assert raw.ranges == {}


def test_json_round_trip():
    fitted = fit(FRAME, MIXED, Features(category_clients=1))
    assert Fitted.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"classes": 3},
        {"classes": [], "ranges": [], "categories": {}, "pixels": None, "released": []},
    ],
)
def test_from_dict_refuses_anything_else(tree):
    with pytest.raises(DataError, match=r"Fitted\.from_dict cannot read"):
        Fitted.from_dict(tree)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([10, 9, -1], ("-1", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
        ([True, False, True], ("false", "true")),
    ],
)
def test_classes_are_sorted(labels, classes):
    assert (
        fit(
            pl.DataFrame({"t": ["", "", ""], "y": labels}),
            Columns(text=("t",), label="y"),
            Features(),
        ).classes
        == classes
    )


@pytest.mark.parametrize(
    ("columns", "settings", "kind", "message"),
    [
        (
            Columns(label="y"),
            Features(),
            PlanError,
            "at least one text, numeric, categorical or image column",
        ),
        (Columns(text=("words",)), Features(), PlanError, "data.columns.label is missing"),
        (Columns(text=("words",), image="age", label="y"), Features(), PlanError, "only input"),
        (Columns(numeric=("agee",), label="y"), Features(), DataError, "Did you mean 'age'"),
        (
            Columns(numeric=("race",), label="y"),
            Features(),
            DataError,
            "text that is no number in row 0",
        ),
        (
            Columns(text=("words",), label="nothing"),
            Features(),
            DataError,
            "must have at least two classes",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(columns, settings, kind, message):
    frame = FRAME.with_columns(nothing=pl.lit(None))
    with pytest.raises(kind, match=message):
        fit(frame, columns, settings)


def test_errors_never_show_a_cell():
    frame = pl.DataFrame({"x": ["1", "secret"], "y": [0, 1]})
    with pytest.raises(DataError) as caught:
        fit(frame, Columns(numeric=("x",), label="y"), Features())
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "form", "said"),
    [
        (Columns(numeric=("a",), label="y"), "binary", ""),
        (Columns(text=("t",), numeric=("a",), label="y"), "binary", "hashed words"),
        (Columns(text=("t",), label="y"), "sequence", "hashed words"),
        (Columns(text=("t",), label="y"), "words", "word table"),
        (Columns(text=("t",), label="y"), "pieces", "word table"),
    ],
)
def test_the_form_of_text_is_known_from_columns_and_settings(
    columns: Columns, form: str, said: str
) -> None:
    assert text_form(columns, Features(text=form, buckets=2)) == said
