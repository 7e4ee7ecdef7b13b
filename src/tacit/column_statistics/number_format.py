"""The decimal mark of a column, point or comma, in one file and agreed between several files.

Most cells are unambiguous: 12, 0.5, 0,5 and 1,234.5 can be read in only one way. Cells such as
1,234 and 1.234 depend on the decimal mark. Each file states the mark of each column, and a site
reads cells only with the mark that all sites agreed on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from tacit.errors import DataError

DecimalMark = Literal["point", "comma"]

TOLD = "whether numbers are written with a decimal point or a decimal comma"
"""What is read from the rows, as the record words it."""


class NumberFormat(NamedTuple):
    """How a file writes the numbers of one column: two booleans, which reveal no cell.

    `comma`: with a decimal comma. `unclear`: some cells, such as 1,234, are another number under
    the other decimal mark.
    """

    comma: bool = False
    unclear: bool = False

    @property
    def mark(self) -> DecimalMark:
        """The decimal mark."""
        return "comma" if self.comma else "point"


Formats = Mapping[str, NumberFormat]
"""Formats by column name."""


def agree_formats(parts: Sequence[Formats]) -> dict[str, NumberFormat]:
    """Agree on one decimal mark for each column: that of most files with unclear cells; without
    such cells, a comma if one has it.

    A file without unclear cells reads the same under either mark, so it has no vote if another file
    has some.
    """
    agreed = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        formats = [part[name] for part in parts if name in part]
        commas = [one.comma for one in formats if one.unclear]
        comma = 2 * sum(commas) > len(commas) if commas else any(one.comma for one in formats)
        agreed[name] = NumberFormat(comma, bool(commas))
    return agreed


def find_conflicts(parts: Sequence[Formats]) -> list[str]:
    """Columns whose unclear cells would be read with different decimal marks by different files."""
    agreed = agree_formats(parts)
    return [
        name for name in agreed if any(_differs(part.get(name), agreed[name]) for part in parts)
    ]


def check_formats(own: Formats, agreed: Formats, remedy: str = "decimal in site.toml") -> None:
    """Raise DataError if a file has cells that the agreed decimal mark would turn into other
    numbers.
    """
    for name, here in own.items():
        if _differs(here, agreed.get(name, here)):
            raise DataError(
                f"column {name!r}: the run agreed on a decimal {agreed[name].mark}, this file seems"
                f" to have a decimal {here.mark}, and some cells look like 1,234 or 1.234, which "
                f"would become other numbers. Check the file, and set {remedy} to 'point' or "
                "'comma', as the file has it"
            )


def _differs(here: NumberFormat | None, agreed: NumberFormat) -> bool:
    return here is not None and here.unclear and here.comma != agreed.comma
