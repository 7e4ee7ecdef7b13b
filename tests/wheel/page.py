"""The page docs/benchmarks/install.md, from what `make test-wheel` found."""

from __future__ import annotations

from dataclasses import dataclass, field

MEGABYTE = 1 << 20
SHOWN = 8
FLOOR = ("llvmlite", "polars-runtime-32")
"""The two largest packages; training and reading need them everywhere."""


@dataclass
class Column:
    """What was found under one Python: cells by check, bytes by installation and package."""

    cells: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    help_seconds: float = 0.0


HEAD = """\
# Install

`make test-wheel` builds the wheel, installs it into empty environments without constraints, uses it, and prints these tables.
"""

NOTE = """\
MB are 2^20 bytes of disk space, compiled bytecode included, pip and setuptools left out. `tacit` is `pip install tacit`; the row
`site-requirements.txt` is a site without reports and without Flower's server
(`pip install --no-deps --requirement deploy/site-requirements.txt`).
"""


def write_page(checks: list[str], columns: dict[str, Column], said: list[str]) -> str:
    """Render the page in Markdown."""
    parts = [HEAD, "## Pythons\n", _make_matrix(checks, columns), "\n".join(said) + "\n"]
    used = [column for column in columns.values() if column.sizes]
    if used:
        parts += ["## Disk space\n", _make_sizes(columns), NOTE, _make_largest(used[-1])]
    return "\n".join(parts)


def _make_matrix(checks: list[str], columns: dict[str, Column]) -> str:
    rows = [
        [check, *(column.cells.get(check, "missing") for column in columns.values())]
        for check in checks
    ]
    rows.append(
        [
            "user CPU time of `tacit --help`, mean of 5",
            *(
                f"{column.help_seconds:.2f} s" if column.help_seconds else "missing"
                for column in columns.values()
            ),
        ]
    )
    return _make_table(["check", *(f"Python {version}" for version in columns)], rows)


def _make_sizes(columns: dict[str, Column]) -> str:
    titles = list(dict.fromkeys(title for column in columns.values() for title in column.sizes))
    rows = [
        [f"`{title}`", *(_sum_up(column.sizes.get(title)) for column in columns.values())]
        for title in titles
    ]
    return _make_table(["installed", *(f"Python {version}" for version in columns)], rows)


def _make_largest(column: Column) -> str:
    """The largest packages of each installation under one Python."""
    titles = list(column.sizes)
    names = list(
        dict.fromkeys(name for title in titles for name in list(column.sizes[title])[:SHOWN])
    )
    rows = [
        [name, *(_show(column.sizes[title].get(name)) for title in titles)]
        for name in sorted(
            names, key=lambda name: -max(s.get(name, 0) for s in column.sizes.values())
        )
    ]
    table = _make_table(["package", *(f"`{title}`" for title in titles)], rows)
    return f"{_name_floor(column)}\n\nThe largest packages, in MB:\n\n{table}"


def _name_floor(column: Column) -> str:
    """What no smaller installation can leave out."""
    sizes = next(iter(column.sizes.values()))
    floor = sum(sizes.get(name, 0) for name in FLOOR) / MEGABYTE
    return (
        f"{' and '.join(FLOOR)} take {floor:.0f} MB together. The first compiles the training, the"
        " second reads the tables, so no installation is smaller."
    )


def _sum_up(sizes: dict[str, int] | None) -> str:
    return "missing" if sizes is None else f"{sum(sizes.values()) / MEGABYTE:.0f} MB"


def _show(size: int | None) -> str:
    return "–" if size is None else f"{size / MEGABYTE:.0f}"


def _make_table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
