"""[statistics]: queries about the rows, answered with noise, instead of a model."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Name, Positive
from tacit.plan.tables.statistics.query import Query, parse_query

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

Tree = dict[str, Any]
_CODECS = ("dp_sum", "plain")
_MOST_QUERIES = 200


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Statistics:
    """Queries about the rows, answered with noise. A plan with this table trains no model."""

    queries: dict[Name, Name]
    """A sentence for each query, by its name, such as `ages = "mean of age from 0 to
    100"` ([ask.md](guides/ask.md)). All queries together have the epsilon of `[privacy]`.
    """
    rows_per_person: Count = 1
    """Maximum number of rows of each person that count, chosen at random where a person has more.
    Noise grows with it, and people with more rows are answered for only in part.
    """
    words_per_person: Annotated[int, Ge(1), Le(1000)] = 10
    """`frequent words`, `distinct words`: maximum number of different words of each person."""
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    """Probability with which each confidence interval contains the answer without noise."""
    weights: dict[Name, Positive] = field(default_factory=dict)
    """Weights of queries, by name; default: 1. A query of twice the weight has half the noise, and
    the others have a little more.
    """

    def parse(self) -> dict[str, Query]:
        """The queries by name, in the order of the plan."""
        return {name: parse_query(text) for name, text in self.queries.items()}

    @property
    def rounds(self) -> int:
        """Rounds that the queries need."""
        return max(query.rounds for query in self.parse().values())


def fill_in_queries(tree: Tree) -> Tree:
    """The settings of other tables that follow from the queries of a plan; empty without queries."""
    asked = tree.get("statistics")
    sentences = asked.get("queries") if isinstance(asked, dict) else None
    if not isinstance(sentences, dict):
        return {}
    try:
        queries = [parse_query(text) for text in sentences.values()]
    except (ValueError, TypeError, AttributeError):
        return {}  # what is wrong is said where the plan is checked
    roles: dict[str, list[str]] = {"numeric": [], "categorical": [], "text": []}
    for role, names in roles.items():
        used = {name: None for query in queries if query.role == role for name in query.columns}
        taken = {*roles["numeric"], *roles["categorical"]} - {*names}
        names += [name for name in used if name not in taken]
    rounds = max((query.rounds for query in queries), default=1)
    return {
        "data": {
            "test": 0.0,
            "decimal": "point",
            "columns": {role: names for role, names in roles.items() if names},
        },
        "server": {"rounds": rounds, "deliver_to": "nobody"},
    }


def expanded(tree: Tree) -> Tree:
    """A plan's tables with what its queries imply; unchanged without [statistics]."""
    made = dict(tree)
    for name, table in fill_in_queries(tree).items():
        own = made.get(name, {})
        if isinstance(own, dict):
            columns = {**table.get("columns", {}), **_table(own, "columns")}
            made[name] = {**table, **own, **({"columns": columns} if columns else {})}
    return made


def _table(tree: Tree, name: str) -> Tree:
    found = tree.get(name, {})
    return found if isinstance(found, dict) else {}


def problems(plan: Plan) -> list[str]:
    """List queries that cannot be read, and tables that queries cannot use, one sentence each."""
    asked = plan.statistics
    if asked is None:
        return []
    found = list[str]()
    if not asked.queries or len(asked.queries) > _MOST_QUERIES:
        found.append(
            f"statistics.queries must have 1 to {_MOST_QUERIES} queries, got {len(asked.queries)}"
        )
    for name, text in asked.queries.items():
        try:
            parse_query(text)
        except ValueError as error:
            found.append(f"statistics.queries.{name}: {error}")
    found += [
        f"statistics.weights.{name} names no query; name one of statistics.queries"
        for name in asked.weights
        if name not in asked.queries
    ]
    return found or [*_list_misplaced_tables(plan), *_list_unread_columns(plan, asked)]


def _list_misplaced_tables(plan: Plan) -> list[str]:
    """List settings that queries cannot use."""
    rounds = plan.statistics.rounds if plan.statistics else 1
    wrong = {
        f"regime = {plan.regime!r}; use 'federated'": plan.regime != "federated",
        "baselines; remove them": bool(plan.baselines),
        "[filter]; remove it": plan.filter is not None,
        "[public]; remove it": plan.public is not None,
        "[corrupt]; remove it": plan.corrupt is not None,
        "[negotiation]; remove it": plan.negotiation is not None,
        "[data.share]; remove it": plan.data.share is not None,
        "[private]; remove it": plan.personal,
        "audit.canaries; remove it": plan.audit.canaries is not None,
        "[network]; remove it": plan.network is not None,
        "engine.cluster; remove it": plan.engine.cluster is not None,
        "data.columns.label; remove it, and ask about the column": plan.data.columns.label
        is not None,
        "data.columns.image; remove it": plan.data.columns.image is not None,
        f"codec.name = {plan.codec.name!r}; use {' or '.join(map(repr, _CODECS))}": plan.codec.name
        not in _CODECS,
        f"server.cohort = {plan.server.cohort!r}; use 'all'": plan.server.cohort != "all",
        f"server.optimizer = {plan.server.optimizer!r}; use 'sgd'": plan.server.optimizer != "sgd",
        f"server.lr = {plan.server.lr:g}; use 1.0": plan.server.lr != 1.0,
        f"server.weights = {plan.server.weights!r}; use 'equal'": plan.server.weights != "equal",
        "server.rule or server.mix; remove them": plan.server.one_by_one,
        "ledger.participations; remove it": plan.ledger.participations is not None,
        f"server.rounds = {plan.server.rounds}; these queries need {rounds}": plan.server.rounds
        != rounds,
        "codec.clip other than 1; contributions have an L2 norm of at most 1": plan.codec.name
        == "dp_sum"
        and getattr(plan.codec, "clip", 1.0) != 1.0,
        "test rows (data.test, data.local_test, data.validation, data.columns.split); remove them": (
            plan.data.test or plan.data.local_test or plan.data.validation
        )
        > 0
        or plan.data.columns.split is not None,
        "codec.noise = 'banded'; remove it": getattr(plan.codec, "noise", "independent")
        != "independent",
    }
    return [f"[statistics] cannot be used with {what}" for what, there in wrong.items() if there]


def _list_unread_columns(plan: Plan, asked: Statistics) -> list[str]:
    """List columns of queries that have no role in which the query can read them."""
    columns, found = plan.data.columns, list[str]()
    for name, query in asked.parse().items():
        known = {
            "numeric": columns.numeric,
            "categorical": (*columns.categorical, *columns.numeric),
            "text": (*columns.text, *columns.categorical),
        }[query.role]
        found += [
            f"statistics.queries.{name}: column {column!r} must be {query.role} for this query;"
            f" name it in data.columns.{query.role}"
            for column in query.columns
            if column not in known
        ]
    return found
