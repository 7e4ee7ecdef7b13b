"""Checks that sites report comparable rows: one picture size, the same columns, and values that
seem to mean the same. The error names the sites that differ.

A plan with a `[schema]` states what values mean, so its sites report none, and nothing is guessed
here.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from tacit.column_statistics.common_values import MISSING
from tacit.deployment.bodies import StatisticsBody
from tacit.errors import RunError

_MOST_TIMES = 50
"""Ranges of one column that differ by a larger factor have different units."""
_YES_NO = ("true false", "yes no", "1 0", "t f", "y n", "ja nein", "oui non", "si no", "sí no")
"""Spellings of a boolean."""


class _Aspect(NamedTuple):
    """Something that must be equal at all sites: how it is described, and what to do if it differs."""

    describe: Callable[[StatisticsBody], str]
    remedy: str


_ASPECTS = (
    _Aspect(lambda seen: _pictures(seen.pixels), "scale the pictures to one size"),
    _Aspect(
        lambda seen: (
            f"a text encoder with the hash {seen.encoder}" if seen.encoder else "no encoder"
        ),
        "use the same files of features.encoder",
    ),
    _Aspect(
        lambda seen: _columns("a range of numbers", seen.ranges), "check the columns of its file"
    ),
    _Aspect(lambda seen: _columns("categories", seen.categories), "check the columns of its file"),
)


def check_sites_agree(plan: str, seen: Mapping[str, StatisticsBody]) -> None:
    """Raise RunError naming the sites that differ from most others, and in what; also if values seem
    to be coded differently.
    """
    for aspect in _ASPECTS:
        said = {site: aspect.describe(one) for site, one in seen.items()}
        counts = Counter(said.values())
        if len(counts) < 2:
            continue
        (usual, most), (_, second) = counts.most_common(2)
        if most == second:
            told = "; ".join(f"site {site!r} has {what}" for site, what in sorted(said.items()))
            raise RunError(
                f"{plan}: sites differ: {told}; {aspect.remedy}, or revoke a site, and start the"
                " plan anew"
            )
        told = "; ".join(
            f"site {site!r} has {what}" for site, what in sorted(said.items()) if what != usual
        )
        raise RunError(
            f"{plan}: {told}; the other sites have {usual}; {aspect.remedy}, or revoke the site,"
            " and start the plan anew"
        )

    found = next(_find_codings(seen), None)
    if found is not None:
        raise RunError(
            f"{plan}: {found}; state what the column holds in [schema] of the plan, so that sites"
            " map their values or are refused, and start the plan anew"
        )


def _find_codings(seen: Mapping[str, StatisticsBody]) -> Iterator[str]:
    """Sentences about columns whose values seem to be coded differently at some sites."""
    yield from _compare_names("the label", {site: one.classes for site, one in seen.items()}, True)
    first = next(iter(seen.values()), None)
    for name in sorted(first.categories) if first else ():
        known = {site: one.categories.get(name, []) for site, one in seen.items()}
        yield from _compare_names(repr(name[:80]), known, False)
    for name in sorted(first.ranges) if first else ():
        yield from _compare_ranges(
            name, {site: one.ranges[name] for site, one in seen.items() if name in one.ranges}
        )


def _compare_names(what: str, known: Mapping[str, Sequence[str]], is_label: bool) -> Iterator[str]:
    """Sentences about two sites with different names for the same values: spelled differently,
    booleans in other words, or as many classes of which none is common.
    """
    for (one, own), (other, others) in combinations(sorted(known.items()), 2):
        left, right = ({*names} - {MISSING} for names in (own, others))
        if _are_spelled_apart(left, right) or (
            len(left) == len(right) > 1
            and not left & right
            and (is_label or (_are_booleans(left) and _are_booleans(right)))
        ):
            yield (
                f"values of {what} differ between sites: site {one!r} has {_list_some(left)}, site"
                f" {other!r} has {_list_some(right)}"
            )


def _are_spelled_apart(left: set[str], right: set[str]) -> bool:
    """Whether a value of one site is a value of the other in another spelling, such as 1 and 1.0,
    and neither site has both spellings.
    """
    plain = {_fold(name): name for name in left - right}
    return any(
        name not in left and plain.get(_fold(name), name) not in (right | {name}) for name in right
    )


def _fold(name: str) -> str | float:
    """A value without case, width, accents' form and the writing of numbers."""
    text = unicodedata.normalize("NFKC", name).casefold().strip()
    try:
        return float(text)
    except ValueError:
        return text


def _are_booleans(names: set[str]) -> bool:
    return {str(name).casefold() for name in names} in [{*pair.split()} for pair in _YES_NO]


def _compare_ranges(name: str, ranges: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """A sentence about the two sites whose ranges differ most, if their units seem to differ."""
    sizes = {site: max(map(abs, ends)) for site, ends in ranges.items() if any(ends)}
    if not sizes:
        return
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[most] / _MOST_TIMES > sizes[least]:
        told = " and ".join(
            f"{ranges[site][0]:g} to {ranges[site][1]:g} at site {site!r}" for site in (least, most)
        )
        yield f"units of {name[:80]!r} seem to differ: it is {told}"


def _list_some(names: set[str]) -> str:
    return ", ".join(repr(name[:80]) for name in sorted(names)[:5]) + (
        ", …" if len(names) > 5 else ""
    )


def _pictures(pixels: int | None) -> str:
    return "no pictures" if pixels is None else f"pictures of {pixels:,} values"


def _columns(what: str, names: Mapping[str, object]) -> str:
    listed = ", ".join(repr(name[:80]) for name in sorted(names)[:10]) + (
        ", …" if len(names) > 10 else ""
    )
    return f"{what} for {len(names)} columns ({listed})" if names else f"{what} for no column"
