"""Hooks of the documentation site: its navigation, pages from the repository's root, and links that
leave the documents.
"""

from __future__ import annotations

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
    origin = ROOT if path in FROM_ROOT.values() else (DOCS / path).parent
    pieces = FENCE.split(markdown)
    pieces[::2] = [
        LINK.sub(lambda link: _lead(link, origin, Path(path).parent), piece)
        for piece in pieces[::2]
    ]
    return "".join(pieces)


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
    """List an index page and the pages below its folder that it links, in their order."""
    found: dict[str, Any] = {}
    for _, text, target in LINK.findall((DOCS / index).read_text(encoding="utf-8")):
        if "://" in target:
            continue
        place = Path(os.path.normpath(index.parent / target.partition("#")[0]))
        if place.suffix != ".md" or place == index or index.parent not in place.parents:
            continue
        title = text.replace("`", "")
        if place.name == "index.md":
            found.setdefault(str(place), {title: _list_pages(place)})
        elif not any(str(place) in str(one) for one in found.values()):
            found.setdefault(str(place), {title: str(place)})
    return [str(index), *found.values()]
