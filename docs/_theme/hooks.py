"""Hooks of the documentation site: its navigation, pages from the repository's root, and links that
leave the documents.
"""

from __future__ import annotations

import html as html_text
import itertools
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FROM_ROOT = {
    path.name: f"{path.stem.lower().replace('_', '-')}.md"
    for path in sorted(ROOT.glob("*.md"))
    if path.name != "README.md"
}
"""Documents at the root of the repository, and the page that each becomes."""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
CELL = re.compile(r"<td[^>]*>(.*?)</td>", re.DOTALL)
LINE = 60
"""Characters that a narrow screen does not show in a row."""
FEW = 4
"""Columns of a table of sentences; one of figures may have more."""
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each folder of the navigation by the pages that its index links."""
    config.nav = [_expand(entry) for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents at the root of the repository."""
    for source, page in FROM_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to the site's pages; a link to a file that is not on the site becomes its text."""
    path = page.file.src_uri
    if path == "index.md":
        page.meta["hide"] = ["navigation"]
    origin = ROOT if path in FROM_ROOT.values() else (DOCS / path).parent
    pieces = FENCE.split(markdown)
    pieces[::2] = [
        LINK.sub(lambda link: _lead(link, origin, Path(path).parent), piece)
        for piece in pieces[::2]
    ]
    return "".join(pieces)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Mark tables of sentences, whose rows a narrow screen shows below each other."""
    return TABLE.sub(lambda table: _mark_table(table[0]), html)


def _mark_table(table: str) -> str:
    """Name the column of each cell, if rows are longer than a narrow screen shows in columns."""
    heads = [_read_text(head) for head in HEAD.findall(table)]
    lengths = [len(_read_text(cell)) for cell in CELL.findall(table)]
    rows = [sum(row) for row in zip(*[iter(lengths)] * max(1, len(heads)), strict=False)]
    longest = max(lengths, default=0)
    if longest <= LINE and (len(heads) > FEW or max(rows, default=0) <= LINE):
        return table
    columns = itertools.cycle(heads)
    marked = re.sub(r"<td", lambda _: f'<td data-column="{next(columns)}"', table)
    return marked.replace("<table", '<table class="of-sentences"', 1)


def _read_text(cell: str) -> str:
    return html_text.escape(html_text.unescape(re.sub(r"<[^>]+>", "", cell)).strip())


def _lead(link: re.Match[str], origin: Path, here: Path) -> str:
    mark, text, target = link.groups()
    place, anchor = (target.partition("#")[0], "".join(target.partition("#")[1:]))
    if "://" in target or target.startswith("mailto:") or not place:
        return link[0]
    path = Path(os.path.normpath(origin / place))
    if path.is_dir() and (path / "index.md").exists():
        path /= "index.md"
    if path.parent == ROOT and path.name in FROM_ROOT:
        path = DOCS / FROM_ROOT[path.name]
    elif DOCS not in path.parents:
        return text
    return f"{mark}[{text}]({os.path.relpath(path, DOCS / here)}{anchor})"


def _expand(entry: Any) -> Any:
    """Expand the folders in an entry of the navigation."""
    if isinstance(entry, dict):
        ((title, value),) = entry.items()
        if isinstance(value, list):
            return {title: [_expand(one) for one in value]}
        if isinstance(value, str) and value.endswith("/"):
            return {title: _list_pages(Path(value) / "index.md")}
    return entry


def _list_pages(index: Path) -> list[Any]:
    """List an index page and the pages below its folder that it links, those of its lists and
    tables first, in their order; then the other pages of its folder.
    """
    lines = (DOCS / index).read_text(encoding="utf-8").splitlines()
    lines.sort(key=lambda line: not line.lstrip().startswith(("-", "*", "|", "1")))
    found: dict[str, Any] = {}
    for _, text, target in LINK.findall("\n".join(lines)):
        if "://" in target:
            continue
        place = Path(os.path.normpath(index.parent / target.partition("#")[0]))
        if place.suffix != ".md" or place == index or index.parent not in place.parents:
            continue
        title = text.replace("`", "")
        title = title if text.startswith("`") else title[0].upper() + title[1:]
        if place.name == "index.md":
            found.setdefault(str(place), {title: _list_pages(place)})
        elif not any(str(place) in str(one) for one in found.values()):
            found.setdefault(str(place), {title: str(place)})
    others = sorted(path.relative_to(DOCS) for path in (DOCS / index.parent).glob("*.md"))
    unlinked = [str(path) for path in others if path != index and str(path) not in found]
    return [str(index), *found.values(), *unlinked]
