"""People read the field's terms: no word of `vocabulary.TERMS` in documents, help, errors, docstrings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, name
from tests.docs.prose import FILES, Passage, read_all
from tests.docs.vocabulary import TERMS, find

GENERATED = {ROOT / "docs" / "plan.md"}
"""Written from the strings of `src/tacit/plan`, which are checked there."""
DOCUMENTS = sorted(
    path for path in FILES if path.suffix in (".md", ".toml") and path not in GENERATED
)


LEFT = {
    "papers/src/tacit_papers": 49,
    "src/tacit/api": 2,
    "src/tacit/assembly": 1,
    "src/tacit/audit": 19,
    "src/tacit/cli": 40,
    "src/tacit/codecs": 187,
    "src/tacit/column_statistics": 1,
    "src/tacit/data": 1,
    "src/tacit/deployment": 69,
    "src/tacit/extensions.py": 1,
    "src/tacit/features": 15,
    "src/tacit/kernel_cache.py": 1,
    "src/tacit/models": 15,
    "src/tacit/negotiation": 7,
    "src/tacit/norms.py": 1,
    "src/tacit/plan": 96,
    "src/tacit/printable.py": 1,
    "src/tacit/privacy": 185,
    "src/tacit/progress.py": 2,
    "src/tacit/protocol": 83,
    "src/tacit/randomness.py": 3,
    "src/tacit/report": 13,
    "src/tacit/reproduction.py": 2,
    "src/tacit/rows.py": 2,
    "src/tacit/runs": 24,
    "src/tacit/secure_aggregation": 11,
    "src/tacit/server": 9,
    "src/tacit/simulation": 35,
    "src/tacit/training": 4,
}
"""Findings that are left in a package: a number here only ever falls, and a package at 0 is taken off."""
PACKAGES = sorted(
    path
    for folder in ("src/tacit", "papers/src")
    for path in (ROOT / folder).iterdir()
    if path.suffix == ".py" or (path / "__init__.py").exists()
)


@pytest.mark.parametrize("package", PACKAGES, ids=name)
def test_packages_use_the_terms_of_the_field(package: Path) -> None:
    found = [str(finding) for finding in find(read_all([package]))]
    assert len(found) <= LEFT.get(name(package), 0), "\n".join(found)


@pytest.mark.parametrize("page", DOCUMENTS, ids=name)
def test_documents_use_the_terms_of_the_field(page: Path) -> None:
    assert [str(finding) for finding in find(read_all([page]))] == []


@pytest.mark.parametrize(
    "text",
    [
        "one table per room",
        "each a whole number",
        "with a chance of delta",
        "the law of the sum",
        "updates cut to a length of 1",
        "an update of length 1",
        "Gaussian noise of 3.8",
        "votes under a secure sum",
        "whoever might have been asked",
        "trusting nobody",
        "a vector that leans",
        "a signed letter",
        "another question",
        "the answers of sites",
        "clients that have paid",
        "what it costs",
        "no site was let in yet",
        "the seats of one machine",
        "parts of a cohort",
        "but for 1 % at either end",
        "the rows it is tried on",
        "at most so many rows",
        "beside the run",
        "sites are told",
        "all data in one hand",
        "needs finite values, got others",
        "noise that goes together",
    ],
)
def test_words_to_avoid_are_found(text: str) -> None:
    assert list(find([Passage(ROOT / "README.md", 1, "document", text)]))


@pytest.mark.parametrize(
    "text",
    [
        "the length of the list",
        "a message of the wrong length",
        "no better than chance",
        "an AUC of .5 is chance",
        "Zipf's law",
        "tests/laws holds properties of every codec",
        "letters and digits",
        "words of the letters a-z",
        "a file has room for it",
        "two values are told apart",
        "so many that memory runs out",
        "the noise of the server",
        "this costs 3 seconds per round",
        "the answer to this request",
    ],
)
def test_the_same_words_in_another_meaning_pass(text: str) -> None:
    assert list(find([Passage(ROOT / "README.md", 1, "document", text)])) == []


def test_every_term_has_a_replacement_and_a_reason() -> None:
    assert [term.pattern.pattern for term in TERMS if not (term.write and term.reason)] == []
