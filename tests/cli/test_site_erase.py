"""tacit site erase and tacit site ledger show --client-id: one patient's rights at a site."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from tacit.deployment.site.site_folder import LEDGER, SiteSettings, create_site, load_owner
from tacit.plan import Plan
from tacit.runs.client_numbers import store_clients
from tests.cli.made_up import tacit
from tests.deployment.test_ledger_guard import CLAIM

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with the patients 1 to 40, of whom the first five were charged in two runs."""
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    folder, rows = tmp_path / "hospital-a", tmp_path / "rows.csv"
    rows.write_text("patient,label\n" + "".join(f"{n},{n % 2}\n" for n in [*range(1, 41), 3]))
    create_site(
        folder, SiteSettings(name="hospital-a", data=str(rows), server="127.0.0.1:9", client="patient")
    )  # fmt: skip
    (folder / "policy.toml").write_text(
        "[limits]\nmax_epsilon_per_run = 100\nmax_epsilon_lifetime = 1000\n"
    )
    owner = load_owner(folder)
    some = [owner.pseudonym(str(number)) for number in range(1, 6)]
    with closing(owner.open_ledger(owner.require_policy(), Plan())) as book:
        for run, rounds in (("first-1", 2), ("second-1", 1)):
            for round_no in range(1, rounds + 1):
                assert book.reserve(run, round_no, "train", some, (CLAIM,)) == {}
    private = folder / "runs" / "first-1" / "private"
    for number in range(5):
        (private / str(number)).mkdir(parents=True)
    store_clients(private.parent, 0, some)
    return folder


def show(capsys: Capture, site: Path, client: str) -> dict[str, object]:
    said = tacit(
        capsys, "site", "ledger", "show", str(site / LEDGER), "--client-id", client, "--json"
    )
    assert said.code == 0, said.err
    found: dict[str, object] = json.loads(said.out)
    return found


def test_charges_of_one_patient(capsys: Capture, site: Path) -> None:
    found = show(capsys, site, "3")
    runs = found["runs"]
    assert isinstance(runs, dict)
    assert {run: one["charges"] for run, one in runs.items()} == {"first-1": 2, "second-1": 1}
    assert found["micro_epsilon"] == sum(one["micro_epsilon"] for one in runs.values())
    assert (found["unit"], found["rows_in_file"]) == ("client = 'patient'", 2)
    assert found["erased_on"] is None
    said = tacit(capsys, "site", "ledger", "show", str(site / LEDGER), "--client-id", "3")
    assert "first-1" in said.out
    assert "all runs" in said.out
    assert "epsilon per client" in " ".join(said.out.split())


@pytest.mark.parametrize(
    ("kind", "written"),
    [("csv", " 3"), ("csv", "\u200b3"), ("parquet", "3.0"), ("parquet", "003")],
)
def test_ids_are_normalised_as_in_runs(
    capsys: Capture, site: Path, kind: str, written: str
) -> None:
    """In a column of numbers 3.0 is 3; in a column of text it is another name, as in runs."""
    if kind == "parquet":
        pl.read_csv(site.parent / "rows.csv").write_parquet(site.parent / "rows.parquet")
        settings = (site / "site.toml").read_text().replace("rows.csv", "rows.parquet")
        (site / "site.toml").write_text(settings)
    assert show(capsys, site, written)["client"] == show(capsys, site, "3")["client"]


def test_a_patient_who_was_never_charged(capsys: Capture, site: Path) -> None:
    found = show(capsys, site, "33")
    assert (found["runs"], found["micro_epsilon"], found["rows_in_file"]) == ({}, 0, 1)


