"""The list of elements: what shows each element exists, and the page is that of the data."""

from __future__ import annotations

from collections import Counter

import pytest

from tacit.reproduction import find_paper, list_papers
from tests.docs.command_lines import find_fault
from tests.docs.elements import (
    KINDS,
    PAGE,
    SHOWN_BY,
    Element,
    has_plan_key,
    has_test,
    read_elements,
    render,
    split_shown,
)
from tests.docs.pages import ROOT

ELEMENTS = read_elements()


def find_errors(element: Element) -> list[str]:
    """What an element names and does not exist."""
    tables = {table.name for table in find_paper(element.paper).list_tables()}
    wrong = [] if element.kind in KINDS else [element.kind]
    for shown in element.by:
        kind, name = split_shown(shown)
        exists = {
            "table": lambda name=name: name in tables,
            "key": lambda name=name: has_plan_key(name),
            "run": lambda name=name: not find_fault(name.split()[1:], certain=True),
            "test": lambda name=name: has_test(name),
            "file": lambda name=name: (ROOT / name).exists(),
        }
        if kind not in SHOWN_BY or not exists[kind]():
            wrong.append(shown)
    return wrong


def test_what_shows_an_element_exists() -> None:
    found = {f"{one.paper}: {one.what}": find_errors(one) for one in ELEMENTS}
    assert {what: wrong for what, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "shown",
    [
        "table 77",
        "key codec.colour",
        "key codec.name = morse",
        "key data.share.rule = astrology",
        "run tacit dance",
        "run tacit audit reconstruct --dance",
        "test papers/tests/test_elements.py::test_of_nothing",
        "file examples/none.toml",
        "hearsay",
    ],
)
def test_what_does_not_exist_is_found(shown: str) -> None:
    wrong = Element(paper="rr-ldp", kind="table", what="w", by=(shown,))
    assert find_errors(wrong) == [shown]


def test_every_paper_is_listed_and_every_element_is_shown_or_missing_with_a_reason() -> None:
    assert {one.paper for one in ELEMENTS} == {paper.name for paper in list_papers()}
    assert [one.what for one in ELEMENTS if not (one.by or one.missing)] == []
    assert [one.what for one in ELEMENTS if one.partly and one.missing] == []
    listed = Counter((one.paper, one.what) for one in ELEMENTS)
    assert [what for what, count in listed.items() if count > 1] == []


def test_the_page_is_that_of_the_data() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(ELEMENTS), "python -m tests.docs.elements"
