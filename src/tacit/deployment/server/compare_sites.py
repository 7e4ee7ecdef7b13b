"""Checks that sites report comparable rows: one picture size, and the same columns. The error names
the sites that differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tacit.deployment.bodies import StatisticsBody
from tacit.errors import RunError


class _Aspect(NamedTuple):
    """Something that must be equal at all sites: how it is described, and what to do if it differs."""

    describe: Callable[[StatisticsBody], str]
    remedy: str


_ASPECTS = (
    _Aspect(lambda seen: _pictures(seen.pixels), "scale the pictures to one size"),
    _Aspect(
        lambda seen: _columns("a range of numbers", seen.ranges), "check the columns of its file"
    ),
    _Aspect(lambda seen: _columns("categories", seen.categories), "check the columns of its file"),
)


def check_sites_agree(plan: str, seen: Mapping[str, StatisticsBody]) -> None:
    """Raise RunError naming the sites that differ from most others, and in what."""
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


def _pictures(pixels: int | None) -> str:
    return "no pictures" if pixels is None else f"pictures of {pixels:,} values"


def _columns(what: str, names: Mapping[str, object]) -> str:
    listed = ", ".join(repr(name[:80]) for name in sorted(names)[:10]) + (
        ", …" if len(names) > 10 else ""
    )
    return f"{what} for {len(names)} columns ({listed})" if names else f"{what} for no column"
