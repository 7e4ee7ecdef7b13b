"""policy.toml: what a data owner allows. Everything else is forbidden."""

from __future__ import annotations

import json
import tomllib
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tacit.column_statistics.common_values import LEAST_CLIENTS
from tacit.errors import PlanError, did_you_mean
from tacit.extensions import Reference
from tacit.plan.codec import Codec
from tacit.plan.kinds import OWN, STRICT, Count, Name, list_fields, tables_in
from tacit.plan.tables.model import Model
from tacit.plan.toml import tree_of

ANY = "*"
STATISTICS = "statistics"
"""What a policy calls a plan with queries, among the models."""
"""Entry of a list of [allow] that allows everything of its kind."""

CleartextKind = Literal[
    "clients",
    "rows",
    "classes",
    "ranges",
    "exact_ranges",
    "formats",
    "categories",
    "words",
    "measures",
    "class_counts",
]
"""Facts that may be sent in the clear: the number of clients of a site, the number of rows of each,
the names of classes, rounded ends of numeric columns (or with `exact_ranges` their smallest and
largest values), which of them have missing numbers and how numbers are written, the categories of
columns, the words of texts, and exact counts of held-out rows that a model gets right (`[measures]`
with `counts = "exact"`), and how many rows of all sites together are alike in each equivalence class
(`data.share.counts = "global"`). `limits.min_clients_per_value` applies to all but the last.
"""

EpsilonLimit = Annotated[float, Gt(0), Le(1e12)]
"""An epsilon whose millionths fit into a ledger."""
PlanHash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
SchemaHash = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64}|\*)$")]


def _check_pin(text: str) -> Reference:
    found = Reference(text)
    if not found.sha256:
        raise ValueError(
            "must end in @sha256: and the SHA-256 of its file, as `tacit site policy check` prints it"
        )
    return found


