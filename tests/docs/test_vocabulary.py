"""People read the field's terms: no word of `vocabulary.TERMS` in documents, help, errors, docstrings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, name
from tests.docs.prose import FILES, Passage, read_all
from tests.docs.vocabulary import TERMS, find

GENERATED = set((ROOT / "docs" / "reference").rglob("*.md"))
"""Written from strings of the code, which are checked there."""
DOCUMENTS = sorted(
    path for path in FILES if path.suffix in (".md", ".toml") and path not in GENERATED
)


CODE = [ROOT / "src", ROOT / "papers" / "src"]
LEFT = 0
"""Findings that are left in docstrings, help, errors and templates; this number only ever falls."""


def test_code_uses_the_terms_of_the_field() -> None:
    found = [str(finding) for finding in find(read_all(CODE))]
    assert len(found) <= LEFT, "\n".join(found)


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
