"""MovieLens 1M as a table of ratings: who (gender, age, occupation), what (year, genres, keywords),
and liked or not.

Label 1 means a rating of 4 or 5: 575,281 rows of 1,000,209. Each user is one client.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from tacit.data.named.entry import File, NamedDataSet, Way, get_only_file
from tacit.plan import Columns

GENRES = (
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)
_GENRE_COLUMNS = tuple(
    "genre_" + genre.lower().replace("'s", "").replace("-", "_") for genre in GENRES
)


def read_prepared(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read one row per rating from the prepared ratings, users and movies; the text is the movie's
    TMDB keywords.
    """
    movies = pl.read_parquet(files["ml1m_movies.parquet"])
    users = pl.read_parquet(files["ml1m_users.parquet"])
    keywords = pl.col("tmdb_keywords").str.replace_all("|", " ", literal=True)
    return _join_tables(
        pl.read_parquet(files["ml1m_ratings.parquet"]),
        users,
        movies.with_columns(keywords=keywords),
    )


def read_archive(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read one row per rating from ml-1m.zip; it has no keywords, so the text is the words of the
    title.
    """
    with zipfile.ZipFile(get_only_file(files)) as archive:
        ratings = _read_dat(archive, "ratings.dat", ["user_id", "movie_id", "rating", "timestamp"])
        users = _read_dat(archive, "users.dat", ["user_id", "gender", "age", "occupation", "zip"])
        movies = _read_dat(archive, "movies.dat", ["movie_id", "title", "genres"])
    ratings = ratings.select(
        pl.col("user_id").cast(pl.Int16),
        pl.col("movie_id").cast(pl.Int16),
        pl.col("rating").cast(pl.Int8),
    )
    users = users.cast({"user_id": pl.Int16, "age": pl.Int8, "occupation": pl.Int8})
    words = pl.col("title").str.replace(r"\s*\(\d{4}\)\s*$", "").str.to_lowercase()
    return _join_tables(
        ratings, users, movies.cast({"movie_id": pl.Int16}).with_columns(keywords=words)
    )


def _read_dat(archive: zipfile.ZipFile, name: str, columns: list[str]) -> pl.DataFrame:
    inside = next(member for member in archive.namelist() if member.endswith(name))
    # Fields are separated by two colons; titles hold single ones. A control character cannot occur
    # in a title.
    content = archive.read(inside).decode("latin-1").replace("::", "\x1f").encode()
    return pl.read_csv(
        content,
        separator="\x1f",
        has_header=False,
        new_columns=columns,
        infer_schema=False,
        quote_char=None,
    )


def _join_tables(ratings: pl.DataFrame, users: pl.DataFrame, movies: pl.DataFrame) -> pl.DataFrame:
    listed = pl.col("genres").str.split("|")
    films = movies.select(
        "movie_id",
        pl.col("keywords").fill_null(""),
        pl.col("title").str.extract(r"\((\d{4})\)\s*$").cast(pl.Int16).alias("year"),
        *[
            listed.list.contains(genre).cast(pl.UInt8).alias(column)
            for genre, column in zip(GENRES, _GENRE_COLUMNS, strict=True)
        ],
    )
    people = users.select("user_id", "gender", "age", "occupation")
    rows = ratings.join(people, on="user_id", how="left", maintain_order="left")
    rows = rows.join(films, on="movie_id", how="left", maintain_order="left")
    return rows.with_columns(label=(pl.col("rating") >= 4).cast(pl.Int8))


ENTRY = NamedDataSet(
    name="movielens1m",
    title="MovieLens 1M",
    rows=1_000_209,
    terms=(
        "Research use with citation (Harper and Konstan 2015); not to be redistributed or used"
        " commercially without permission."
    ),
    columns=Columns(
        text=("keywords",),
        label="label",
        numeric=("age", "year", *_GENRE_COLUMNS),
        categorical=("gender", "occupation"),
        client="user_id",
        quasi=("gender", "age", "occupation"),
    ),
    ways=(
        Way(
            name="prepared",
            files=(
                File(
                    name="ml1m_ratings.parquet",
                    checksum=(
                        "sha256:4906e1d7670b68aa7b0c3017d671fb639bbc53e2732205c5e29b76a4585306b5"
                    ),
                    size=1_702_976,
                ),
                File(
                    name="ml1m_users.parquet",
                    checksum=(
                        "sha256:39489c6d3b0ad9b5f233f10dc326eb7f380f9ca0f4fd9886ab1b56b8582412e1"
                    ),
                    size=43_268,
                ),
                File(
                    name="ml1m_movies.parquet",
                    checksum=(
                        "sha256:5d96297e766340680fbe5e361611b62060092a6da4d040787416b1041a8891a5"
                    ),
                    size=904_983,
                ),
            ),
            read=read_prepared,
            keep=True,
            note="text: TMDB keywords of the movie",
        ),
        Way(
            name="origin",
            files=(
                File(
                    name="ml-1m.zip",
                    checksum="md5:c4d9eecfca2ab87c1945afe126590906",
                    size=5_917_549,
                    url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
                ),
            ),
            read=read_archive,
            note="text: words of the movie's title, since the origin has no keywords",
        ),
    ),
)
