"""The generated pages of docs/reference: written by `make reference`, and tested to be current."""

from __future__ import annotations

from pathlib import Path

from tests.docs.pages import ROOT

FOLDER = ROOT / "docs" / "reference"


def write_all() -> dict[Path, str]:
    """Write the text of every generated page, by its path."""
    from tacit.plan import reference as plan
    from tests.docs.reference import commands, exit_codes, json_outputs, python, record

    folders = {
        "plan": plan.write_pages(),
        "commands": commands.write_pages(),
        "json": json_outputs.write_pages(),
        "python": python.write_pages(),
        "": {**record.write_pages(), **exit_codes.write_pages()},
    }
    return {
        FOLDER / folder / name: text
        for folder, pages in folders.items()
        for name, text in pages.items()
    }


def find_stale() -> list[Path]:
    """Files that differ from what the code says, including pages of what no longer exists."""
    pages = write_all()
    stale = [path for path, text in pages.items() if _read(path) != text]
    return stale + sorted(list_stored() - pages.keys())


def list_stored() -> set[Path]:
    """Generated files that are in the folder now."""
    return {path for path in FOLDER.rglob("*.*") if path != FOLDER / "index.md"}


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None
