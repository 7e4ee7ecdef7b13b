from __future__ import annotations

import codecs
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tacit.data.read import TextFormat, is_file_source, read_file
from tacit.errors import DataError


def written(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_quotes_emoji_and_missing_cells(tmp_path: Path) -> None:
    source = written(
        tmp_path / "a.csv",
        'text,label\n"she said ""hi, all"" 🎉",yes\n,no\nline,\n"two\nlines",yes\n',
    )
    frame, note = read_file(source)
    assert frame["text"].to_list() == ['she said "hi, all" 🎉', None, "line", "two\nlines"]
    assert frame["label"].to_list() == ["yes", "no", None, "yes"]
    assert note == ""


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separator_is_taken_from_the_header(tmp_path: Path, separator: str) -> None:
    lines = [separator.join(cells) for cells in (["a", '"b,c"', "d"], ["1", '"x;y"', "3"])]
    frame, _ = read_file(written(tmp_path / "a.csv", "\n".join(lines)))
    assert frame.columns == ["a", "b,c", "d"]
    assert frame.row(0) == ("1", "x;y", "3")


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_one_column_needs_no_separator(tmp_path: Path, ending: str) -> None:
    assert read_file(written(tmp_path / f"a.{ending}", "only\nx\n"))[0].columns == ["only"]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    frame, _ = read_file(
        written(tmp_path / "a.csv", codecs.BOM_UTF8 + "text,label\r\ncafé,1\r\n".encode())
    )
    assert frame.columns == ["text", "label"]
    assert frame.row(0) == ("café", "1")


def test_blank_lines_and_old_macintosh_line_ends(tmp_path: Path) -> None:
    for content in ("text,label\n\na,1\n\n", "text,label\ra,1\r"):
        assert read_file(written(tmp_path / "a.csv", content))[0].rows() == [("a", "1")]


def test_utf16_is_understood(tmp_path: Path) -> None:
    assert read_file(written(tmp_path / "a.csv", "text,label\ncafé,1\n".encode("utf-16")))[0].row(
        0
    ) == ("café", "1")


def test_another_encoding_is_guessed_and_said_or_told(tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", "text,label\ncafé,1\n".encode("latin-1"))
    frame, note = read_file(source)
    assert frame.row(0) == ("café", "1")
    assert "a guess" in note
    frame, note = read_file(source, TextFormat(encoding="latin-1"))
    assert (frame.row(0), note) == (("café", "1"), "")
    with pytest.raises(DataError, match="does not fit the file"):
        read_file(source, TextFormat(encoding="utf-8"))
    with pytest.raises(DataError, match="must be an encoding"):
        read_file(source, TextFormat(encoding="klingon"))


def test_numbers_in_a_text_column_stay_as_written(tmp_path: Path) -> None:
    assert read_file(written(tmp_path / "a.csv", "text,label\n007,1\n1e3,0\n"))[0][
        "text"
    ].to_list() == ["007", "1e3"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "file is empty"),
        ("\n\n", "file is empty"),
        ("text,label\n", "a header and no rows"),
        ("text,label\na,1\nb,2,3\n", "line 3 has 3 cells"),
        ('text,label\n"never closed,1\nb,2\n', "is not closed"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_file(written(tmp_path / "a.csv", content))


def test_a_refusal_quotes_no_cell(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refusal:
        read_file(written(tmp_path / "a.csv", "text,label\na,1\nsecret,2,private\n"))
    assert "secret" not in str(refusal.value)
    assert "private" not in str(refusal.value)


def test_a_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    written(tmp_path / "reviews.csv", "a\n1\n")
    with pytest.raises(DataError, match=r"Did you mean 'reviews\.csv'"):
        read_file(str(tmp_path / "review.csv"))


def test_json_lines(tmp_path: Path) -> None:
    frame, _ = read_file(
        written(tmp_path / "a.jsonl", '{"text": "ä🎉", "label": 1}\n{"text": "b"}\n')
    )
    assert frame.to_dicts() == [{"text": "ä🎉", "label": 1}, {"text": "b", "label": None}]


def test_json_lines_of_mixed_types(tmp_path: Path) -> None:
    frame, _ = read_file(written(tmp_path / "a.ndjson", '{"a": 1}\n{"a": "x"}\n'))
    assert frame["a"].cast(pl.String).to_list() == ["1", "x"]


def test_broken_json_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2"):
        read_file(written(tmp_path / "a.jsonl", '{"a": 1}\n{"a": \n'))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "ipc"])
def test_columnar_files(tmp_path: Path, ending: str) -> None:
    frame, path = pl.DataFrame({"a": [1, 2], "b": ["x", None]}), tmp_path / f"t.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    assert read_file(str(path))[0].equals(frame)


def test_arrow_stream(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    frame.write_ipc_stream(tmp_path / "t.arrow")
    assert read_file(str(tmp_path / "t.arrow"))[0].equals(frame)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_damaged_columnar_files_are_refused(tmp_path: Path, ending: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_file(written(tmp_path / f"t.{ending}", b"PAR1 but not really"))


def test_mutated_columnar_files_are_read_or_refused(tmp_path: Path) -> None:
    driver = Path(__file__).with_name("mutated_files.py")
    done = subprocess.run(
        [sys.executable, driver, tmp_path, "0", "400"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    read, refused = map(int, done.stdout.split())
    assert read > 10
    assert refused > 200


def test_days_outside_the_calendar_are_refused(tmp_path: Path) -> None:
    pl.DataFrame({"day": pl.Series([2**31 - 1]).cast(pl.Int32).cast(pl.Date)}).write_parquet(
        tmp_path / "t.parquet"
    )
    with pytest.raises(DataError, match="\\(PanicException\\)"):
        read_file(str(tmp_path / "t.parquet"))


@pytest.mark.parametrize("name", ["\0client", "a\x1b[31mb", "two\nlines", "line\u2028end"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_column_names_with_control_characters_are_refused(
    tmp_path: Path, name: str, ending: str
) -> None:
    frame, path = pl.DataFrame({name: ["x"], "label": ["y"]}), tmp_path / f"t.{ending}"
    writers = {
        "csv": frame.write_csv,
        "jsonl": frame.write_ndjson,
        "parquet": frame.write_parquet,
        "arrow": frame.write_ipc,
    }
    writers[ending](path)
    with pytest.raises(DataError, match="has a control character") as refusal:
        read_file(str(path))
    assert name not in str(refusal.value)


def test_endings() -> None:
    assert is_file_source("x/Y.CSV")
    assert not is_file_source("imdb")


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]', 2),
        ('{"a": [1, 2, 3], "b": ["x", "y", "z"]}', 3),
        ('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n', 2),
    ],
)
def test_json_files_are_read(tmp_path: Path, content: str, rows: int) -> None:
    (tmp_path / "t.json").write_text(content, encoding="utf-8")
    frame, _ = read_file(str(tmp_path / "t.json"))
    assert (frame.height, frame.columns) == (rows, ["a", "b"])


@pytest.mark.parametrize(
    "content", ['{"a": 1}', "[1, 2]", "[]", "nonsense", '{"a": [1], "b": [1, 2]}']
)
def test_json_of_another_form_is_refused_with_the_form_it_needs(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "t.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"list of objects|is not valid JSON"):
        read_file(str(tmp_path / "t.json"))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG"),
        (b"%PDF-1.7", "PDF"),
        (b"PK\x03\x04rest", "Excel"),
        (bytes(range(256)) * 4 + bytes(99), "something other than text"),
    ],
)
def test_files_that_are_no_text_are_named_for_what_they_are(
    tmp_path: Path, content: bytes, what: str
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=what) as refusal:
        read_file(str(tmp_path / "t.csv"))
    assert "t.csv" in str(refusal.value)
