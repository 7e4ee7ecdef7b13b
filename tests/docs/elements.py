"""The elements of the five papers, from `docs/papers/elements.toml`: checked, and written as a page.

python -m tests.docs.elements
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from tests.docs.pages import ROOT

DATA, PAGE = ROOT / "docs" / "papers" / "elements.toml", ROOT / "docs" / "papers" / "elements.md"
KINDS = ("algorithm", "formula", "setting", "data", "baseline", "attack", "table", "figure")
STATUSES = ("works", "partly", "missing")
SHOWN_BY = ("table", "key", "run", "test", "file")
_NAMED = {"codec.name": "codec", "model.name": "model", "corrupt.kind": "corrupt"}
"""Keys whose values are sections of a page of the reference."""
_NAMES = {
    "rr-ldp": "RR-LDP",
    "partfed": "PartFed",
    "hashcomb": "HashComb",
    "lazyinf": "LazyInf",
    "fedvocab": "FedVocab",
}


@dataclass(frozen=True)
class Element:
    """One element of a paper, and what shows it."""

    paper: str
    kind: str
    what: str
    by: tuple[str, ...]
    partly: str = ""  # why it works in part
    missing: str = ""  # why it is missing

    @property
    def status(self) -> Literal["works", "partly", "missing"]:
        """Whether it works."""
        if self.missing:
            return "missing"
        return "partly" if self.partly else "works"


def read_elements(path: Path = DATA) -> list[Element]:
    """Read all elements, paper by paper."""
    stored = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Element(paper=paper, **{**one, "by": tuple(one["by"])})
        for paper, group in stored.items()
        for one in group["elements"]
    ]


def split_shown(shown: str) -> tuple[str, str]:
    """The kind of what shows an element, and its name."""
    kind, _, name = shown.partition(" ")
    return kind, name


def has_plan_key(key: str) -> bool:
    """Whether the reference has a plan key `table.key` or `table.key = value`."""
    name, _, value = key.partition(" = ")
    table = _NAMED.get(name, name.partition(".")[0] if "." in name else "index")
    page = ROOT / "docs" / "reference" / "plan" / f"{table}.md"
    if not page.exists():
        return False
    text = page.read_text(encoding="utf-8")
    if name in _NAMED and value:
        return f"## `{value}`" in text
    section = re.search(rf"^#+ `{re.escape(name)}`\n(.*?)(?=^#+ `|\Z)", text, re.M | re.S)
    return section is not None and (not value or f'`"{value}"`' in section[1])


def has_test(name: str) -> bool:
    """Whether a test `FILE::NAME` exists."""
    path, _, function = name.partition("::")
    file = ROOT / path
    return file.exists() and f"def {function}(" in file.read_text(encoding="utf-8")


def render(elements: list[Element]) -> str:
    """Render the page."""
    lines = [
        "# Elements of the papers",
        "",
        "Every algorithm, formula, setting, data set, baseline, attack, table and figure of the five papers, and what shows it here.",
        "`python -m tests.docs.elements` writes this page from `docs/papers/elements.toml`. Tests check that each named table, plan key,",
        "command, test and file exists.",
        "",
        f"| paper | {' | '.join(STATUSES)} | all |",
        "|---|---|---|---|---|",
    ]
    by_paper = [(paper, list(group)) for paper, group in groupby(elements, lambda one: one.paper)]
    for name, some in [*((_NAMES[paper], group) for paper, group in by_paper), ("all", elements)]:
        counts = [sum(one.status == status for one in some) for status in STATUSES]
        lines.append(f"| {name} | {' | '.join(map(str, counts))} | {len(some)} |")
    for paper, group in by_paper:
        lines += [
            "",
            f"## {_NAMES[paper]}",
            "",
            "| | element | status | shown by |",
            "|---|---|---|---|",
        ]
        ordered = sorted(group, key=lambda one: KINDS.index(one.kind))
        lines += [_render_element(one) for one in ordered]
    return "\n".join([*lines, ""])


def _render_element(one: Element) -> str:
    reason = one.missing or one.partly
    status = f"**{one.status}**: {reason}" if reason else one.status
    shown = "; ".join(_render_shown(one.paper, shown) for shown in one.by) or "–"
    return f"| {one.kind} | {one.what} | {status} | {shown} |"


def _render_shown(paper: str, shown: str) -> str:
    kind, name = split_shown(shown)
    if kind == "table":
        return f"`tacit reproduce {paper} --table {name}`"
    if kind == "test":
        path, _, function = name.partition("::")
        return f"`{path}` (`{function}`)"
    if kind == "key" and " = " in name:
        key, _, value = name.partition(" = ")
        return f'`{key} = "{value}"`'
    return f"`{name}`"


if __name__ == "__main__":
    PAGE.write_text(render(read_elements()), encoding="utf-8")
