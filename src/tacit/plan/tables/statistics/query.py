"""Queries: what can be asked about rows, and the sentences that ask it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal[
    "count",
    "missing",
    "categories",
    "histogram",
    "sum",
    "mean",
    "quantiles",
    "frequent",
    "distinct",
    "correlation",
]
Source = Literal["values", "words"]
"""What is counted in a column: its cells as a whole, or the words of its texts."""

TAIL = 0.01
"""The range of a column is from this quantile to 1 minus this quantile."""
MOST_BINS, MOST_VALUES, MOST_STATED = 1000, 256, 1000
_DEFAULT_BINS, _DEFAULT_VALUES = 20, 32
_LEAST_WIDTH = 1e-100
"""Numbers cannot be scaled to a range that is much narrower."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """Numbers from `low` to `high`; others count as the nearer end."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Query:
    """One query. `columns` are one or two columns of numbers, or one of values or texts.

    `ranges` has one range per column of numbers, or None where it is not stated and must be bought.
    `values` are the stated values of `categories`, `points` the probabilities of `quantiles`, `most`
    the largest number of values that `frequent` and `distinct` find, `above` the threshold of
    `distinct`.
    """

    kind: Kind
    columns: tuple[str, ...] = ()
    ranges: tuple[Range | None, ...] = ()
    source: Source = "values"
    values: tuple[str, ...] = ()
    points: tuple[float, ...] = ()
    bins: int = _DEFAULT_BINS
    most: int = _DEFAULT_VALUES
    above: float = 0.0
    people: bool = field(default=False)

    @property
    def buys_range(self) -> bool:
        """Whether a first round must find the range of a column."""
        return None in self.ranges

    @property
    def rounds(self) -> int:
        """Rounds that the query needs: a second one reads what the first one found."""
        return 2 if self.buys_range or self.kind in ("frequent", "distinct") else 1

    @property
    def role(self) -> Literal["numeric", "categorical", "text"]:
        """How the query reads its columns."""
        if self.kind in ("categories", "frequent", "distinct"):
            return "text" if self.source == "words" else "categorical"
        return "numeric"


FORMS = (
    "count rows",
    "count people",
    "count by town",
    "count by town among Berlin, Paris",
    "histogram of age from 0 to 100 in 20 bins",
    "sum of price from 0 to 500",
    "mean of age from 0 to 120",
    "median of income",
    "quantiles .25 .5 .75 of income from 0 to 200000",
    "range of income",
    "frequent words of note at most 32",
    "distinct values of town above 20",
    "correlation of age and income",
    "missing in income",
)
"""One example of each sentence."""

_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|,|[^\s,]+")


def parse_query(text: str) -> Query:
    """Read a sentence; raise ValueError saying what is wrong, then what to write."""
    words = _Words(text, _TOKEN.findall(text))
    found = _read(words)
    words.end()
    return found


class _Words:
    """The words of a sentence, read from left to right."""

    def __init__(self, text: str, tokens: Sequence[str]) -> None:
        self.text, self._tokens, self._at = text, tokens, 0

    def take(self, *wanted: str) -> bool:
        """Read these words if they come next."""
        some = self._tokens[self._at : self._at + len(wanted)]
        if [one.lower() for one in some] != [*wanted]:
            return False
        self._at += len(wanted)
        return True

    def need(self, *wanted: str) -> None:
        """Read these words, or refuse."""
        if not self.take(*wanted):
            raise self.refuse(f"{' '.join(wanted)!r} must follow {self._before()!r}")

    def name(self, what: str) -> str:
        """Read a name: one word, or several in quotation marks."""
        if self._at >= len(self._tokens) or self._tokens[self._at] == ",":
            raise self.refuse(f"{what} must follow {self._before()!r}")
        found = self._tokens[self._at]
        self._at += 1
        return found[1:-1] if found[0] in "\"'" and len(found) > 1 else found

    def number(self, what: str) -> float:
        """Read a finite number."""
        word = self.name(what)
        try:
            found = float(word.replace("_", ""))
        except ValueError:
            found = math.nan
        if not math.isfinite(found) or abs(found) > 1e300:
            raise self.refuse(f"{what} must be a finite number, got {word!r}")
        return found

    def integer(self, what: str, low: int, high: int) -> int:
        """Read an integer from `low` to `high`."""
        found = self.number(what)
        if found != int(found) or not low <= found <= high:
            raise self.refuse(f"{what} must be an integer from {low:,} to {high:,}, got {found:g}")
        return int(found)

    def peek_number(self) -> bool:
        """Whether a number comes next."""
        try:
            float(self._tokens[self._at])
        except (IndexError, ValueError):
            return False
        return True

    def end(self) -> None:
        """Refuse further words."""
        if self._at < len(self._tokens):
            raise self.refuse(f"{self._tokens[self._at]!r} is not understood there")

    def refuse(self, why: str) -> ValueError:
        """The error for a sentence that cannot be read."""
        forms = "; ".join(FORMS)
        return ValueError(
            f"{self.text!r}: {why}; names with blanks need quotation marks. A query is one of: {forms}"
        )

    def _before(self) -> str:
        return " ".join(self._tokens[: self._at])


