"""Examples in documents and docstrings do what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import tacit
from tests.docs.pages import blocks

MODULES = [module.name for module in pkgutil.walk_packages(tacit.__path__, "tacit.") if not module.name.endswith("__main__")]
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


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("README.md", "python")
    assert len([line for line in block.splitlines() if line.strip()]) <= 10
    exec(compile(block, "README.md", "exec"), {})
    assert "per update" in capsys.readouterr().out
    assert (tmp_path / "runs" / "mine-1" / "report.html").exists()
