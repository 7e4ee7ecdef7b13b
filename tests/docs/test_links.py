"""Links in documents lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, name

LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r"`((?:[\w.-]+/)+[\w-]+\.py)`")
SOURCES = [
    ROOT,
    ROOT / "papers" / "src" / "tacit_papers",
    ROOT / "src" / "tacit",
    *(path for path in (ROOT / "src" / "tacit").iterdir() if path.is_dir()),
]
SIZE_LIMIT = 400_000


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, spelled as code hosts spell them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", DOCS, ids=name)
def test_every_relative_link_resolves(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if link.startswith(("https://", "http://")):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), f"{name(page)} links to {link}, which does not exist"
        assert ROOT in (target, *target.parents), (
            f"{name(page)} links out of the repository: {link}"
        )
        if anchor:
            assert anchor in anchors(target), (
                f"{name(page)} links to {link}, which has no such heading"
            )


@pytest.mark.parametrize("page", [page for page in DOCS if page.name != "CHANGELOG.md"], ids=name)
def test_every_source_file_that_a_document_names_exists(page: Path) -> None:
    for path in SOURCE.findall(page.read_text(encoding="utf-8")):
        assert any((root / path).exists() for root in SOURCES), f"{name(page)}: no file {path}"


def targets(page: Path) -> set[Path]:
    links = LINK.findall(page.read_text(encoding="utf-8")) if page.suffix == ".md" else []
    return {(page.parent / link.partition("#")[0]).resolve() for link in links if "://" not in link}


def test_every_document_can_be_reached_from_the_first_page() -> None:
    reached, new = set[Path](), {ROOT / "README.md", ROOT / "docs" / "index.md"}
    while new:
        reached |= new
        new = {target for page in new if page.is_file() for target in targets(page)} - reached
    missing = [name(page) for page in DOCS if page not in reached and page.parent not in reached]
    assert missing == []


def test_pictures_are_small() -> None:
    for picture in (ROOT / "docs" / "img").iterdir():
        assert picture.stat().st_size < SIZE_LIMIT, f"{name(picture)} is too large"