PinnedCode = Annotated[str, AfterValidator(_check_pin)]
"""A reference to code pinned to the hash of its file."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Plans:
    """Plans that may run here."""

    hashes: tuple[PlanHash, ...] | None = None
    """Only plans with these hashes, which `tacit site policy check` prints. The rules of the other
    tables apply to them too.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Allow:
    """What a plan may contain. A list that is left out allows nothing, `["*"]` allows all."""

    models: tuple[Name, ...] = ()
    """Names of models as in a plan; for a model in `user_code`, its `package.module:name`.
    `statistics` allows queries, which train none.
    """
    codecs: tuple[Name, ...] = ()
    """Names of codecs as in a plan; for a codec in `user_code`, its `package.module:name`."""
    files: tuple[Name, ...] = ()
    """Files and folders that a plan may name besides the data, such as a word list or a checkpoint.
    """
    disclosures: tuple[CleartextKind, ...] = ()
    """Facts that may be sent in the clear, before or during training."""
    baselines: tuple[Literal["central", "fedavg", "noiseless", "same_features"], ...] = ()
    """Baselines without protection that may be trained as well. Only simulations train baselines.
    """
    schemas: tuple[SchemaHash, ...] = ()
    """Hashes of schemas (`[schema]`) that may be applied to the rows, as `tacit site check` prints
    them. The owner accepts each, since the server chooses which values fit.
    """
    user_code: tuple[PinnedCode, ...] = ()
    """Python code that plans may name and that then runs here, as `package.module:name@sha256:…`
    with the SHA-256 of its file.
    """
    votes: bool = False
    """Clients may vote on each other's updates (`[filter]`)."""
    negotiation: bool = False
    """Sites may agree on a secret before round one (`[negotiation]`), and on a range that covers
    the values all of them would send. Every site of the run knows both; the server knows neither.
    """
    trust_server: bool = False
    """The guarantee may rely on trusting the server: to add noise to sums, or to see only sums.
    Not needed with `[secure_aggregation]`, which relies on its helpers.
    """
    simulation_noise: bool = False
    """Noise may come from a known seed, to compare with a simulation. Anybody who knows the seed
    can remove the noise.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ColumnRoles:
    """Columns that a plan may use, by role. A role that is left out allows no column, `["*"]`
    allows every column.

    The client column and the quasi-identifiers are in `site.toml`.
    """

    label: tuple[Name, ...] = ()
    """Columns that a plan may predict. The names of their classes are sent in the clear."""
    text: tuple[Name, ...] = ()
    """Columns that a plan may read as text."""
    numeric: tuple[Name, ...] = ()
    """Columns that a plan may read as numbers. Their ends are sent in the clear, unless the plan
    states them in `features.ranges`.
    """
    categorical: tuple[Name, ...] = ()
    """Columns that a plan may read as categories. The names of the categories are sent in the
    clear.
    """
    image: tuple[Name, ...] = ()
    """Columns that a plan may read as images."""
    split: tuple[Name, ...] = ()
    """Columns that may separate training rows from test rows."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Limits:
    """Limits per client. A client is a person, a device, a patient: the one whom the rows are
    about.
    """

    max_epsilon_per_update: EpsilonLimit | None = None
    """Largest epsilon of one response. Without it, only the limits per run and lifetime apply."""
    max_epsilon_per_run: EpsilonLimit | None = None
    """Largest total epsilon of all responses of a run, at `delta`. Left out: 0."""
    max_epsilon_lifetime: EpsilonLimit | None = None
    """Largest total epsilon of all runs. Epsilons of runs add up, and so do their deltas. Left out:
    0.
    """
    delta: Annotated[float, Gt(0), Lt(0.5)] = 1e-5
    """Largest delta per run: the probability with which the epsilon of a run may be exceeded."""
    no_epsilon: bool = False
    """Responses may be sent for which no epsilon per client exists, such as those of `plain`."""
    max_rounds_per_run: Count = 100
    """Rounds of one run."""
    max_rounds_per_day: Count = 200
    """Rounds of all runs in one day (UTC)."""
    min_cohort: Count = 10
    """Smallest cohort of a round. The server reports its size and may lie, so no guarantee may rely
    on it, except under `[secure_aggregation]`: there only clients of sites whose keys the owner
    knows count, and helpers add up no smaller set.
    """
    min_noise_share: Annotated[float, Ge(0), Le(1)] = 0.0
    """Where the clients of all sites add the noise together (`onebit`, `skellam`): the smallest
    share that this site's own clients must add. A site that claims more clients than it has removes
    at most the rest.
    """
    max_message_bytes: Count = 256_000_000
    """Bytes of one message, in either direction."""
    max_test_share: Annotated[float, Ge(0), Lt(1)] = 0.3
    """Largest share of the rows that plans may hold out. A row that was held out once is never
    trained on.
    """
    max_parameters: Count = 50_000_000
    """Parameters of the model. Checked before memory is allocated."""
    max_local_steps: Count = 100_000
    """Optimiser steps of one client in one round. Checked before the first step."""
    max_minutes_per_round: Annotated[float, Gt(0), Le(100_000)] = 120.0
    """Minutes of training on this machine per request. A longer round is stopped between two
    clients, and no response is sent.
    """
    min_clients_per_value: Count = LEAST_CLIENTS
    """A class, a category or the end of a range is sent only if at least this many clients have it,
    and a site with fewer training clients takes part in nothing. Where the whole site is one
    client, rows are counted.
    """
    max_values_per_column: Count = 100
    """Most classes, and most categories of one column, that are sent; a column with more cannot be
    used that way.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Measures:
    """How this site reports the accuracy of a model on held-out rows. It never sends a loss, only
    two counts.
    """

    counts: Literal["off", "noisy", "exact"] = "noisy"
    """`noisy`: with noise; every client with counted rows is charged. `exact`: in the clear, which
    needs `measures` among `disclosures`. `off`: no counts; a run continues without them.
    """
    epsilon: EpsilonLimit = 0.5
    """`noisy`: epsilon per client and run of all evaluations together, at `limits.delta`. It counts
    against the limits.
    """
    rows_per_client: Count = 1
    """`noisy`: the most held-out rows of a client that are counted. The noise grows in proportion
    to it.
    """
    min_rows: Count = 100
    """Fewest counted rows for which counts are sent."""
    min_clients: Count = 20
    """Fewest clients with counted rows for which counts are sent."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SharePolicy:
    """Limits on released rows, over all runs together. Without this table no row is released.

    Quasi-identifiers are set in `site.toml`, never by the plan alone.
    """

    columns: tuple[Name, ...] = ()
    """Columns that may be released, including the label. A column that is not a quasi-identifier is
    released only if at least `min_k` clients have each of its values.
    """
    exact: tuple[Name, ...] = ()
    """Of these, columns that are released whatever their values are, even values that a single
    person has.
    """
    generalise: dict[Name, tuple[Name, ...]] = field(default_factory=dict)
    """Generalisation of each column: rules as in a plan's `data.share.generalise`, of which a plan
    uses one. A column that is not named is released without generalisation. Any column may be left
    out (`suppress`). If plans could choose the rule freely, a refusal would reveal whether somebody
    has a value; so plans with another rule are refused before a row is read.
    """
    min_k: Annotated[int, Ge(1)] = 50
    """Fewest clients in a group of rows that are equal in everything released in all runs. Where
    the whole site is one client, rows are counted.
    """
    min_l: Annotated[int, Ge(1)] = 2
    """Fewest different labels in such a group."""
    max_share: Annotated[float, Ge(0), Le(1)] = 0.5
    """Largest share of the rows that may be released, in all runs together."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Policy:
    """A data owner's policy, read from one TOML file."""

    approve: Literal["automatic", "ask"] = "automatic"
    """`automatic`: what the other rules allow may run. `ask`: the owner approves each run as well,
    with `tacit site approve`, before a row is read for it.
    """
    plans: Plans = field(default_factory=Plans)
    allow: Allow = field(default_factory=Allow)
    columns: ColumnRoles = field(default_factory=ColumnRoles)
    limits: Limits = field(default_factory=Limits)
    measures: Measures = field(default_factory=Measures)
    share: SharePolicy | None = None


