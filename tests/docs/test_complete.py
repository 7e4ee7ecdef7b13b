"""What exists is documented, what is documented exists."""

from __future__ import annotations

import re
import tomllib
from typing import Any, get_args

import pytest
import typer

from tacit import codecs, data, plan
from tacit.cli import app
from tacit.plan import reference
from tacit.plan.tables.server import Rule
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


def test_every_documented_command_exists() -> None:
    groups = {command.rpartition(" ")[0] for command in COMMANDS}
    for said in re.findall(r"^(tacit(?: [a-z]+)+)|`(tacit(?: [a-z]+)+)", TEXT, re.MULTILINE):
        words = "".join(said).split()
        known = [
            " ".join(words[:size]) in {*COMMANDS, *groups}
            for size in range(2, min(len(words), 3) + 1)
        ]
        assert any(known), f"`{' '.join(words)}` is not a command"


@pytest.mark.parametrize("key", reference.keys())
def test_every_plan_key_has_a_meaning_on_its_page(key: str) -> None:
    assert f"| `{key}` |" in (ROOT / "docs" / "reference" / "plan.md").read_text(encoding="utf-8")


def test_the_page_of_plan_keys_is_current() -> None:
    written = (ROOT / "docs" / "reference" / "plan.md").read_text(encoding="utf-8")
    assert written == reference.page(), (
        "run: python -m tacit.plan.reference > docs/reference/plan.md"
    )


@pytest.mark.parametrize("kind", codecs.list_codecs())
def test_every_codec_is_among_the_mechanisms_and_the_plan_keys(kind: str) -> None:
    for folder in ("concepts/mechanisms", "reference"):
        pages = (ROOT / "docs" / folder).rglob("*.md")
        assert any(f"`{kind}`" in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.parametrize("rule", get_args(Rule))
def test_every_aggregation_rule_has_a_row_in_the_table_of_rules(rule: str) -> None:
    assert f"\n| `{rule}` |" in (ROOT / "docs" / "papers" / "lazyinf.md").read_text(
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
        ("jinja2", {"report"}),
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
