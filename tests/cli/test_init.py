"""Plans written for tables of all sorts: what is guessed, and that what is written can run."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from tacit import plan as plans
from tests.cli.made_up import tacit

Capture = pytest.CaptureFixture[str]
WORDS = ("gut", "schlecht", "the", "case", "phone", "🙂", 'said "no"', "a,b", "naïve")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(number: int) -> str:
    return " ".join(WORDS[(number * 7 + k * k) % len(WORDS)] for k in range(8))


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.mark.parametrize(
    "name", ['a "quoted" name', "dots.in.it", "emoji 💬", "back\\slash", "'", "#", "[x]"]
)
def test_odd_names_survive_toml(here: Path, capsys: Capture, name: str) -> None:
    pl.DataFrame({name: [k / 7 for k in range(60)], "label": [0, 1] * 30}).write_parquet(
        here / "t.parquet"
    )
    assert tacit(capsys, "init", "--from", "t.parquet").code == 0
    assert plans.load(Path("plan.toml")).data.columns.numeric == (name,)


def test_example_passes_check_and_is_not_overwritten(capsys: Capture) -> None:
    assert tacit(capsys, "init").code == 0
    assert tacit(capsys, "check", "plan.toml").code == 0
    refused = tacit(capsys, "init")
    assert refused.code == 2
    assert "--force" in refused.err
    assert tacit(capsys, "init", "--force").code == 0


@pytest.mark.parametrize("name", ["missing.csv", "notes.txt"])
def test_tables_that_are_none(here: Path, capsys: Capture, name: str) -> None:
    (here / "notes.txt").write_text("hello")
    said = tacit(capsys, "init", "--from", name)
    assert said.code == 2
    assert not (here / "plan.toml").exists()


def test_from_an_odd_table_to_a_report(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    english = ("the", "case", "phone", "said", "no")
    monkeypatch.setattr("tacit.data.find_word_list", lambda code: english)
    header = ["Nr.", "Käufer.id 🛒", 'was er "sagte"', "Größe; cm", "is it good?"]
    rows = [
        (
            k,
            f"k{k % 6}",
            f"{words(k)} {'gut' if k % 2 else 'schlecht'}" if k % 11 else "",
            150 + k % 40 if k % 5 else "",
            ("no", "yes 💯")[k % 2],
        )
        for k in range(240)
    ]
    write_csv(here / "odd table.csv", header, rows)
    said = tacit(capsys, "init", "--from", "odd table.csv")
    assert said.code == 0
    assert "because" in said.out
    assert tacit(capsys, "check", "plan.toml").code == 0
    plan = plans.load(Path("plan.toml"))
    assert plan.data.columns.label == "is it good?"
    assert plan.features.text == "binary"  # words of several languages, and emoji
    less = ("server.rounds=3", "baselines=[]")
    done = tacit(
        capsys, "run", "plan.toml", *(part for one in less for part in ("-o", one)), "--quiet"
    )
    assert done.code == 0, done.err
    page = (here / "runs" / "odd-table-1" / "report.html").read_text(encoding="utf-8")
    assert "yes 💯" in page
    assert tacit(capsys, "runs", "privacy", "odd-table-1").code == 0


def reviews(
    here: Path,
    *,
    text: str = "the hotel was clean and it is not far",
    name: str = "t.csv",
    rows: int = 200,
) -> None:
    cells = [(f"{text} {k}", f"u{k % 20}", ("good", "bad")[k % 2]) for k in range(rows)]
    write_csv(here / name, ["note", "who", "opinion"], cells)


def test_roles_epsilon_and_test_rows_can_be_said(here: Path, capsys: Capture) -> None:
    reviews(here)
    reviews(here, name="later.csv", rows=40)
    words = (
        "--client",
        "who",
        "--text",
        "note",
        "--label",
        "opinion",
        "--epsilon",
        "2.5",
        "--test",
        "later.csv",
    )
    assert tacit(capsys, "init", "--from", "t.csv", *words).code == 0
    plan = plans.load(Path("plan.toml"))
    assert (plan.data.columns.client, plan.data.columns.text, plan.data.columns.label) == (
        "who",
        ("note",),
        "opinion",
    )
    assert plan.privacy is not None
    assert (plan.privacy.epsilon, plan.privacy.clients, plan.data.test_source) == (
        2.5,
        20,
        "later.csv",
    )
    done = tacit(
        capsys,
        "run",
        "plan.toml",
        "-o",
        "features.text=binary",
        "-o",
        "server.rounds=1",
        "-o",
        "baselines=[]",
        "--quiet",
    )
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--label", "opinions"), "no such column"),
        (("--client", "whom"), "no such column"),
        (("--text", "notes"), "no such column"),
        (("--test", "nothing.csv"), "there is no file"),
        (("--from", "t.csv"), "takes one table"),
        (("--epsilon", "2", "--one-bit", "20"), "--epsilon cannot be combined with --one-bit"),
        (("--epsilon", "0"), "0"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(
    here: Path, capsys: Capture, words: tuple[str, ...], said: str
) -> None:
    reviews(here)
    found = tacit(capsys, "init", "--from", "t.csv", *words)
    assert found.code == 2
    assert said in found.err
    assert not (here / "plan.toml").exists()


@pytest.mark.parametrize("option", ["--label", "--client", "--text", "--epsilon", "--test"])
def test_options_of_a_table_need_a_table(capsys: Capture, option: str) -> None:
    found = tacit(capsys, "init", option, "2")
    assert found.code == 2
    assert f"{option} requires --from" in found.err


def test_a_plan_is_printed_instead_of_written_to_a_file_named_dash(
    here: Path, capsys: Capture
) -> None:
    reviews(here)
    for words in ((), ("--from", "t.csv")):
        found = tacit(capsys, "init", "-", *words)
        assert found.code == 0
        assert plans.parse(tomllib.loads(found.out)).name in ("newsgroups", "t")
    assert not (here / "-").exists()


def test_few_people_and_rows_without_a_label_are_said_before_a_run(
    here: Path, capsys: Capture
) -> None:
    write_csv(
        here / "t.csv",
        ["user", "x", "label"],
        [(f"u{k % 20}", k % 7, ("", "a", "b", "a")[k % 4]) for k in range(200)],
    )
    said = tacit(capsys, "init", "--from", "t.csv", "--epsilon", "0.5").out
    assert "50 of 200 rows (25%) have no label" in said
    assert "15 clients are too few for epsilon 0.5" in said  # those with a label


@pytest.mark.parametrize(
    ("text", "reads"),
    [("the hotel was clean and it is not far", "listed"), ("zorg blat #vrum 👍 kx8", "binary"),
     ("отель был очень чистый", "binary"),
     ("das hotel war sauber und ist nicht weit", "binary"), ("这家酒店很干净服务也好", "binary")],
)  # fmt: skip
def test_texts_are_read_in_a_way_that_sees_them(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, text: str, reads: str
) -> None:
    reviews(here, text=text)
    listed = ("the", "hotel", "was", "clean", "and", "it", "is", "not", "far")
    for at_hand in (None, listed):
        monkeypatch.setattr(
            "tacit.data.find_word_list", lambda code, words=at_hand: words if code == "en" else None
        )
        said = tacit(capsys, "init", "--from", "t.csv", "--client", "who", "--force")
        assert said.code == 0, said.err
        assert plans.load(Path("plan.toml")).features.text == reads
    if reads == "binary":
        assert "# hashed words: " in (here / "plan.toml").read_text(encoding="utf-8")


def test_a_blind_plan_is_warned_of_before_training(here: Path, capsys: Capture) -> None:
    reviews(here, text="the zorg blat vrum kx8")
    (here / "words.txt").write_text("the\nof\n")
    tacit(capsys, "init", "--from", "t.csv", "--client", "who")
    plan = (
        (here / "plan.toml")
        .read_text(encoding="utf-8")
        .replace('text = "binary"', 'text = "listed"\nlist = "words.txt"')
    )
    (here / "plan.toml").write_text(plan, encoding="utf-8")
    said = tacit(
        capsys,
        "run",
        "plan.toml",
        "-o",
        "server.rounds=2",
        "-o",
        "server.evaluate_every=1",
        "-o",
        "baselines=[]",
    )
    assert said.code == 0, said.err
    assert said.err.index("WARNING: the model reads") < said.err.index("round ")


def test_an_example_is_written_and_listed(here: Path, capsys: Capture) -> None:
    assert tacit(capsys, "init", "mine.toml", "--example", "hashcomb").code == 0
    assert plans.load(here / "mine.toml").codec.name == "hashcomb"
    listed = tacit(capsys, "init", "--example", "list")
    assert listed.code == 0
    assert "newsgroups" in listed.out
    assert not (here / "plan.toml").exists()
    said = tacit(capsys, "init", "other.toml", "--example", "imdb", "--from", "t.csv")
    assert said.code == 2
    assert "--example cannot be combined with --from" in said.err
