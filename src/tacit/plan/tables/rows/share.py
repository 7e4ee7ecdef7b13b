"""[data.share]: which rows a client discloses to the server, and in what form."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Literal, assert_never, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.extensions import Reference
from tacit.plan.kinds import STRICT, Count, Name, Needs, OrOwn, Setting

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

SUPPRESS = "suppress"
SharingRule = Literal["k_anonymity", "label_k", "distinct_l", "entropy_l"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RowSharing:
    """Which rows a client discloses to the server, and in what form. Without this table no row
    leaves a client.
    """

    rule: Annotated[
        SharingRule | Reference, OrOwn("sharing_rules", get_args(SharingRule).__contains__)
    ] = "k_anonymity"
    """Condition for disclosing the rows of an equivalence class. `k_anonymity`: enough rows with
    equal quasi-identifiers. `label_k`: enough such rows with the same label (the paper calls it
    l-diversity, which it is not). `distinct_l`: also enough distinct labels. `entropy_l`: also
    enough entropy of labels. See [rules](concepts/mechanisms/k-anonymity.md). Also a rule of your
    own, such as t-closeness, as `package.module:name` or an entry point of the group
    `tacit.sharing_rules` ([extend.md](guides/extend.md)); `k` applies first.
    """
    rule_settings: dict[Name, Setting] = field(default_factory=dict)
    """A rule of your own: what it takes as keyword arguments."""
    k: Annotated[Count, Needs("the minimum number of rows of an equivalence class")]
    """Minimum number of rows of an equivalence class."""
    k_column: Name | None = None
    """A column with the number that each client asks for instead of `k`: the greatest one among the
    client's rows. It applies to the client's own rows only, and cannot be less than `k`. The column
    itself does not leave the client.
    """
    l: Annotated[float, Ge(1)] | None = None  # noqa: E741 (the literature's name for it)
    """`distinct_l`: minimum number of distinct labels of a class. `entropy_l`: their entropy must
    be at least ln(l).
    """
    k_of: Literal["rows", "other_rows"] = "rows"
    """What `k` counts: all rows of a class, as k-anonymity is defined; or the *other* rows of the
    class, so that a class has at least k + 1 rows, as in the paper's text.
    """
    release: Literal["columns", "whole_row"] = "columns"
    """Which columns define an equivalence class: the quasi-identifiers only, or every disclosed
    column except the label.
    """
    counts: Literal["local", "global", "stable", "with_test"] = "local"
    """How rows are counted: by each client, in its own rows; over all clients, by secure
    aggregation; over all clients with noise, so that the decision does not depend on one row; or,
    as in the paper, over all clients and the test rows.
    """
    epsilon: Annotated[float, Gt(0), Le(20)] | None = None
    """`stable`: privacy loss of the decision, per run, under adding or removing one row."""
    delta: Annotated[float, Gt(1e-12), Lt(1)] | None = None
    """`stable`: its delta."""
    rows_per_client: Count | None = None
    """With `server.weights = "equal"`: assumed number of rows that a client keeps, from which the
    weight of the server's own rows follows. Public, never computed from data.
    """
    server_steps: Literal["all_rows", "as_client"] = "all_rows"
    """How long the server trains on disclosed rows in a round: with batches of `local.batch` over all
    of them, or with as many optimiser steps as a client with the average number of rows takes, in
    larger batches.
    """
    generalise: dict[Name, Name] = field(default_factory=dict)
    """Generalisation before disclosure, by column: `ranges 10`, `top 60`, `prefix 3`, `csv FILE
    LEVEL`, `suppress`.
    """

    @property
    def rows_alike(self) -> int:
        """Minimum number of rows of an equivalence class."""
        return self.k + self.other_rows

    @property
    def other_rows(self) -> int:
        """1 where `k` counts the other rows of a class, else 0."""
        match self.k_of:
            case "rows":
                return 0
            case "other_rows":
                return 1
            case _:
                assert_never(self.k_of)

    @property
    def own_rule(self) -> Reference | None:
        """The user-defined rule, if the plan names one."""
        return self.rule if isinstance(self.rule, Reference) else None

    @property
    def counts_labels(self) -> bool:
        """Whether the rule needs the number of rows of each label in a class."""
        return self.own_rule is not None or self.rule in ("distinct_l", "entropy_l")

    @property
    def rule_name(self) -> str:
        """The rule as a plan names it, without the hash of its code."""
        return self.own_rule.path if self.own_rule else self.rule


def problems(plan: Plan) -> list[str]:
    """List settings that contradict [data.share], one sentence each."""
    share = plan.data.share
    if share is None:
        return []
    found = [*_thresholds(share), *_decision(share), *_surroundings(plan, share)]
    if plan.data.columns.label in share.generalise:
        found.append(
            f"data.share.generalise.{plan.data.columns.label} is the label, which is disclosed"
            " unchanged; remove it"
        )
    for column, rule in share.generalise.items():
        wrong = rule_problem(rule)
        if wrong:
            found.append(f"data.share.generalise.{column} {wrong}, got {rule!r}")
    return found


def rule_problem(rule: str) -> str | None:
    """What is wrong with a generalisation rule, if anything."""
    way, _, rest = rule.strip().partition(" ")
    words = rest.split()
    if way == SUPPRESS and not words:
        return None
    if way in ("ranges", "top") and len(words) == 1 and _is_number(words[0]):
        return None if way == "top" or float(words[0]) > 0 else "must have a width above 0"
    if way == "prefix" and len(words) == 1 and words[0].isdigit():
        return None
    if way == "csv" and len(words) >= 2 and words[-1].isdigit():
        return None
    return (
        "must be one of 'ranges WIDTH', 'top LARGEST', 'prefix CHARACTERS', 'csv FILE LEVEL',"
        " 'suppress'"
    )


def _is_number(word: str) -> bool:
    try:
        return abs(float(word)) < float("inf")
    except ValueError:
        return False


def _thresholds(share: RowSharing) -> list[str]:
    found = []
    if share.rule in ("distinct_l", "entropy_l"):
        if share.l is None:
            found.append(
                f"data.share.l is required with data.share.rule = {share.rule!r}: a number of at"
                " least 1"
            )
        elif share.rule == "distinct_l" and share.l != int(share.l):
            found.append(
                "data.share.l must be an integer with data.share.rule = 'distinct_l', got"
                f" {share.l:g}"
            )
    elif share.l is not None:
        found.append(
            f"data.share.l cannot be used with data.share.rule = {share.rule_name!r}; remove it, or"
            " use distinct_l or entropy_l"
        )
    if share.rule_settings and share.own_rule is None:
        found.append(
            f"data.share.rule_settings cannot be used with data.share.rule = {share.rule!r}; name a"
            " rule of your own, or remove it"
        )
    return found


def _decision(share: RowSharing) -> list[str]:
    if share.counts != "stable":
        return [
            f"data.share.{key} cannot be used with data.share.counts = {share.counts!r}; use"
            " 'stable' or remove it"
            for key in ("epsilon", "delta")
            if getattr(share, key) is not None
        ]
    found = [
        f"data.share.{key} is required with data.share.counts = 'stable': a value (per decision)"
        for key in ("epsilon", "delta")
        if getattr(share, key) is None
    ]
    if share.counts_labels:
        found.append(
            "data.share.rule must be 'k_anonymity' or 'label_k' with data.share.counts = 'stable',"
            f" which hides counts but not which labels occur; got {share.rule_name!r}"
        )
    if share.k_column is not None:
        found.append(
            "data.share.k_column cannot be used with data.share.counts = 'stable', which decides"
            " for all clients at once; remove it, or use 'local' or 'global'"
        )
    return found


def _surroundings(plan: Plan, share: RowSharing) -> list[str]:
    found = []
    if plan.regime != "federated":
        found.append(
            f"data.share cannot be used with regime = {plan.regime!r}, which averages nothing;"
            " remove one of them"
        )
    equal = plan.server.weights == "equal"
    if equal != (share.rows_per_client is not None):
        found.append(
            "data.share.rows_per_client is required with server.weights = 'equal', and only then;"
            f" got {share.rows_per_client} with server.weights = {plan.server.weights!r}"
        )
    roles = plan.data.columns
    if share.k_column is not None and share.k_column in (
        *(roles.text + roles.numeric + roles.categorical + roles.quasi),
        *(roles.label, roles.image, roles.client, roles.split),
    ):
        found.append(
            f"data.share.k_column = {share.k_column!r} has another role in data.columns; give the"
            " number that a client asks for a column of its own"
        )
    if share.release == "whole_row" and plan.data.columns.image:
        found.append(
            "data.share.release must be 'columns' for images, since no two images are equal; got"
            " 'whole_row'"
        )
    return found
