"""Prose that a person reads: documents, comments of examples, docstrings, help texts, errors, templates."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
GENERATED = re.compile(r"<!-- (claims|results|figures):.*?<!-- end of \1 -->", re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")
CODE_IN_HTML = re.compile(
    r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>|\{[{%#].*?[}%#]\}", re.DOTALL
)
SMALLEST_PROSE = 3
"""A string of fewer words is a key, a path or a label, and no prose."""

LONGEST_SENTENCE = 60
SQL = {"CREATE", "SELECT", "INSERT", "UPDATE", "DELETE"}

Kind = Literal["document", "docstring", "string", "comment", "template"]


@dataclass(frozen=True)
class Passage:
    """One stretch of prose and where it stands."""

    path: Path
    line: int
    kind: Kind
    text: str

    @property
    def words(self) -> str:
        """The text on one line, without inline code and targets of links."""
        return " ".join(INLINE_CODE.sub(" · ", self.text).split())

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def read_all(folders: Iterable[Path]) -> Iterator[Passage]:
    """Read every document, module, template and example below some folders (or the files themselves)."""
    roots = [folder.resolve() for folder in folders]
    for path in sorted(FILES):
        if any(root in (path, *path.parents) for root in roots):
            yield from READERS[path.suffix](path)


def read_document(path: Path) -> Iterator[Passage]:
    """Read the paragraphs of a Markdown page, without blocks of code and generated tables."""
    text = path.read_text(encoding="utf-8")
    for pattern in (GENERATED, FENCED):
        text = pattern.sub(_blank, text)
    yield from _split(path, text, "document")


def read_template(path: Path) -> Iterator[Passage]:
    """Read the words of an HTML template, without tags, scripts and expressions."""
    text = CODE_IN_HTML.sub(_blank, path.read_text(encoding="utf-8"))
    yield from _split(path, text, "template")


def read_comments(path: Path) -> Iterator[Passage]:
    """Read the comments of a TOML file or a shell-like file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        _, mark, comment = line.partition("#")
        if mark and comment.strip():
            yield Passage(path, number, "comment", comment.strip())


def read_module(path: Path) -> Iterator[Passage]:
    """Read docstrings and strings of three words and more; an f-string is one string with gaps."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node) for node in _docstrings(tree)}
    inside = {
        id(piece)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for piece in ast.walk(node)
        if piece is not node
    }
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(_piece(piece) for piece in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        kind: Kind = "docstring" if id(node) in docstrings else "string"
        if kind == "docstring" or _is_prose(text):
            yield Passage(path, node.lineno, kind, text)


READERS: dict[str, Callable[[Path], Iterator[Passage]]] = {
    ".md": read_document,
    ".py": read_module,
    ".html": read_template,
    ".toml": read_comments,
}
PLACES = (
    "*.md",
    "docs/**/*.md",
    "papers/README.md",
    "examples/*",
    "src/**/*.py",
    "src/**/*.html",
    "papers/src/**/*.py",
)
FILES = {
    path
    for place in PLACES
    for path in ROOT.glob(place)
    if path.suffix in (".md", ".py", ".html", ".toml")
}


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every string that is a statement by itself: docstrings, and strings below an assignment."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.value


def _is_prose(text: str) -> bool:
    """Keys, labels, lists of words and SQL are no prose."""
    words = text.split()
    is_list = len(words) > LONGEST_SENTENCE and not re.search(r"[.,;:]\s", text)
    return len(words) >= SMALLEST_PROSE and not is_list and words[0] not in SQL


def _piece(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else "{}"


def _split(path: Path, text: str, kind: Kind) -> Iterator[Passage]:
    line = 1
    for block in re.split(r"(\n\s*\n)", text):
        if block.strip():
            yield Passage(path, line, kind, block)
        line += block.count("\n")


def _blank(match: re.Match[str]) -> str:
    """Line breaks of what is left out stay, so that line numbers stay right."""
    return "\n" * match.group().count("\n") or " "
