"""The files that a project is expected to have agree with the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def list_steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_every_target_is_phony() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert set(phony.split()) == TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_make_what_exists_and_may_only_read(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    kinds = workflow["jobs"].get("ranges", {}).get("strategy", {}).get("matrix", {}).get("kind", [])
    for step in list_steps(workflow):
        if "run" in step:
            (target,) = re.findall(r"\bmake ([a-z-]+(?:\$\{\{ matrix\.kind \}\})?)", step["run"])
            for made in [target.replace("${{ matrix.kind }}", kind) for kind in kinds or [""]]:
                assert made in TARGETS
        elif step["uses"].startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_the_suite_runs_on_each_python_of_the_classifiers() -> None:
    tests = read(ROOT / ".github" / "workflows" / "tests.yml")
    named = [
        line.rpartition(" ")[2]
        for line in PROJECT["classifiers"]
        if re.fullmatch(r".* :: 3\.\d+", line)
    ]
    assert tests["jobs"]["suite"]["strategy"]["matrix"]["python"] == named


def test_issue_forms_have_what_a_form_needs() -> None:
    assert {path.stem for path in FORMS} == {"bug", "config", "privacy-bug", "wish"}
    for path in FORMS:
        form = read(path)
        if path.stem == "config":
            continue
        assert {"name", "description", "labels", "body"} <= set(form)
        named = [part["id"] for part in form["body"] if part["type"] != "markdown"]
        assert len(set(named)) == len(named)


def test_hooks_run_tools_of_the_environment() -> None:
    (repo,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repo["repo"] == "local"
    wanted = " ".join(PROJECT["optional-dependencies"]["dev"])
    for hook in repo["hooks"]:
        tool = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert hook["language"] == "system"
        assert tool == "python" or {"lint-imports": "import-linter"}.get(tool, tool) in wanted


def test_citation_and_security_name_this_version() -> None:
    assert read(ROOT / "CITATION.cff")["version"] == PROJECT["version"]
    assert read(ROOT / "CITATION.cff")["license"] == PROJECT["license"]
    series = PROJECT["version"].rpartition(".")[0]
    assert f"| {series}.x | yes |" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_the_changelog_has_a_section_for_this_version_below_unreleased() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[:2] == ["Unreleased", PROJECT["version"]]


def test_every_package_of_ours_is_among_the_licences() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    optional = PROJECT["optional-dependencies"]
    lines = [
        *PROJECT["dependencies"],
        *(line for extra in optional if extra not in ("dev", "docs") for line in optional[extra]),
    ]
    names = {re.split(r"[<>=\[]", line)[0].lower() for line in lines} - {"tacit", "fastexcel"}
    assert [name for name in sorted(names) if f"\n| {name} | " not in page] == []
    assert "not stated in the metadata" not in page
