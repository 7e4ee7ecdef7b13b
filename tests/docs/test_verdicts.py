"""The README's count of verdicts is that of the kept results, and no claim of a paper is without one."""

from __future__ import annotations

import json
import re

import pytest

from tacit.papers import PAPERS
from tacit.papers.claims import VERDICTS
from tests.docs.pages import ROOT


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_the_readme_counts_the_verdicts_of_the_kept_results(paper) -> None:
    kept = json.loads((ROOT / "docs" / "results" / f"{paper.name}.json").read_text(encoding="utf-8"))["claims"]
    assert [one["claim"] for one in kept] == [claim.claim for claim in paper.claims], "tacit reproduce --cached --page docs"
    counts = [sum(one["verdict"] == verdict for one in kept) for verdict in VERDICTS]
    (row,) = re.findall(
        rf"^\| \[[^|]*\(docs/{paper.name}\.md\) \| (.*) \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [int(count) for count in row.split(" | ")] == counts
