"""Reviews, sentences and news: imdb, sst2, ag_news."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from tacit.data.named.entry import File, NamedDataSet, Way, get_only_file
from tacit.plan import Columns

_COLUMNS = Columns(text=("text",), label="label", split="split")
_AG_NEWS = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv"


def read_parquet(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read a prepared Parquet file."""
    return pl.read_parquet(get_only_file(files))


def read_imdb_archive(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label, id, rating and text of the labelled reviews; unlabelled ones are skipped."""
    with tarfile.open(get_only_file(files)) as archive:
        rows = pl.DataFrame(
            list(_read_reviews(archive)),
            schema=["split", "label", "id", "rating", "text"],
            orient="row",
        )
    typed = rows.with_columns(pl.col("label", "rating").cast(pl.Int8), pl.col("id").cast(pl.Int32))
    return typed.sort("split", "label", "id", descending=[True, False, False])


def _read_reviews(archive: tarfile.TarFile) -> Iterator[tuple[str, int, int, int, str]]:
    for member in archive:
        parts = member.name.split("/")[-3:]
        if (
            len(parts) < 3
            or parts[0] not in ("train", "test")
            or parts[1] not in ("pos", "neg")
            or not parts[2].endswith(".txt")
        ):
            continue
        number, rating = parts[2].removesuffix(".txt").split("_")
        file = archive.extractfile(member)
        if file is not None:
            yield (
                parts[0],
                int(parts[1] == "pos"),
                int(number),
                int(rating),
                file.read().decode("utf-8", "replace"),
            )


def read_sst2_archive(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label and text from the labelled GLUE files. The test file has no labels, so dev
    is the test set.
    """
    with zipfile.ZipFile(get_only_file(files)) as archive:
        names = {Path(name).name: name for name in archive.namelist() if "/original/" not in name}
        parts = [
            _parse_sentences(archive.read(names[f"{split}.tsv"]), split)
            for split in ("train", "dev")
        ]
    return pl.concat(parts)


def _parse_sentences(content: bytes, split: str) -> pl.DataFrame:
    # Quote marks in these files are ordinary characters of the sentence.
    table = pl.read_csv(
        content,
        separator="\t",
        quote_char=None,
        schema_overrides={"sentence": pl.String, "label": pl.Int8},
    )
    text = pl.col("sentence").fill_null("").str.strip_chars()
    return table.select(split=pl.lit(split), label="label", text=text)


def read_ag_news(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label (0 World, 1 Sports, 2 Business, 3 Sci/Tech) and text (title, one space,
    description).
    """
    return pl.concat(
        [_parse_news(files[f"{split}.csv"].read_bytes(), split) for split in ("train", "test")],
    )


def _parse_news(content: bytes, split: str) -> pl.DataFrame:
    names = ["label", "title", "description"]
    table = pl.read_csv(
        io.BytesIO(content),
        has_header=False,
        new_columns=names,
        infer_schema=False,
        encoding="utf8-lossy",
    )
    text = pl.concat_str("title", "description", separator=" ", ignore_nulls=True)
    return table.select(split=pl.lit(split), label=pl.col("label").cast(pl.Int8) - 1, text=text)


def _build_prepared_way(name: str, sha256: str, size: int, note: str = "") -> Way:
    return Way(
        name="prepared",
        files=(File(name=name, checksum=f"sha256:{sha256}", size=size),),
        read=read_parquet,
        keep=True,
        note=note,
    )


def _build_files(url: str, checksum: str, size: int) -> tuple[File, ...]:
    return (File(name=Path(url).name, checksum=checksum, size=size, url=url),)


IMDB = NamedDataSet(
    name="imdb",
    title="IMDB Large Movie Review",
    rows=50_000,
    terms=(
        "No explicit licence; the authors ask for citation: Maas et al. 2011. Review texts belong"
        " to their writers."
    ),
    columns=_COLUMNS,
    ways=(
        _build_prepared_way(
            "imdb.parquet",
            "5ffef0bf2a77395572ab3306b302194f022bc654812249cb8b216c4127fe661c",
            21_098_736,
        ),
        Way(
            name="origin",
            files=_build_files(
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                "md5:7c2ac02c03563afcf9b574c7e56c153a",
                84_125_825,
            ),
            read=read_imdb_archive,
        ),
    ),
)

SST2 = NamedDataSet(
    name="sst2",
    title="SST-2 (Stanford Sentiment Treebank, two classes)",
    rows=70_042,
    terms="No explicit licence; cite Socher et al. 2013.",
    columns=_COLUMNS,
    ways=(
        _build_prepared_way(
            "sst2.parquet",
            "49e72603836da5b1ff31f531ee0b26dab00256b8637e4d3880f58f473c450fd7",
            1_037_096,
        ),
        Way(
            name="origin",
            files=_build_files(
                "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip",
                "md5:9f81648d4199384278b86e315dac217c",
                7_439_277,
            ),
            read=read_sst2_archive,
            note="GLUE's test file has no labels, so its dev sentences are the test set",
        ),
    ),
)

AG_NEWS = NamedDataSet(
    name="ag_news",
    title="AG News",
    rows=127_600,
    terms="For research and other non-commercial activity; cite Zhang, Zhao, LeCun 2015.",
    columns=_COLUMNS,
    ways=(
        _build_prepared_way(
            "ag_news_partial.parquet",
            "19e34b7ec98b853e1e6410d8e27045e4fe9bba3459e0d808d17c3ef8e425180b",
            2_138_631,
            note="20,497 of the 120,000 train rows, of which 7,065 lack the title; test complete",
        ),
        Way(
            name="origin",
            files=(
                File(
                    name="train.csv",
                    checksum="md5:b1a00f826fdfbd249f79597b59e1dc12",
                    size=29_470_338,
                    url=f"{_AG_NEWS}/train.csv",
                ),
                File(
                    name="test.csv",
                    checksum="md5:d52ea96a97a2d943681189a97654912d",
                    size=1_857_427,
                    url=f"{_AG_NEWS}/test.csv",
                ),
            ),
            read=read_ag_news,
        ),
    ),
)

ENTRIES = (IMDB, SST2, AG_NEWS)