def _read(words: _Words) -> Query:
    if words.take("count", "by"):
        return _read_categories(words)
    if words.take("count"):
        people = words.take("people")
        if not people:
            words.take("rows")
        return Query(kind="count", people=people)
    if words.take("missing", "in"):
        return Query(
            kind="missing", columns=(words.name("a column"),), ranges=(Range(low=0, high=1),)
        )
    if words.take("correlation", "of"):
        return _read_correlation(words)
    if words.take("quantiles") or words.take("quantile"):
        return _read_quantiles(words)
    if words.take("median", "of"):
        return replace(_over_range(words, "quantiles"), points=(0.5,))
    if words.take("range", "of"):
        return replace(_over_range(words, "quantiles"), points=(TAIL, 1 - TAIL))
    if words.take("sum", "of"):
        return _over_range(words, "sum")
    if words.take("mean", "of"):
        return _over_range(words, "mean")
    if words.take("histogram", "of"):
        return _read_histogram(words)
    if words.take("frequent"):
        return _read_values(words, "frequent")
    if words.take("distinct"):
        return _read_values(words, "distinct")
    raise words.refuse("the sentence begins with no known query")


def _read_categories(words: _Words) -> Query:
    column = words.name("a column")
    if not words.take("among"):
        return Query(kind="frequent", columns=(column,), most=_read_most(words))
    values = [words.name("a value")]
    while words.take(","):
        values.append(words.name("a value"))
    if len(set(values)) < len(values) or len(values) > MOST_STATED:
        raise words.refuse(f"values must differ and be at most {MOST_STATED:,}")
    return Query(kind="categories", columns=(column,), values=tuple(values))


def _read_histogram(words: _Words) -> Query:
    found = _over_range(words, "histogram")
    if words.take("in"):
        found = replace(found, bins=words.integer("the number of bins", 1, MOST_BINS))
        words.need("bins")
    return found


def _read_values(words: _Words, kind: Literal["frequent", "distinct"]) -> Query:
    source: Source = "words" if words.take("words") else "values"
    if source == "values":
        words.need("values")
    words.need("of")
    column = words.name("a column")
    if kind == "frequent":
        return Query(kind=kind, columns=(column,), source=source, most=_read_most(words))
    words.need("above")
    above = words.number("the threshold")
    if above < 1:
        raise words.refuse(f"the threshold must be at least 1, got {above:g}")
    return Query(
        kind=kind,
        columns=(column,),
        source=source,
        above=above,
        most=_read_most(words, MOST_VALUES),
    )


def _read_most(words: _Words, default: int = _DEFAULT_VALUES) -> int:
    if not words.take("at", "most"):
        return default
    return words.integer("the number of values", 1, MOST_VALUES)


def _read_quantiles(words: _Words) -> Query:
    points = list[float]()
    while words.peek_number():
        points.append(words.number("a probability"))
        words.take(",")
    if not points or not all(0 < point < 1 for point in points) or len(points) > 99:
        raise words.refuse("quantiles must be 1 to 99 numbers between 0 and 1")
    words.need("of")
    return replace(_over_range(words, "quantiles"), points=tuple(points))


def _read_correlation(words: _Words) -> Query:
    first = _over_range(words, "correlation")
    words.need("and")
    second = _over_range(words, "correlation")
    if first.columns == second.columns:
        raise words.refuse("the two columns must differ")
    return replace(
        first, columns=first.columns + second.columns, ranges=first.ranges + second.ranges
    )


def _over_range(
    words: _Words, kind: Literal["sum", "mean", "histogram", "quantiles", "correlation"]
) -> Query:
    """A query about a column of numbers, with the range if the sentence states one."""
    column, stated = words.name("a column"), None
    if words.take("from"):
        low = words.number("the lower end")
        words.need("to")
        stated = Range(low=low, high=words.number("the upper end"))
        if not stated.low < stated.high:
            raise words.refuse(
                f"the upper end must be above the lower one, got {low:g} and {stated.high:g}"
            )
        if stated.high / 2 - low / 2 < _LEAST_WIDTH:
            raise words.refuse(f"the range must be wider than {_LEAST_WIDTH:g}")
    return Query(kind=kind, columns=(column,), ranges=(stated,))
