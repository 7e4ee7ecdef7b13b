"""Every epsilon in documents, templates and commands has a unit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, TEMPLATES, name

NUMBER = re.compile(
    r"(?<![\w.])(?:epsilon|eps|ε)\b[`\"]?\s*(?:=|:|of|is|at|to)?\s*(?:∞|\.?\d)", re.IGNORECASE
)
UNIT = re.compile(r"per (?:transmitted )?(?:bit|update|run|vote|row|record|client|coordinate)")
REACH = 80
"""Largest distance in characters between a number and its unit: a comment on the same line counts."""


def without_unit(text: str) -> list[str]:
    """Every epsilon with a number and no unit within REACH in the same paragraph."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        flat = " ".join(paragraph.split())
        for match in NUMBER.finditer(flat):
            if not UNIT.search(flat, match.start(), match.end() + REACH):
                found.append(flat[max(0, match.start() - 30) : match.end() + 40])
    return found


@pytest.mark.parametrize("page", [*DOCS, *TEMPLATES], ids=name)
def test_every_epsilon_says_per_what(page: Path) -> None:
    assert without_unit(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text", ["eps = 1", "with ε = 0.5 we get", "epsilon 10", "an epsilon of 3", "Epsilon: 2"]
)
def test_numbers_without_a_unit_are_found(text: str) -> None:
    assert without_unit(text)


@pytest.mark.parametrize(
    "text",
    ["epsilon 1 per bit", "ε = 0.5 per update", "-o codec.epsilon=1", "epsilon = 1.0  # per bit"],
)
def test_numbers_with_a_unit_and_keys_pass(text: str) -> None:
    assert without_unit(text) == []
