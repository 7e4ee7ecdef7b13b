"""The commands behind the buttons of a site's pages, as one types them."""

from __future__ import annotations

from pathlib import Path

from tacit.ui.jobs.commands import show_command


def show_site_command(folder: Path, *words: str, after: tuple[str, ...] = ()) -> str:
    """A `tacit site` command about a folder; a name that begins with a dash is no option of it."""
    rest = ("--", *after) if any(one.startswith("-") for one in after) else after
    return show_command(["tacit", "site", *words, str(folder), *rest])