def load_policy(path: Path) -> Policy:
    """Read a policy file; raise a PlanError that names every problem, since a policy that is only
    half understood protects nobody.
    """
    try:
        return parse_policy(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise PlanError(
            f"{path} cannot be read ({error.strerror}); without a policy nothing is allowed; write"
            " one with `tacit site policy init`"
        ) from None
    except UnicodeDecodeError as error:
        raise PlanError(
            f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None


def parse_policy(text: str, where: str = "policy") -> Policy:
    """Parse a policy from TOML; raise a PlanError that names every problem."""
    try:
        policy: Policy = TypeAdapter(Policy).validate_json(json.dumps(tree_of(text), default=str))
    except ValidationError as error:
        raise _build_error(where, [_explain(problem) for problem in error.errors()]) from None
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise PlanError(f"{where} is not valid TOML: {error}") from None
    found = [
        *_find_unknown("models", policy.allow.models, Model, STATISTICS),
        *_find_unknown("codecs", policy.allow.codecs, Codec),
    ]
    if found:
        raise _build_error(where, found)
    return policy


def _build_error(where: str, found: list[str]) -> PlanError:
    return PlanError(
        "\n".join([f"{where}: not a valid policy", *(f"  {problem}" for problem in found)])
    )


def _find_unknown(key: str, names: tuple[str, ...], kinds: Any, *others: str) -> list[str]:
    """List names that no plan could use, so that typing errors are reported at once."""
    known = [*(name for name in tables_in(kinds) if name != OWN), *others]
    own = f", your own as {OWN}" if OWN in tables_in(kinds) else ""
    return [
        f"allow.{key} must be among {', '.join(known)}{own}, or '{ANY}'; got"
        f" {name!r}.{did_you_mean(name, known)}"
        for name in names
        if name not in (*known, ANY) and not (own and ":" in name)
    ]


def _explain(problem: Any) -> str:
    place = [str(part) for part in problem["loc"]]
    key, word = ".".join(place), place[-1]
    if problem["type"] == "unexpected_keyword_argument":
        known = _list_keys(place[:-1])
        if key == "allow.columns":
            return (
                "allow.columns: unknown key; list columns by role in a [columns] table: label,"
                " text, numeric, …"
            )
        return f"{key}: unknown key; known keys are {', '.join(known)}.{did_you_mean(word, known)}"
    if problem["type"] == "dataclass_type":
        return (
            f"{key} must be a table, got {problem['input']!r}; write [{key}] and its keys below it"
        )
    if problem["type"] == "literal_error":
        known = [
            name.strip("'")
            for name in str(problem["ctx"]["expected"]).replace(" or ", ", ").split(", ")
        ]
        return (
            f"{key} must be one of {', '.join(known)}; got"
            f" {problem['input']!r}.{did_you_mean(str(problem['input']), known)}"
        )
    if problem["type"] == "string_pattern_mismatch":
        return (
            f"{key} must be 64 hexadecimal digits, as `tacit site policy check` prints them; got"
            f" {problem['input']!r}"
        )
    if problem["type"] == "value_error":
        return f"{key}: {problem['ctx']['error']}; got {problem['input']!r}"
    return f"{key}: {problem['msg'][0].lower()}{problem['msg'][1:]}; got {problem['input']!r}"


def _list_keys(place: list[str]) -> list[str]:
    """Keys of a table of the policy."""
    tables = tables_in(list_fields(Policy)[place[0]].annotation) if place else {"": Policy}
    return list(list_fields(tables[""]))
