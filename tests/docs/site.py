"""Read a built site: its links, its anchors, and what a browser would load from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "link": "href",
    "use": "href",
}
"""The attribute of each element whose address a browser requests without a click."""
IN_STYLES = re.compile(r"""(?:@import\s+|url\(\s*)["']?((?:https?:)?//[^"')\s]+)""")


@dataclass
class SitePage(HTMLParser):
    """Identifiers, links and loaded addresses of one HTML page."""

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if LOADED.get(tag) in found:
            self.loaded.append(found[LOADED[tag]])


def read_site(folder: Path) -> dict[Path, SitePage]:
    """Every page of a site but the one for missing pages, whose links start at the server's root."""
    return {
        path: SitePage(path) for path in sorted(folder.rglob("*.html")) if path.name != "404.html"
    }


def find_dead_links(pages: dict[Path, SitePage]) -> Iterator[str]:
    """Links and loaded files that are not on the site, and anchors that are not on their page."""
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            anchor = unquote(address.fragment)
            if not target.is_file():
                yield f"{path.name}: no file {link}"
            elif anchor and target in pages and anchor not in pages[target].ids:
                yield f"{path.name}: no anchor {link}"


def find_external_requests(folder: Path, pages: dict[Path, SitePage]) -> Iterator[str]:
    """Addresses on other hosts that a page or a style sheet would load."""
    for path, page in pages.items():
        for link in page.loaded:
            if urlsplit(link).scheme not in ("", "data") or link.startswith("//"):
                yield f"{path.name}: loads {link}"
    for path in [*folder.rglob("*.css"), *pages, *folder.rglob("*.svg")]:
        for address in IN_STYLES.findall(path.read_text(encoding="utf-8")):
            yield f"{path.name}: loads {address}"
