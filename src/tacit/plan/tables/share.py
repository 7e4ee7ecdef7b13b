"""[data.share]: which rows a client hands to the server, and in what form."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Literal, assert_never

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Name, Needs

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

SUPPRESS = "suppress"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Sharing:
    """Which rows a client hands to the server, and in what form. Without this table no row leaves
    anybody.
    """

    rule: Literal["k_anonymity", "label_k", "distinct_l", "entropy_l"] = "k_anonymity"
    """When rows may be shared: enough rows alike in the quasi-identifiers; the same among rows of
    one label (the paper's "l-diversity", which it is not); with enough different labels; with
    labels mixed enough. See [PartFed](partfed.md).
    """
    k: Annotated[Count, Needs("how many rows must look alike before they may be shared")]
    """How many rows must look alike."""
    l: Annotated[float, Ge(1)] | None = None  # noqa: E741 (the literature's name for it)
    """`distinct_l`: how many different labels a class needs. `entropy_l`: their entropy must reach
    ln(l).
    """
    k_of: Literal["rows", "other_rows"] = "rows"
    """What `k` counts: all rows that look alike, the row itself among them, as k-anonymity is
    defined; or the *other* rows alike, so that a class needs k + 1, as the paper's text has it.
    """
    release: Literal["columns", "whole_row"] = "columns"
    """Where rows must look alike: in the quasi-identifiers only, or in every released column but
    the label.
    """
    counts: Literal["local", "global", "stable", "with_test"] = "local"
    """Who counts: each client its own rows; all together, by a secure sum; all together with noise,
    so that the decision does not hang on one row; or, as the paper did, all together with the test
    rows.
    """
    epsilon: Annotated[float, Gt(0), Le(20)] | None = None
    """`stable`: what the decision may cost, per run and under adding or removing one row."""
    delta: Annotated[float, Gt(1e-12), Lt(1)] | None = None
    """`stable`: its delta."""
    rows_per_client: Count | None = None
    """With `server.weights = "equal"`: how many rows a client is taken to keep, so that the server
    can count by its own rows beside clients that all count alike. Public, never computed from data.
    """
    generalise: dict[Name, Name] = field(default_factory=dict)
    """Coarser values before sharing, by column: `ranges 10`, `top 60`, `prefix 3`, `csv FILE
    LEVEL`, `suppress`.
    """

    @property
    def rows_alike(self) -> int:
        """Return how many rows a class needs before they may be shared."""
        match self.k_of:
            case "rows":
                return self.k
            case "other_rows":
                return self.k + 1
            case _:
                assert_never(self.k_of)


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each way in which sharing rows has no meaning here."""
    share = plan.data.share
    if share is None:
        return []
    found = [*_thresholds(share), *_decision(share), *_surroundings(plan, share)]
    if plan.data.columns.label in share.generalise:
        found.append(
            f"data.share.generalise.{plan.data.columns.label}: is the label, which is shared as it"
            " is; remove it"
        )
    for column, rule in share.generalise.items():
        wrong = rule_problem(rule)
        if wrong:
            found.append(f"data.share.generalise.{column}: {wrong}; got {rule!r}")
    return found


def rule_problem(rule: str) -> str | None:
    """Return what is wrong with a rule for coarser values as it is written, if anything."""
    way, _, rest = rule.strip().partition(" ")
    words = rest.split()
    if way == SUPPRESS and not words:
        return None
    if way in ("ranges", "top") and len(words) == 1 and _is_number(words[0]):
        return None if way == "top" or float(words[0]) > 0 else "needs a width above 0"
    if way == "prefix" and len(words) == 1 and words[0].isdigit():
        return None
    if way == "csv" and len(words) >= 2 and words[-1].isdigit():
        return None
    return (
        "needs one of 'ranges WIDTH', 'top LARGEST', 'prefix CHARACTERS', 'csv FILE LEVEL',"
        " 'suppress'"
    )


def _is_number(word: str) -> bool:
    try:
        return abs(float(word)) < float("inf")
    except ValueError:
        return False


def _thresholds(share: Sharing) -> list[str]:
    found = []
    if share.rule in ("distinct_l", "entropy_l"):
        if share.l is None:
            found.append(
                "data.share.l: needs a value of at least 1, since data.share.rule ="
                f" {share.rule!r}; got nothing"
            )
        elif share.rule == "distinct_l" and share.l != int(share.l):
            found.append(
                "data.share.l: needs a whole number of labels, since data.share.rule ="
                f" 'distinct_l'; got {share.l:g}"
            )
    elif share.l is not None:
        found.append(
            f"data.share.l: has no meaning with data.share.rule = {share.rule!r}; remove it, or use"
            " distinct_l or entropy_l"
        )
    return found


def _decision(share: Sharing) -> list[str]:
    if share.counts != "stable":
        return [
            f"data.share.{key}: has no meaning with data.share.counts = {share.counts!r}; use"
            " 'stable' or remove it"
            for key in ("epsilon", "delta")
            if getattr(share, key) is not None
        ]
    found = [
        f"data.share.{key}: needs a value (per decision), since data.share.counts = 'stable'; got"
        " nothing"
        for key in ("epsilon", "delta")
        if getattr(share, key) is None
    ]
    if share.rule in ("distinct_l", "entropy_l"):
        found.append(
            "data.share.rule: needs 'k_anonymity' or 'label_k', since data.share.counts = 'stable'"
            f" hides counts, not which labels occur; got {share.rule!r}"
        )
    return found


def _surroundings(plan: Plan, share: Sharing) -> list[str]:
    found = []
    if plan.regime != "federated":
        found.append(
            f"data.share: has no meaning with regime = {plan.regime!r}, which averages nothing;"
            " remove one of the two"
        )
    equal = plan.server.weights == "equal"
    if equal != (share.rows_per_client is not None):
        needs = "how many rows a client is taken to keep" if equal else "no value"
        found.append(
            f"data.share.rows_per_client: needs {needs}, since server.weights ="
            f" {plan.server.weights!r} and the server counts by its rows; got"
            f" {share.rows_per_client}"
        )
    if share.release == "whole_row" and plan.data.columns.image:
        found.append(
            "data.share.release: needs 'columns', since no two images are alike as a whole; got"
            " 'whole_row'"
        )
    return found
