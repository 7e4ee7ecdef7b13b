"""[schema.columns.COLUMN]: what the cells of one column are, in the vocabulary of Table Schema."""

from __future__ import annotations

import datetime
import math
from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Len
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Many, Name, Needs

ColumnType = Literal["number", "integer", "string", "boolean", "date"]
DateFormat = Literal["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d"]
DATE_EXAMPLES: dict[DateFormat, str] = {
    "%Y-%m-%d": "2000-01-31",
    "%d.%m.%Y": "31.01.2000",
    "%d/%m/%Y": "31/01/2000",
    "%m/%d/%Y": "01/31/2000",
    "%Y%m%d": "20000131",
}
"""How each format writes the last day of January 2000."""
Cell = Annotated[str, Len(1, 500)]
BOOLEANS = {"true": "true", "1": "true", "false": "false", "0": "false"}
"""Spellings of a boolean, in lower case; `mapping` adds others."""
_MOST_VALUES = 1000


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ColumnSchema:
    """The cells of one column, the same at every site."""

    type: Annotated[ColumnType, Needs("number, integer, string, boolean or date")]
    """`number` and `integer`: with a decimal mark as in `data.decimal`; `1.0` is the integer 1.
    `string`: a class, a category or text, without surrounding blanks. `boolean`: `true` or `false`,
    `1` or `0`. `date`: a day, which a numeric column reads as seconds since 1970.
    """
    unit: Name | None = None
    """Unit of a number, such as `years`: shown to data owners, never checked; `minimum` and
    `maximum` detect a wrong unit.
    """
    minimum: float | Cell | None = None
    """`number`, `integer`: the smallest allowed value. `date`: the first allowed day, such as
    `"1900-01-01"`. With `maximum` it is the range of a numeric column, and no range is read from
    rows.
    """
    maximum: float | Cell | None = None
    """The largest allowed value, or the last allowed day."""
    enum: Annotated[Many[Cell], Len(0, _MOST_VALUES)] = ()
    """`string`, `number`, `integer`: the allowed values, as texts. They are the classes of a label
    and the categories of a categorical column, and none are read from rows.
    """
    mapping: Annotated[dict[Cell, Cell], Len(0, _MOST_VALUES)] = field(default_factory=dict)
    """What cells of a site mean, as `{ sick = "1", healthy = "0" }`: from a cell to a value of this
    column. A value of `enum` means itself, so it cannot be mapped to another. Not for `date`.
    """
    missing_values: Annotated[Many[Cell], Len(0, 100)] = ()
    """Cells that stand for a missing value, such as `["-999", "N/A"]`; an empty cell always does.
    """
    format: DateFormat | None = None
    """`date`: how a day is written. Default: `%Y-%m-%d`, such as 2000-01-31."""
    required: bool = False
    """Whether a missing value does not fit. Without it, a numeric column has an additional input
    that marks missing values, and a categorical column has the category `(missing)`.
    """

    @property
    def date_format(self) -> DateFormat:
        """How a day is written; raise ValueError for an unknown format."""
        found = self.format or "%Y-%m-%d"
        if found not in DATE_EXAMPLES:
            raise ValueError(f"format {found!r} is not implemented")
        return found

    @property
    def is_number(self) -> bool:
        """Whether cells are numbers."""
        return self.type in ("number", "integer")

    @property
    def names(self) -> tuple[str, ...]:
        """The values of a label or of a categorical column; empty if they are not stated."""
        return ("false", "true") if self.type == "boolean" else self.enum

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The smallest and the largest allowed value; of a date, in seconds since 1970."""
        return read_end(self, self.minimum), read_end(self, self.maximum)

    @property
    def range(self) -> tuple[float, float] | None:
        """The range of a numeric column; None if it is not stated."""
        if self.type == "boolean":
            return 0.0, 1.0
        if self.enum and self.is_number:
            values = [float(value) for value in self.enum]
            return (min(values), max(values)) if len(set(values)) > 1 else None
        low, high = self.ends
        return None if low is None or high is None else (low, high)


def read_end(column: ColumnSchema, end: float | str | None) -> float | None:
    """An end of a range as a number; raise ValueError if it is none."""
    if end is None:
        return None
    if column.type == "date":
        day = datetime.date.fromisoformat(str(end))
        return float((day - datetime.date(1970, 1, 1)).days * 86_400)
    if isinstance(end, str):
        raise ValueError("must be a number")
    return end


def fits_type(column: ColumnSchema, value: str) -> bool:
    """Whether a text spells a value of the column's type."""
    match column.type:
        case "string":
            return bool(value.strip())
        case "boolean":
            return value.lower() in BOOLEANS
        case "number" | "integer":
            try:
                number = float(value)
            except ValueError:
                return False
            whole = column.type == "number" or number.is_integer()
            return math.isfinite(number) and whole
        case "date":
            return False
