"""The count of verdicts on the index of papers is that of the kept results, and no claim of a paper is without one."""

from __future__ import annotations

import json
import re

import pytest

from tacit.reproduction import VERDICTS, list_papers
from tests.docs.pages import ROOT


@pytest.mark.parametrize("paper", list_papers(), ids=lambda paper: paper.name)
def test_the_index_of_papers_counts_the_verdicts_of_the_kept_results(paper) -> None:
    kept = json.loads(
        (ROOT / "docs" / "results" / f"{paper.name}.json").read_text(encoding="utf-8")
    )["claims"]
    assert [one["claim"] for one in kept] == [claim.claim for claim in paper.claims], (
        "tacit reproduce --cached --out docs"
    )
    counts = [sum(one["verdict"] == verdict for one in kept) for verdict in VERDICTS]
    (row,) = re.findall(
        rf"^\| \[[^|]*\({paper.name}\.md\) \| (.*) \|$",
        (ROOT / "docs" / "papers" / "index.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [int(count) for count in row.split(" | ")] == counts
