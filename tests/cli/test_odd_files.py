"""Odd files as people have them: each goes from `init` to a model that predicts, or to one clear sentence."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import polars as pl
import pytest

from tacit import plan as plans
from tests.cli.made_up import tacit

Capture = pytest.CaptureFixture[str]
GOOD, BAD = ("lovely", "fine", "bright"), ("awful", "dull", "grey")
ROWS = 80


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(
    good: tuple[str, ...] = GOOD,
    bad: tuple[str, ...] = BAD,
    between: str = ",",
    header: bool = True,
) -> str:
    """Return reviews with a number beside them; the words say which are good."""
    found = [between.join(("what they said", "age", "verdict"))] if header else []
    for number in range(ROWS):
        words = (good, bad)[number % 2]
        said = (
            f"this was {words[number % 3]} and {words[(number // 3) % 3]} in every way"
            f" number{number % 7}"
        )
        found.append(between.join((said, str(20 + number % 50), ("good", "bad")[number % 2])))
    return "\n".join(found) + "\n"


RUN = {
    "latin-1": (
        "a.csv",
        lines(good=("schön", "größer", "süß"), bad=("öde", "hässlich", "übel")).encode("latin-1"),
    ),
    "semicolons": ("a.csv", lines(between=";").encode()),
    "bom": ("a.csv", b"\xef\xbb\xbf" + lines().encode()),
    "headerless": ("a.csv", lines(header=False).encode()),
    "gz": ("a.csv.gz", gzip.compress(lines().encode())),
    "emoji": ("a.csv", lines(good=("😀", "🎉", "👍"), bad=("😡", "💀", "👎")).encode()),
    "cyrillic": (
        "a.csv",
        lines(good=("хорошо", "отлично", "ярко"), bad=("плохо", "скучно", "серо")).encode(),
    ),
    "cjk": ("a.csv", lines(good=("很好", "喜欢", "漂亮"), bad=("糟糕", "无聊", "难看")).encode()),
    "duplicate names": ("a.csv", lines().replace("age", "verdict", 1).encode()),
    "huge cells": (
        "a.csv",
        lines().replace("in every way", "in every way " + "really " * 20_000, 2).encode(),
    ),
    "bars in a .txt": ("a.txt", lines(between="|").encode()),
    "spaces in a .data": (
        "a.data",
        "\n".join(f"{k % 9} {k % 2 * 5 + k % 3} {k % 2}" for k in range(ROWS)).encode(),
    ),
}
REFUSED = {
    "one class": ("a.csv", lines().replace(",bad", ",good").encode(), ("--label", "verdict"), "has the same value in every row"),
    "1,000 classes": (
        "a.csv", ("text,label\n" + "".join(f"some words {k},class{k}\n" for k in range(1000))).encode(), ("--label", "label"),
        "1,000 classes in 1,000 rows, too few rows of each",
    ),
    "amounts": (
        "a.csv", ("text,price\n" + "".join(f"some words here {k},{k * 1.5}\n" for k in range(300))).encode(), ("--label", "price"),
        "only classes can be predicted",
    ),
}  # fmt: skip
QUICK = ("-o", "server.rounds=1", "-o", "baselines=[]", "--quiet", "--no-report")


@pytest.mark.parametrize("kind", RUN)
def test_from_an_odd_file_to_predictions(here: Path, capsys: Capture, kind: str) -> None:
    name, content = RUN[kind]
    (here / name).write_bytes(content)
    made = tacit(capsys, "init", "--from", name)
    assert made.code == 0, made.err
    run = tacit(capsys, "run", "plan.toml", *QUICK)
    assert run.code == 0, run.err
    predicted = tacit(capsys, "predict", "a-1", name)
    assert predicted.code == 0, predicted.err
    assert len(pl.read_csv(predicted.out.encode(), infer_schema=False)) == ROWS
    if kind == "latin-1":
        assert "a guess" in made.out
    if kind in ("headerless", "spaces in a .data"):
        assert "looks like a row" in made.out
        assert "lovely" not in (here / "plan.toml").read_text()


@pytest.mark.parametrize("kind", REFUSED)
def test_from_an_odd_file_to_one_sentence(here: Path, capsys: Capture, kind: str) -> None:
    name, content, asked, sentence = REFUSED[kind]
    (here / name).write_bytes(content)
    said = tacit(capsys, "init", "--from", name, *asked)
    assert said.code == 2
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1


def test_a_run_asks_before_somebodys_words_become_names(here: Path, capsys: Capture) -> None:
    (here / "a.csv").write_text(lines(header=False))
    (here / "p.toml").write_text(
        '[data]\nsource = "a.csv"\n[data.columns]\ntext = ["column_1"]\nlabel = "column_3"\n'
    )
    said = tacit(capsys, "run", "p.toml", "--quiet")
    assert said.code == 2
    assert "data.header = false" in said.err


def test_a_column_that_tells_the_label_is_pointed_out(here: Path, capsys: Capture) -> None:
    rows = "".join(
        f"{k % 13},{k * 37 % 101},{(k % 2) * 100 + k % 50},{'yes' if k % 2 else 'no'}\n"
        for k in range(300)
    )
    (here / "a.csv").write_text("a,b,refund,churn\n" + rows)
    out = tacit(capsys, "init", "--from", "a.csv").out
    warned = [line for line in out.splitlines() if "WARNING" in line]
    assert len(warned) == 1
    assert "refund" in warned[0]


def test_many_classes_with_rows_enough_are_warned_about(here: Path, capsys: Capture) -> None:
    (here / "a.csv").write_text(
        "text,label\n" + "".join(f"some words number {k},class{k % 300}\n" for k in range(1500))
    )
    said = tacit(capsys, "init", "--from", "a.csv", "--label", "label")
    assert said.code == 0
    assert "300 classes with 5 rows each" in said.out


def test_an_excel_sheet(here: Path, capsys: Capture) -> None:
    pytest.importorskip("fastexcel", reason="needs tacit[excel]")
    cells = [
        "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in line.split(","))
        for line in lines().splitlines()
    ]
    space = "http://schemas.openxmlformats.org"
    main, package = f"{space}/spreadsheetml/2006/main", f"{space}/package/2006"
    office, kind = (
        f"{space}/officeDocument/2006/relationships",
        "application/vnd.openxmlformats-officedocument.spreadsheetml",
    )
    parts = {
        "[Content_Types].xml": (
            f'<Types xmlns="{package}/content-types"><Default Extension="rels"'
            ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override'
            f' PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/><Override'
            f' PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>'
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1"'
            f' Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        ),
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1"'
            f' Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
        ),
        "xl/workbook.xml": (
            f'<workbook xmlns="{main}" xmlns:r="{office}">'
            '<sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>'
        ),
        "xl/worksheets/sheet1.xml": (
            f'<worksheet xmlns="{main}"><sheetData>'
            + "".join(f"<row>{row}</row>" for row in cells)
            + "</sheetData></worksheet>"
        ),
    }
    with zipfile.ZipFile(here / "a.xlsx", "w") as book:
        for name, text in parts.items():
            book.writestr(name, text)
    assert tacit(capsys, "init", "--from", "a.xlsx").code == 0
    assert plans.load(Path("plan.toml")).data.columns.text == ("what they said",)


def test_files_are_looked_for_beside_the_plan(here: Path, capsys: Capture) -> None:
    (here / "jobs").mkdir()
    (here / "jobs" / "a.csv").write_text(lines())
    assert tacit(capsys, "init", "jobs/plan.toml", "--from", "jobs/a.csv").code == 0
    assert 'source = "a.csv"' in (here / "jobs" / "plan.toml").read_text()
    run = tacit(capsys, "run", "jobs/plan.toml", *QUICK)
    assert run.code == 0, run.err


def test_another_codec_drops_the_keys_of_the_one_before(here: Path, capsys: Capture) -> None:
    (here / "p.toml").write_text(
        '[codec]\nname = "rr"\nepsilon = 1.0\nclip = 0.01\n[data]\nlimit = 50\n'
    )
    assert tacit(capsys, "check", "p.toml", "-o", "codec.name=plain").code == 0
    refused = tacit(capsys, "check", "p.toml", "-o", "codec.name=plain", "-o", "codec.epsilon=1")
    assert refused.code == 2
    assert "codec.epsilon" in refused.err
    assert tacit(capsys, "check", "p.toml", "-o", "data.limit=none").code == 0
    assert plans.load(Path("p.toml"), ["data.limit=none"]).data.limit is None