def test_a_ledger_away_from_its_site(capsys: Capture, site: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_bytes((site / LEDGER).read_bytes())
    said = tacit(capsys, "site", "ledger", "show", str(tmp_path / "copy.db"), "--client-id", "3")
    assert said.code != 0
    assert "site.toml" in said.err


def test_erase(capsys: Capture, site: Path) -> None:
    before = show(capsys, site, "3")
    said = tacit(capsys, "site", "erase", str(site), "3", "--yes")
    assert said.code == 0, said.err
    told = " ".join(said.out.split())
    assert "2 rows of your file have this id" in told
    assert "Runs that used this client's rows: first-1, second-1." in told
    assert "Their models keep what they learned" in told
    assert "private parts were deleted in 1 run" in told
    assert "1 runs" not in told
    left = sorted(path.name for path in (site / "runs" / "first-1" / "private").iterdir())
    assert left == ["0", "1", "3", "4"]
    after = show(capsys, site, "3")
    assert after.pop("erased_on")
    before.pop("erased_on")
    assert after == before
    assert tacit(capsys, "site", "ledger", "verify", str(site / LEDGER)).code == 0
    exported = tacit(capsys, "site", "ledger", "export", str(site / LEDGER)).out
    assert json.loads(exported.splitlines()[-1])["kind"] == "erased"
    again = tacit(capsys, "site", "erase", str(site), " 3", "--yes", "--json")
    assert json.loads(again.out)["was_erased_before"]


def test_the_id_is_nowhere_in_clear_text(capsys: Capture, site: Path) -> None:
    said = tacit(capsys, "site", "erase", str(site), "unlisted-patient", "--yes", "--ahead")
    assert said.code == 0
    files = [path for path in site.rglob("*") if path.is_file()]
    assert not [path for path in files if b"unlisted-patient" in path.read_bytes()]


def test_without_a_yes_nothing_changes(capsys: Capture, site: Path, monkeypatch) -> None:
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    said = tacit(capsys, "site", "erase", str(site), "3")
    assert said.code != 0
    assert "nothing was changed" in said.err
    assert show(capsys, site, "3")["erased_on"] is None


def test_an_unknown_id_is_not_erased_by_accident(capsys: Capture, site: Path) -> None:
    said = tacit(capsys, "site", "erase", str(site), "4711", "--yes")
    assert said.code == 1
    assert "the ledger has no client '4711', and no row of your file has this id" in said.err
    assert "Nothing was changed" in said.err
    assert not (site / LEDGER).exists() or not erased_entries(capsys, site)


def test_an_unknown_id_is_erased_ahead_of_its_rows(capsys: Capture, site: Path) -> None:
    said = tacit(capsys, "site", "erase", str(site), "4711", "--yes", "--ahead")
    assert said.code == 0, said.err
    told = " ".join(said.out.split())
    assert "not known here; it will be left out if rows of it ever appear" in told
    assert len(erased_entries(capsys, site)) == 1
    assert show(capsys, site, "4711")["erased_on"]  # the ledger knows it from now on


def erased_entries(capsys: Capture, site: Path) -> list[str]:
    exported = tacit(capsys, "site", "ledger", "export", str(site)).out.splitlines()
    return [line for line in exported if json.loads(line).get("kind") == "erased"]


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_the_ledger_has_no_client_of_this_name(
    capsys: Capture, site: Path, as_json: tuple[str, ...]
) -> None:
    said = tacit(capsys, "site", "ledger", "show", str(site), "--client-id", "4711", *as_json)
    assert said.code == 1
    assert "the ledger has no client '4711', and no row of your file has this id" in said.err
    assert "in a column of numbers 007 and 7.0 are 7" in said.err
    if as_json:
        assert json.loads(said.out)["error"]["kind"] == "Missed"


def test_a_client_is_in_the_ledger_though_its_rows_are_gone(capsys: Capture, site: Path) -> None:
    (site.parent / "rows.csv").write_text("patient,label\n7,1\n8,0\n")
    assert show(capsys, site, "3")["rows_in_file"] == 0
    said = " ".join(tacit(capsys, "site", "erase", str(site), "3", "--yes").out.split())
    assert "No row of your file has this id, but the ledger knows it. The client takes no" in said
    assert "1 row of your file has this id. The client takes no part" in " ".join(
        tacit(capsys, "site", "erase", str(site), "7", "--yes").out.split()
    )


def test_other_spellings_of_an_id_are_counted(capsys: Capture, site: Path) -> None:
    """Each is a client of its own, so rows of the person could stay."""
    rows = site.parent / "rows.csv"
    rows.write_text(rows.read_text() + "03,1\n3.0,0\n")
    said = tacit(capsys, "site", "erase", str(site), "3", "--yes")
    assert "2 other ids of your file differ from this one only in case" in " ".join(
        said.out.split()
    )
    found = json.loads(tacit(capsys, "site", "erase", str(site), "4", "--yes", "--json").out)
    assert found["similar_ids_in_file"] == 0
