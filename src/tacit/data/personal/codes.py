"""Columns of identifiers without a shape of their own: customer numbers, random tokens, user names.

Nothing here is certain: an article number has the same form. Such a column is left out and
suggested as the owner of rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tacit.data.personal.names import GIVEN

_FEWEST, _LONGEST = 10, 40
_SAME_FORM, _MOST = 0.9, 0.7
_RUN = re.compile(r"\d{4,}")
_RANGE = re.compile(r"\d+ ?[\-–/] ?\d+|\d+(\.\d+){2,}")
_YEAR = re.compile(r"(19|20)\d{2}")
_HANDLE = re.compile(r"[^\W\d_]+[._\-]?[\w.\-]*")
_INITIAL = re.compile(r"[^\W\d_]\.[^\W\d_]{3,}\d*")


def are_codes(values: Sequence[str]) -> bool:
    """Whether distinct values are ids: all of one form around a long number, or random tokens of
    one length.
    """
    if len(values) < _FEWEST or max(map(len, values)) > _LONGEST:
        return False
    return _have_serial_numbers(values) or _are_random_tokens(values)


def _have_serial_numbers(values: Sequence[str]) -> bool:
    """Whether all values contain a number of four or more digits in the same form, other than
    years, ranges, versions, round numbers or amounts with a unit.
    """
    form, count = Counter(_describe_form(value) for value in values).most_common(1)[0]
    if count < _SAME_FORM * len(values) or _RUN.search(form) is None or _RANGE.fullmatch(form):
        return False
    runs = [found[-1] for value in values if (found := _RUN.findall(value))]
    years = sum(_YEAR.fullmatch(run) is not None for run in runs)
    rounded = sum(run.endswith("00") for run in runs)
    units = len({value.lstrip("0123456789.,") for value in values}) == 1
    return max(years, rounded) < len(runs) / 2 and not units


def _are_random_tokens(values: Sequence[str]) -> bool:
    """Whether values mix letters and digits in any order, as shortened hashes do."""
    if (
        len({len(value) for value in values}) > 1
        or len(values[0]) < 6
        or not all(value.isalnum() for value in values)
    ):
        return False
    mixed = sum(any(map(str.isdigit, value)) and any(map(str.isalpha, value)) for value in values)
    return (
        mixed >= _MOST * len(values)
        and len({_describe_form(value) for value in values}) >= len(values) / 2
    )


def _describe_form(value: str) -> str:
    return "".join(
        "9" if letter.isdigit() else "a" if letter.isalpha() else letter for letter in value
    )


def are_id_numbers(numbers: Sequence[int]) -> bool:
    """Whether distinct integers look like ids, not measurements: equally many digits, scattered,
    not rounded.

    Measurements from such a wide range would hardly repeat; the caller has checked that they do.
    """
    if len(numbers) < _FEWEST or min(numbers) < 1000:
        return False
    digits = Counter(len(str(number)) for number in numbers)
    rounded = sum(number % 10 == 0 for number in numbers)
    same = digits.most_common(1)[0][1] >= 0.8 * len(numbers)
    return (
        same and rounded < 0.3 * len(numbers) and max(numbers) - min(numbers) >= 20 * len(numbers)
    )


def are_handles(values: Sequence[str]) -> bool:
    """Whether values are names of accounts: one lower-case word each, with a given name, or an
    initial before a dot.

    Where most have digits, a quarter with a known name is enough; words with dots alone may be
    names of events or settings.
    """
    if len(values) < 5:
        return False
    able = [value for value in values if _HANDLE.fullmatch(value) and value == value.lower()]
    numbered = sum(any(map(str.isdigit, value)) for value in able) >= len(values) / 2
    dotted = sum("." in value for value in able) >= len(values) / 2
    named = sum(_begins_with_a_name(value) for value in able) / len(values)
    return (
        len(able) >= 0.8 * len(values)
        and (numbered or dotted)
        and named >= (0.25 if numbered else 0.6)
    )


def _begins_with_a_name(value: str) -> bool:
    if _INITIAL.fullmatch(value):
        return True
    first = re.split(r"[\d._\-]", value)[0]
    return (first in GIVEN and len(first) >= 4) or any(
        first[:size] in GIVEN for size in range(5, len(first))
    )
