"""The documentation site builds without a warning, leads nowhere else, and loads nothing from elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.site import SitePage, find_dead_links, find_external_requests, read_site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site").resolve()
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, SitePage]:
    return read_site(site)


def test_links_and_anchors_exist(pages: dict[Path, SitePage]) -> None:
    assert list(find_dead_links(pages)) == []


def test_no_page_loads_anything_from_another_host(site: Path, pages: dict[Path, SitePage]) -> None:
    assert list(find_external_requests(site, pages)) == []


def test_every_page_is_in_the_navigation(site: Path, pages: dict[Path, SitePage]) -> None:
    home = pages[site / "index.html"]
    linked = {(site / link.partition("#")[0]).resolve() for link in home.links if "://" not in link}
    for path in sorted(linked & pages.keys()):
        linked |= {
            (path.parent / link.partition("#")[0]).resolve()
            for link in pages[path].links
            if "://" not in link
        }
    assert pages.keys() - linked == set()


def test_search_works_without_a_network_and_from_a_folder(
    site: Path, pages: dict[Path, SitePage]
) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {str(path.relative_to(site)) for path in pages} <= found
    assert (site / "search" / "search_index.js").exists()
    assert any("iframe-worker" in link for link in pages[site / "index.html"].loaded)


def test_dead_links_and_external_requests_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="here">A</h1><a href="#here"></a><a href="#gone"></a><a href="b.html"></a>'
        '<script src="https://example.org/x.js"></script><a href="https://example.org/"></a>'
    )
    (tmp_path / "a.css").write_text("@import url('//example.org/font.css');")
    pages = read_site(tmp_path)
    assert list(find_dead_links(pages)) == ["a.html: no anchor #gone", "a.html: no file b.html"]
    assert list(find_external_requests(tmp_path, pages)) == [
        "a.html: loads https://example.org/x.js",
        "a.css: loads //example.org/font.css",
    ]
