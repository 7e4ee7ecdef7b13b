"""What exists is documented, what is documented exists."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

import tacit
from tacit import codecs, data, plan
from tacit.cli import app
from tacit.cli.outputs import OUTPUTS
from tacit.plan import reference as plan_pages
from tacit.plan.tables.server import Rule
from tests.cli.test_json_errors import WITH_JSON
from tests.docs import reference
from tests.docs.command_lines import find_calls, find_fault, list_sources, read_texts
from tests.docs.pages import DOCS, ROOT, TEXT, blocks, name


def commands(group: Any, path: str = "tacit") -> list[str]:
    inner = getattr(group, "commands", None)
    if inner is None:
        return [path]
    return [one for word, command in inner.items() for one in commands(command, f"{path} {word}")]


COMMANDS = commands(typer.main.get_command(app))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    assert command in TEXT


@pytest.mark.parametrize("source", list_sources(), ids=name)
def test_every_command_line_exists(source: Path) -> None:
    faults = [
        f"`tacit {' '.join(words)}`: {fault}"
        for text in read_texts(source)
        for words, certain in find_calls(text, is_page=source.suffix != ".py")
        if (fault := find_fault(words, certain=certain))
    ]
    assert faults == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("`tacit show RUN` shows it", "tacit has no command show"),
        ("then use tacit show RUN", "tacit has no command show"),
        ("$ tacit deploy plan.toml", "tacit deploy has no command plan.toml"),
        ("`tacit deploy --resume RUN`", "tacit deploy has no option --resume"),
        ("`tacit site\nverify`", "tacit site has no command verify"),
        ("`tacit export RUN --rows FILE`", "tacit export has no option --rows"),
        ("`tacit runs --json`, `tacit site`, and tacit is installed", ""),
    ],
)
def test_a_command_line_that_does_not_exist_is_found(text: str, fault: str) -> None:
    found = [
        find_fault(words, certain=certain) for words, certain in find_calls(text, is_page=True)
    ]
    assert {one for one in found if one} == ({fault} if fault else set())


@pytest.mark.parametrize("key", plan_pages.keys())
def test_every_plan_key_has_a_meaning_on_its_page(key: str) -> None:
    pages = (reference.FOLDER / "plan").glob("*.md")
    assert any(f"`{key}`" in page.read_text(encoding="utf-8") for page in pages)


def test_generated_pages_are_current() -> None:
    stale = [name(path) for path in reference.find_stale()]
    assert stale == [], "run: make reference"


def test_every_command_with_json_has_a_schema() -> None:
    described = {command for one in OUTPUTS.values() for command in one.printed_by.split(", ")}
    assert described == set(WITH_JSON)


def test_every_public_name_is_on_a_page_of_the_python_interface() -> None:
    pages = "".join(page.read_text() for page in (reference.FOLDER / "python").glob("*.md"))
    assert [one for one in tacit.__all__ if not re.search(rf"tacit\.{one}\b", pages)] == []


@pytest.mark.parametrize("public", tacit.__all__)
def test_every_public_name_and_its_members_have_a_docstring(public: str) -> None:
    thing = getattr(tacit, public)
    if not inspect.isclass(thing) and not inspect.isfunction(thing):
        return  # a union of tables
    members = [
        one
        for key, one in vars(thing).items()
        if not key.startswith("_") and inspect.isroutine(one)
    ]
    assert all(inspect.getdoc(one) for one in [thing, *members])


@pytest.mark.parametrize("kind", codecs.list_codecs())
def test_every_codec_is_among_the_mechanisms_and_the_plan_keys(kind: str) -> None:
    for folder in ("concepts/mechanisms", "reference"):
        pages = (ROOT / "docs" / folder).rglob("*.md")
        assert any(f"`{kind}`" in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.parametrize("rule", get_args(Rule))
def test_every_aggregation_rule_has_a_row_in_the_table_of_rules(rule: str) -> None:
    assert f"\n| `{rule}` |" in (ROOT / "docs" / "guides" / "robust-aggregation.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("entry", data.list_data_sets(), ids=lambda entry: entry.name)
def test_every_named_set_is_documented(entry: data.NamedDataSet) -> None:
    assert f"`{entry.name}`" in (ROOT / "docs" / "guides" / "data.md").read_text(encoding="utf-8")


def test_every_package_is_in_the_architecture() -> None:
    page = (ROOT / "docs" / "concepts" / "architecture.md").read_text(encoding="utf-8")
    packages = [
        path.name for path in (ROOT / "src" / "tacit").iterdir() if (path / "__init__.py").exists()
    ]
    assert [package for package in packages if f"`{package}/`" not in page] == []


@pytest.mark.parametrize(
    ("library", "importers"),
    [
        ("torch", {"training", "audit", "features", "models"}),
        ("onnx", {"models"}),
        ("dp_accounting", {"privacy"}),
        ("typer", {"cli"}),
        ("rich", {"cli", "progress.py"}),
        ("plotly", {"report"}),
        ("jinja2", {"report", "ui"}),
        ("starlette", {"ui"}),
        ("mpyc", {"negotiation"}),
    ],
)
def test_libraries_are_imported_where_the_architecture_says(
    library: str, importers: set[str]
) -> None:
    source = ROOT / "src" / "tacit"
    statement = re.compile(rf"^\s*(?:import|from) {library}\b", re.MULTILINE)
    assert {
        path.relative_to(source).parts[0]
        for path in source.rglob("*.py")
        if statement.search(path.read_text(encoding="utf-8"))
    } == importers


@pytest.mark.parametrize("page", DOCS, ids=name)
def test_plans_in_documents_can_be_read(page: Any) -> None:
    for block in blocks(name(page), "toml"):
        plan.parse({**tomllib.loads(block)})
