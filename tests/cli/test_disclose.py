"""tacit plan disclose: the figures are right, nothing is trained, and a policy is kept."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tacit import simulation
from tests.cli.made_up import LENIENT, tacit, write_people

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(simulation, "start", lambda *_, **__: pytest.fail("nothing may be trained"))
    write_people(tmp_path)
    return tmp_path


def test_the_figures_of_a_small_table(capsys: Capture, here: Path) -> None:
    said = tacit(capsys, "plan", "disclose", "plan.toml", "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert (found["rows"], found["disclosed"], found["classes"], found["smallest_class"]) == (
        10,
        7,
        2,
        3,
    )
    assert found["disclosed_per_client"] == [3, 4]
    assert found["rows_per_client"] == [5, 5]
    assert found["unique_share"] == pytest.approx(3 / 7), "ann's three rows differ in pay"
    assert found["single_label_share"] == pytest.approx(4 / 7), "bob's class has one label"
    assert found["largest"][0] == {"values": {"age": 30}, "rows": 4, "labels": {"u": 4, "v": 0}}
    assert all(found["bytes_per_client"])
    assert (found["files"], (here / "disclosure.html").exists()) == ({}, False)
    assert not (here / "disclosure.parquet").exists()


def test_counting_together_shares_a_class_of_several_owners(capsys: Capture) -> None:
    said = tacit(
        capsys, "plan", "disclose", "plan.toml", "--json", "-o", "data.share.counts=global"
    )
    assert json.loads(said.out)["disclosed"] == 10


def test_with_rows_they_are_written_and_the_page_is_offline(capsys: Capture, here: Path) -> None:
    said = tacit(capsys, "plan", "disclose", "plan.toml", "--page", "look.html", "--rows")
    assert said.code == 0
    assert "7 of 10 rows (70.0 %)" in said.out
    assert pl.read_parquet(here / "look.parquet").height == 7
    page = (here / "look.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert "preserveAspectRatio" in page, "bars are as wide as the screen"


def test_names_in_the_data_are_text_on_the_page(capsys: Capture, here: Path) -> None:
    table = pl.read_csv("people.csv").with_columns(pl.col("y").replace("u", "<b>u</b>"))
    table.write_csv("people.csv")
    tacit(capsys, "plan", "disclose", "plan.toml")
    assert "<b>u" not in (here / "disclosure.html").read_text()


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("min_k = 4", "the smallest group that would be released has 3 rows"),
        ("max_share = 0.69", "0.7000 of the rows would be released"),
        ('columns = ["age", "y"]', "the plan would release the column 'pay'"),
        ("min_l = 2", "0.5714 of these rows are in groups with a single label"),
    ],
)
def test_a_policy_that_is_broken_ends_with_three_and_writes_no_rows(
    capsys: Capture, here: Path, policy: str, refused: str
) -> None:
    table = {
        "columns": 'columns = ["*"]',
        "min_k": "min_k = 3",
        "min_l": "min_l = 1",
        "max_share": "max_share = 0.7",
    }
    lines = {**table, policy.partition(" ")[0]: policy}
    Path("mine.toml").write_text("\n".join([f"{LENIENT}[share]", *lines.values(), ""]))
    said = tacit(capsys, "plan", "disclose", "plan.toml", "--policy", "mine.toml")
    assert said.code == 3
    assert refused in said.err
    assert not (here / "disclosure.parquet").exists()
    assert "Refused" in (here / "disclosure.html").read_text()


def test_a_policy_that_is_kept(capsys: Capture) -> None:
    Path("mine.toml").write_text(
        LENIENT + '[share]\ncolumns = ["age", "pay", "y"]\nmin_k = 3\nmin_l = 1\nmax_share = 0.7\n'
    )
    assert tacit(capsys, "plan", "disclose", "plan.toml", "--policy", "mine.toml").code == 0
    suppressed = ("-o", 'data.share.generalise.pay="suppress"')
    Path("mine.toml").write_text(
        LENIENT + '[share]\ncolumns = ["age", "y"]\nmin_k = 3\nmin_l = 1\nmax_share = 0.7\n'
    )
    assert (
        tacit(capsys, "plan", "disclose", "plan.toml", "--policy", "mine.toml", *suppressed).code
        == 0
    )


@pytest.mark.parametrize(
    "text",
    ["[share]\nmin_kay = 3\n", "[share]\nmin_k = 0\n", "[share\n", '[share]\nmax_share = "all"\n'],
)
def test_a_policy_that_is_not_understood_is_refused(capsys: Capture, text: str) -> None:
    Path("mine.toml").write_text(text)
    said = tacit(capsys, "plan", "disclose", "plan.toml", "--policy", "mine.toml")
    assert said.code == 2
    assert "mine.toml" in said.err


def test_what_the_plan_is_made_of_is_judged_too(capsys: Capture, here: Path) -> None:
    Path("mine.toml").write_text("[share]\nmin_k = 3\n")
    said = tacit(capsys, "plan", "disclose", "plan.toml", "--policy", "mine.toml")
    assert said.code == 3
    assert "allow.models = []: the plan trains 'logistic'" in said.err
    assert not (here / "disclosure.parquet").exists()


def test_a_missing_policy_file(capsys: Capture) -> None:
    assert tacit(capsys, "plan", "disclose", "plan.toml", "--policy", "none.toml").code == 2


def test_check_says_that_rows_would_leave(capsys: Capture) -> None:
    said = tacit(capsys, "check", "plan.toml", "-o", "data.test=0.2")
    assert "go to the server in full (k_anonymity, k = 3)" in said.out


def test_columns_read_in_the_clear_are_said_in_one_line(capsys: Capture, here: Path) -> None:
    (here / "wide.csv").write_text(
        "x0,x1,x2,x3,y\n"
        + "".join(f"{k},{k % 7},{k % 5},{k % 3},{'uv'[k % 2]}\n" for k in range(40))
    )
    columns = 'label = "y"\nnumeric = ["x0", "x1", "x2", "x3"]'
    (here / "wide.toml").write_text(
        f'[data]\nsource = "wide.csv"\nclients = 4\n[data.columns]\n{columns}\n[codec]\nname ='
        ' "plain"\n'
    )
    said = tacit(capsys, "plan", "disclose", "wide.toml")
    assert said.code == 0, said.err
    assert [line for line in said.out.splitlines() if "in the clear:" in line] == [
        "Sent once before round one, in the clear: smallest and largest value of x0 to x3.",
        "Sent once before round one, in the clear: in which numeric columns numbers are missing.",
        (
            "Sent once before round one, in the clear: whether numbers are written with a decimal point or a"
            " decimal comma."
        ),
    ]


def test_any_plan_shows_one_real_message_field_by_field(capsys: Capture, here: Path) -> None:
    text = (
        (here / "plan.toml")
        .read_text()
        .replace("[data.share]\nk = 3\n", "")
        .replace('name = "plain"', 'name = "rr"\nepsilon = 1.0\nclip = 0.01')
    )
    (here / "bits.toml").write_text(text.replace("test = 0.0", "test = 0.2"))
    said = tacit(capsys, "plan", "disclose", "bits.toml")
    assert said.code == 0, said.err
    assert "No row leaves a client" in said.out
    found = json.loads(tacit(capsys, "plan", "disclose", "bits.toml", "--json").out)["message"]
    assert f"The model reads {found['reads']}." in " ".join(said.out.split())
    assert found["fields"]["codec"] == "rr"
    assert (
        found["payload_bytes"] == (found["parameters"] + 7) // 8 == found["fields"]["payload_size"]
    )
    assert len(found["first_bytes"].split()) == min(8, found["payload_bytes"])
    assert not (here / "runs").exists()


@pytest.mark.parametrize(("options", "named"), [
    (("--page", "look.html"), "--page:"), (("--rows",), "--rows:"), (("--page", "look.html", "--rows"), "--page and --rows:"),
])  # fmt: skip
def test_options_for_rows_are_refused_where_no_row_leaves(
    capsys: Capture, options: tuple[str, ...], named: str
) -> None:
    text = Path("plan.toml").read_text()
    Path("plan.toml").write_text(text.replace("[data.share]\nk = 3\n", ""))
    said = tacit(capsys, "plan", "disclose", "plan.toml", *options)
    assert said.code == 2
    assert said.err.startswith(f"{named} the plan has no [data.share], so it discloses no rows")
    assert not Path("look.html").exists()
