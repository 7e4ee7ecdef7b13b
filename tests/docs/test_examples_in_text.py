"""Examples in documents and docstrings do what they say."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import tacit
from tests.docs.pages import ROOT, blocks

MODULES = [
    module.name
    for module in pkgutil.walk_packages(tacit.__path__, "tacit.")
    if not module.name.endswith("__main__")
]
NEEDS = ("torch", "gensim", "datasets", "transformers", "flwr", "PIL", "mpyc")


@pytest.mark.parametrize("module", ["tacit", *MODULES])
def test_doctests(module: str) -> None:
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in NEEDS:
            pytest.skip(f"{module} needs {error.name}")
        raise
    assert doctest.testmod(found).failed == 0


@pytest.mark.slow
def test_the_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("README.md", "python")
    assert len([line for line in block.splitlines() if line.strip()]) <= 10
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)
    said = capsys.readouterr().out
    assert "8 per run" in said
    assert "['high' 'low']" in said
    last = names["run"].metrics.filter(arm="run").row(-1, named=True)
    assert last["accuracy"] > 0.83  # the README says 85 %
    assert (tmp_path / "runs" / "run-1" / "report.html").exists()


def test_the_page_of_python_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    together: dict[str, object] = {}
    for number, block in enumerate(blocks("docs/guides/python.md", "python"), 1):
        exec(compile(block, f"docs/guides/python.md, block {number}", "exec"), together)


def test_paying_for_data_by_votes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = {8: (-1.08, 0.28), 6: (0.25, 0.36), 9: (0.75, 0.32), 2: (1.57, 0.28), 4: (None, None)}
    clients = [
        {"client": client, "score": score, "error": error}
        for client, (score, error) in scores.items()
    ]
    (tmp_path / "result.json").write_text(json.dumps({"votes": {"clients": clients}}))
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("docs/guides/data-value.md", "python")
    exec(compile(block, "docs/guides/data-value.md", "exec"), {})
    # 0.75 - 0.32 = 0.43 and 1 - 0.28 = 0.72, of 1.15 together; nobody is paid for harm, for noise or without a vote.
    assert capsys.readouterr().out == "{8: 0.0, 6: 0.0, 9: 37.39, 2: 62.61}\n"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 600


def test_the_page_for_data_officers_is_short() -> None:
    page = ROOT / "docs" / "guides" / "data-officers.md"
    assert len(page.read_text(encoding="utf-8").split()) <= 1200
