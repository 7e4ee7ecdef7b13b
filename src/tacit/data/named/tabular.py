"""Tables of people and mails: adult, spambase, cardio."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from tacit.data.named.entry import File, NamedDataSet, Way, get_only_file
from tacit.plan import Columns

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_UCI_TERMS = "CC BY 4.0, as stated by the UCI Machine Learning Repository; cite"

_ADULT = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
_ADULT_NUMERIC = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_ADULT_CATEGORICAL = (
    "workclass",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)

_ADULT_LEVELS = {
    "hours-level": ("hours-per-week", (25, 40, 60)),
    "gain-level": ("capital-gain", (0, 7_298)),
    "loss-level": ("capital-loss", (0, 1_887)),
}

_SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses"
    " free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data"
    " 415 85 technology 1999 parts pm direct cs meeting original project re edu table conference"
)
_SPAM_NUMERIC = (
    *(f"word_freq_{word}" for word in _SPAM_WORDS.split()),
    *(f"char_freq_{mark}" for mark in ";([!$#"),
    *(f"capital_run_length_{kind}" for kind in ("average", "longest", "total")),
)

_CARDIO = (
    "age",
    "gender",
    "height",
    "weight",
    "ap_hi",
    "ap_lo",
    "cholesterol",
    "gluc",
    "smoke",
    "alco",
    "active",
)


def _read_content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def read_adult(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read the rows without a "?", without fnlwgt and education (education-num says the same), and
    add four columns.

    `hours-level`, `gain-level` and `loss-level` are the ordinal forms PartFed uses, after the R
    package arules: hours cut at 25, 40 and 60; gain and loss none, low, high, cut at the median of
    what is above zero. `male` is sex as a number.
    """
    table = pl.read_csv(
        _read_content(get_only_file(files)),
        has_header=False,
        new_columns=list(_ADULT),
        infer_schema=False,
    )
    # The file ends in a blank line, which reads as a row of nothing.
    table = table.drop_nulls().with_columns(pl.all().str.strip_chars())
    known = table.filter(~pl.any_horizontal(pl.all() == "?"))
    numbers = known.drop("fnlwgt", "education").cast(dict.fromkeys(_ADULT_NUMERIC, pl.Int32))
    levels = {level: _build_level(column, ends) for level, (column, ends) in _ADULT_LEVELS.items()}
    return numbers.with_columns(**levels, male=(pl.col("sex") == "Male").cast(pl.Int8))


def _build_level(column: str, ends: tuple[int, ...]) -> pl.Expr:
    """The interval in which a number lies, from 0; each interval includes its upper end."""
    return pl.sum_horizontal(pl.col(column) > end for end in ends).cast(pl.Int8)


def read_spambase(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read 57 frequencies and lengths of each mail, and whether it is spam."""
    content = _read_content(get_only_file(files)).replace(b"\r\n", b"\n")
    table = pl.read_csv(
        content, has_header=False, new_columns=[*_SPAM_NUMERIC, "spam"], infer_schema=False
    )
    return table.cast({**dict.fromkeys(_SPAM_NUMERIC, pl.Float64), "spam": pl.Int8})


def read_cardio(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read the examinations as published, impossible blood pressures included."""
    return pl.read_csv(_read_content(get_only_file(files)), separator=";").cast({"cardio": pl.Int8})


ADULT = NamedDataSet(
    name="adult",
    title="Adult census income",
    rows=30_162,
    terms=f"{_UCI_TERMS} Becker and Kohavi 1996.",
    columns=Columns(
        label="income",
        numeric=_ADULT_NUMERIC,
        categorical=_ADULT_CATEGORICAL,
        quasi=("age", "race", "sex"),
    ),
    ways=(
        Way(
            name="prepared",
            files=(
                File(
                    name="adult.data.gz",
                    checksum=(
                        "sha256:c7a2b4716a97f930123e0baf879188d701e798172631a654fc703d4b082907f3"
                    ),
                    size=408_969,
                ),
            ),
            read=read_adult,
            keep=True,
            note="the 32,561-row file without its 2,399 rows with a missing value",
        ),
        Way(
            name="origin",
            files=(
                File(
                    name="adult.data",
                    checksum=(
                        "sha256:5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
                    ),
                    size=3_974_305,
                    url=f"{_UCI}/adult/adult.data",
                ),
            ),
            read=read_adult,
            note="the 32,561-row file without its 2,399 rows with a missing value",
        ),
    ),
)

SPAMBASE = NamedDataSet(
    name="spambase",
    title="Spambase",
    rows=4_601,
    terms=f"{_UCI_TERMS} Hopkins, Reeber, Forman, Suermondt 1999.",
    columns=Columns(label="spam", numeric=_SPAM_NUMERIC),
    ways=(
        Way(
            name="prepared",
            files=(
                File(
                    name="spambase.data.gz",
                    checksum=(
                        "sha256:afae77647783cd23bc046b3b9e683f6b3b4f7359aa521d5236782b3d81295f73"
                    ),
                    size=121_470,
                ),
            ),
            read=read_spambase,
            keep=True,
        ),
        Way(
            name="origin",
            files=(
                File(
                    name="spambase.data",
                    checksum=(
                        "sha256:b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12"
                    ),
                    size=702_942,
                    url=f"{_UCI}/spambase/spambase.data",
                ),
            ),
            read=read_spambase,
        ),
    ),
)

CARDIO = NamedDataSet(
    name="cardio",
    title="Cardiovascular disease (Kaggle, sulianova)",
    rows=70_000,
    terms="Licence unknown on its Kaggle page; treat as research use.",
    columns=Columns(label="cardio", numeric=_CARDIO, quasi=("age", "gender")),
    ways=(
        Way(
            name="prepared",
            files=(
                File(
                    name="cardio_train.csv.gz",
                    checksum=(
                        "sha256:c93f817b0df9637b3839858459c3e836410598a3bee63d6759aa395f8fe8ccc2"
                    ),
                    size=716_122,
                ),
            ),
            read=read_cardio,
            keep=True,
        ),
        Way(
            name="kaggle",
            files=(
                File(
                    name="cardio_train.csv",
                    checksum=(
                        "sha256:21a705d23381b0dfd6a6416da701b490744f1fc3b47e9ff3db3968c420ffa10c"
                    ),
                    size=2_941_524,
                ),
            ),
            read=read_cardio,
            keep=True,
        ),
    ),
    by_hand=(
        "Kaggle asks for an account. Take"
        " kaggle.com/datasets/sulianova/cardiovascular-disease-dataset, unpack cardio_train.csv"
        " into a folder, and name that folder in TACIT_DATA. If its checksum differs, give the file"
        " itself as data.source."
    ),
)

ENTRIES = (ADULT, SPAMBASE, CARDIO)
