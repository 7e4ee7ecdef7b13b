"""A table in several files: the rows of all, in the order of their names, and clear errors."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tacit import plan
from tacit.data.read import is_file_source, list_files, read_file
from tacit.data.roles.starter import build_starter
from tacit.deployment.site.rows.changed_rows import (
    ChangedRowsError,
    RowsWatch,
    fingerprint_files,
)
from tacit.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = tmp_path / "visits"
    rows.mkdir()
    (rows / "b.csv").write_text("person,age\nq,41\n")
    (rows / "a.csv").write_text("person,age\np,40\np,\n")
    (rows / "c.csv").write_text("age,person\n7.5,r\n")
    (rows / ".d.csv.part").write_text("unfinished")
    (rows / "_SUCCESS").write_text("")
    return rows


def test_a_folder_and_a_pattern_are_the_same_table(folder: Path) -> None:
    whole, note = read_file(f"{folder}/")
    assert whole.rows() == [("p", "40"), ("p", None), ("q", "41"), ("r", "7.5")]
    assert note == " (3 files)"
    assert read_file(f"{folder}/*.csv")[0].equals(whole)
    assert read_file(f"{folder.parent}/**/[abc].csv")[0].equals(whole)


def test_types_of_parquet_files_meet(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"age": [2.5]}).write_parquet(tmp_path / "b.parquet")
    assert read_file(f"{tmp_path}/*.parquet")[0]["age"].to_list() == [1.0, 2.0, 2.5]
    pl.DataFrame({"age": ["old"]}).write_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match="different types in 'age'; write these columns with one"):
        read_file(f"{tmp_path}/*.parquet")


def test_what_does_not_fit_is_named(folder: Path) -> None:
    (folder / "d.csv").write_text("person,weight\nr,7\n")
    with pytest.raises(DataError, match=r"d\.csv lacks 'age'; all files of a table need the"):
        read_file(f"{folder}/")
    (folder / "d.csv").unlink()
    (folder / "d.parquet").write_bytes(b"x")
    with pytest.raises(DataError, match=r"files of several kinds \(\.csv, \.parquet\); name one"):
        read_file(f"{folder}/")
    with pytest.raises(DataError, match="no file of a table matches"):
        read_file(f"{folder}/*.tsv")
    with pytest.raises(DataError, match="there is no folder"):
        read_file(f"{folder}/deeper/")


def test_a_file_whose_name_looks_like_a_pattern_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].csv").write_text("x\n1\n")
    (tmp_path / "a1.csv").write_text("x\n2\n")
    assert read_file(str(tmp_path / "a[1].csv"))[0]["x"].to_list() == ["1"]


def test_a_plan_resolves_a_folder_next_to_it(folder: Path) -> None:
    path = folder.parent / "plan.toml"
    text = '[data]\nsource = "{}"\n[data.columns]\nnumeric = ["age"]\nlabel = "person"\n'
    for source in ("visits/", "visits/*.csv"):
        path.write_text(text.format(source))
        found = plan.load(path).data.source
        assert is_file_source(found)
        assert [file.name for file in list_files(found)] == ["a.csv", "b.csv", "c.csv"]


def test_init_takes_a_folder(tmp_path: Path) -> None:
    rows = tmp_path / "visits"
    rows.mkdir()
    for part in range(3):
        cells = [f"p{n % 40},{n % 50},{'yes' if n % 3 else 'no'}" for n in range(part, 300)]
        (rows / f"{part}.csv").write_text("person,age,ill\n" + "\n".join(cells) + "\n")
    starter = build_starter(rows, file=str(tmp_path / "plan.toml"))
    assert f'source = "{rows}/"' in starter.text


def test_a_site_notices_an_added_file(folder: Path, tmp_path: Path) -> None:
    secret, source = b"s" * 32, f"{folder}/"
    before = fingerprint_files(source, secret)
    watch = RowsWatch(tmp_path / "rows", source, secret)
    watch.check()
    (folder / "e.csv").write_text("person,age\ns,50\n")
    assert fingerprint_files(source, secret) != before
    with pytest.raises(ChangedRowsError, match="the rows have changed"):
        watch.check()
    (folder / "e.csv").unlink()
    watch.check()
    (folder / "b.csv").rename(folder / "bb.csv")
    with pytest.raises(ChangedRowsError, match="the rows have changed"):
        watch.check()
