"""tacit data: list, download and locate named data sets."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson

SetName = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A name from `tacit data list`.", show_default=False),
]


def list_sets(as_json: AsJson = False) -> None:
    """List the named data sets, and which of them are on this machine.

    \b
    Examples:
      tacit data list
      tacit data list --json
    """
    from tacit import data
    from tacit.report import phrasing

    places = {entry.name: data.find_data_set(entry.name) for entry in data.list_data_sets()}
    if as_json:
        listed = [
            {
                "name": one.name,
                "title": one.title,
                "rows": one.rows,
                "bytes": one.size,
                "terms": one.terms,
                "where": _path(places[one.name]),
            }
            for one in data.list_data_sets()
        ]
        tables.print_json("data-sets/1", {"sets": listed})
        return
    rows = [
        (
            one.name,
            one.title,
            f"{one.rows:,}",
            phrasing.format_size(one.size),
            "yes" if places[one.name] else "no",
        )
        for one in data.list_data_sets()
    ]
    tables.table(("name", "what", "rows", "size", "here"), rows, prose=(0, 1, 4))


def get_set(name: SetName) -> None:
    """Download a data set from its public origin, if needed, and print its path.

    \b
    Examples:
      tacit data get newsgroups20
    """
    from tacit import data

    with _DownloadBar() as bar:
        place = data.fetch_data_set(name, bar.moved)
    tables.line(str(place))


def where_set(name: SetName) -> None:
    """Print the path of a data set on this machine; exit code 1 if there is none.

    \b
    Examples:
      tacit data where newsgroups20
    """
    from tacit import data

    place = data.find_data_set(name)
    if place is None:
        tables.line(
            f"{name} is not on this machine; `tacit data get {name}` downloads it", stderr=True
        )
        raise typer.Exit(1)
    tables.line(str(place))


def _path(place: object) -> str | None:
    return str(place) if place else None


class _DownloadBar:
    """Download progress on stderr: a bar on a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        said = TextColumn("{task.description}", markup=False)
        self._bars = Progress(
            said, BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True)
        )
        self._tasks: dict[str, object] = {}
        self._last = time.monotonic()
        self._seen = sys.stderr.isatty()

    def __enter__(self) -> _DownloadBar:
        if self._seen:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._seen:
            self._bars.stop()

    def moved(self, what: str, done: int, total: int | None) -> None:
        """Show the number of bytes received."""
        if self._seen:
            task = self._tasks.setdefault(
                what, self._bars.add_task(what, total=total) if what not in self._tasks else 0
            )
            self._bars.update(task, completed=done, total=total)  # type: ignore[arg-type]
        elif time.monotonic() - self._last > 5:
            from tacit.report import phrasing

            self._last = time.monotonic()
            tables.line(
                f"{what}: {phrasing.format_size(done)}"
                + (f" of {phrasing.format_size(total)}" if total else ""),
                stderr=True,
            )
