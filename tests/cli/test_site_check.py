"""tacit site check: counts for the owner, exit code 1 if rows do not fit, and nothing but numbers of rows beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import plan as plans
from tacit.cli import execute
from tacit.deployment.site.site_folder import SiteSettings, create_site
from tests.deployment.test_misfits import job, rows_of, write


@pytest.fixture
def site(tmp_path: Path) -> Path:
    create_site(
        tmp_path / "a",
        SiteSettings(
            name="a", data=str(tmp_path / "a.csv"), server="127.0.0.1:9", client="patient"
        ),
    )
    write(tmp_path / "a.csv", rows_of("a"))
    (tmp_path / "plan.toml").write_text(plans.to_toml(job()))
    return tmp_path / "a"


def check(site: Path, *words: str) -> int:
    return execute(["site", "check", str(site), str(site.parent / "plan.toml"), *words])


def test_rows_that_fit(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(site) == 0
    said = capsys.readouterr().out
    assert "24 rows; nothing was sent" in said
    assert f"schema: {plans.hash_schema(job().schema or plans.Schema())}" in said
    assert "age: an integer from 0 to 120 in years, required" in said
    assert said.endswith("A run of this plan would not be refused for these rows.\n")


def test_rows_that_do_not_fit(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("a")
    rows[4]["age"] = "secret-cell"
    rows[9]["patient"] = ""
    write(site.parent / "a.csv", rows)
    assert check(site, "--row-numbers") == 1
    said = capsys.readouterr()
    assert "'age' is not a number in 1 row; the plan says an integer from 0 to 120" in said.out
    assert "  rows 5\n" in said.out
    assert "'patient' names no client in 1 row; such rows take no part" in said.out
    assert "2 misfits between the rows and" in said.err
    assert "would not be refused" in said.out, "one client decides no refusal"
    assert "secret-cell" not in said.out + said.err
    assert check(site, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["fits"] is False
    assert [(one["column"], one["rows"]) for one in found["findings"]] == [
        ("patient", 1),
        ("age", 1),
    ]
    assert "row_numbers" not in found["findings"][0]


def test_without_a_schema_roles_are_checked(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("a")
    rows[0]["dose"] = "much"
    rows[1]["outcome"] = ""
    write(site.parent / "a.csv", rows)
    plan = site.parent / "plan.toml"
    text = plans.to_toml(job())
    plan.write_text(text[: text.index("[schema]")] + text[text.index("[features]") :])
    assert check(site) == 1
    said = capsys.readouterr().out
    assert "'dose' is not a number in 1 row and counts as missing there" in said
    assert "'outcome' has no label in 1 row; such rows are left out" in said
    assert "'seen' is not a number in 24 rows" in said
