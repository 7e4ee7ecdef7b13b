"""policy.toml: what a data owner allows. What it does not say is not allowed."""

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
from tacit.plan.kinds import OWN, STRICT, Count, Name, fields_of, tables_in
from tacit.plan.tables.model import Model
from tacit.plan.toml import tree_of

ANY = "*"
"""In a list of [allow]: everything of that kind."""

Tell = Literal[
    "clients",
    "rows",
    "classes",
    "ranges",
    "exact_ranges",
    "formats",
    "categories",
    "words",
    "measures",
]
"""What may be told in the clear: how many clients a site has, how many rows each has, the names of
the classes, rounded ends of numeric columns (or with `exact_ranges` their smallest and largest
values), in which of them numbers are missing and how these are written, the categories in them, the
words of texts, and how many held-out rows a model gets right without noise (`[measures]` with
`counts = "exact"`). `limits.min_clients_per_value` holds for all of it.
"""

EpsilonLimit = Annotated[float, Gt(0), Le(1e12)]
"""An epsilon whose millionths fit into a ledger."""
PlanHash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _check_pin(text: str) -> Reference:
    found = Reference(text)
    if not found.sha256:
        raise ValueError(
            "needs @sha256: and the SHA-256 of its file at its end, as `tacit policy check` prints"
        )
    return found


PinnedCode = Annotated[str, AfterValidator(_check_pin)]
"""A reference to code of one file: other code of that name is not allowed."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Plans:
    """Which plans may run here."""

    hashes: tuple[PlanHash, ...] | None = None
    """Only plans with these hashes, which `tacit policy check` prints. The rules of the other
    tables hold for them too.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Allow:
    """What a plan may be made of. A list that is left out allows nothing, `["*"]` allows all."""

    models: tuple[Name, ...] = ()
    """Names of models as in a plan; of a model in `user_code` its `package.module:name`."""
    codecs: tuple[Name, ...] = ()
    """Names of codecs as in a plan; of a codec in `user_code` its `package.module:name`."""
    files: tuple[Name, ...] = ()
    """Files and folders a plan may name besides the data, such as a list of words or a checkpoint.
    """
    disclosures: tuple[Tell, ...] = ()
    """What may be told in the clear before or beside training."""
    baselines: tuple[Literal["central", "fedavg", "noiseless", "same_features"], ...] = ()
    """What may run beside a plan, or in its place, without protection. Only simulations have
    baselines.
    """
    user_code: tuple[PinnedCode, ...] = ()
    """Python code that plans may name and that then runs here, as `package.module:name@sha256:…`
    with the SHA-256 of the file that holds it.
    """
    votes: bool = False
    """Clients may vote on others (`[filter]`)."""
    trust_server: bool = False
    """A promise may rest on the server: that it adds noise to sums, or looks at sums alone. Not
    needed under `[secure_aggregation]`, which rests on its helpers.
    """
    simulation_noise: bool = False
    """Noise may come from a known seed, to compare with a simulation. Whoever knows the seed can
    take it off.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ColumnRoles:
    """Which columns a plan may use, and as what. A role that is left out allows no column, `["*"]`
    allows every column.

    The client column and the quasi-identifiers are in `site.toml`.
    """

    label: tuple[Name, ...] = ()
    """Columns a plan may predict. Names of their classes are told."""
    text: tuple[Name, ...] = ()
    """Columns a plan may read as text."""
    numeric: tuple[Name, ...] = ()
    """Columns a plan may read as numbers. Their ends are told, unless the plan states them in
    `features.ranges`.
    """
    categorical: tuple[Name, ...] = ()
    """Columns a plan may read as categories. The names of categories are told."""
    image: tuple[Name, ...] = ()
    """Columns a plan may read as pictures."""
    split: tuple[Name, ...] = ()
    """Columns a plan may divide training from test rows by."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Limits:
    """The most a client may be asked for; a client is a person, a device, a patient: whoever the
    rows are about.
    """

    max_epsilon_per_update: EpsilonLimit | None = None
    """The most one answer may cost a client. Left out, only the limits per run and for life count.
    """
    max_epsilon_per_run: EpsilonLimit | None = None
    """The most all answers of a run may cost a client together, at `delta`. Left out: nothing."""
    max_epsilon_lifetime: EpsilonLimit | None = None
    """The most all runs may cost a client together: what they cost adds up, and so do their deltas.
    Left out: nothing.
    """
    delta: Annotated[float, Gt(0), Lt(0.5)] = 1e-5
    """The chance with which a run may cost a client more, per run."""
    no_epsilon: bool = False
    """Answers may leave for which no epsilon per client exists, such as those of `plain`."""
    max_rounds_per_run: Count = 100
    """Rounds of one run."""
    max_rounds_per_day: Count = 200
    """Rounds of all runs in one day (UTC)."""
    min_cohort: Count = 10
    """The fewest clients of a round. The server says how many there are, and may lie; so nothing
    may rest on it, except under `[secure_aggregation]`: there the clients of sites whose keys the
    owner knows count, and helpers add up no smaller set.
    """
    min_noise_share: Annotated[float, Ge(0), Le(1)] = 0.0
    """Where clients of all sites make the noise together (`onebit`, `skellam`): the least share of
    it that this site's own clients must make. Another site that claims more clients than it has
    takes away at most the rest.
    """
    max_message_bytes: Count = 256_000_000
    """Bytes of one message, in either direction."""
    max_test_share: Annotated[float, Ge(0), Lt(1)] = 0.3
    """The largest share of the rows that plans may hold out. A row that was held out once is never
    trained on.
    """
    max_parameters: Count = 50_000_000
    """Parameters of the model. Checked before memory is spent on it."""
    max_local_steps: Count = 100_000
    """Optimiser steps of one client in one round. Checked before the first step."""
    max_minutes_per_round: Annotated[float, Gt(0), Le(100_000)] = 120.0
    """Minutes this machine trains for one request. A round that takes longer is stopped between two
    clients and not answered.
    """
    min_clients_per_value: Count = LEAST_CLIENTS
    """A class, a category or the end of a range is told only if at least so many clients stand
    behind it, and a site with fewer training clients takes part in nothing. Where the whole site is
    one client, rows are counted.
    """
    max_values_per_column: Count = 100
    """The most classes, and the most categories of one column, that are told; a column with more
    cannot be used that way.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Measures:
    """What this site says when it is asked how well a model does on held-out rows. It never sends a
    loss, only two counts.
    """

    counts: Literal["off", "noisy", "exact"] = "noisy"
    """`noisy`: with noise that every client with counted rows is charged for. `exact`: as they are,
    told in the clear, which needs `measures` among `disclosures`. `off`: no counts; a run goes
    on without them.
    """
    epsilon: EpsilonLimit = 0.5
    """`noisy`: the privacy loss per client and run of all measures together, at `limits.delta`. It
    counts against the limits.
    """
    rows_per_client: Count = 1
    """`noisy`: the most held-out rows of a client that are counted. More rows need more noise in
    proportion.
    """
    min_rows: Count = 100
    """The fewest counted rows for which counts are sent."""
    min_clients: Count = 20
    """The fewest clients with counted rows for which counts are sent."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SharePolicy:
    """The most rows a data owner lets go, over all runs together. Without this table no row leaves.

    Quasi-identifiers are the site's (`site.toml`), never the plan's alone.
    """

    columns: tuple[Name, ...] = ()
    """Columns that may leave, the label included. A column that is no quasi-identifier leaves only
    if each of its values is that of at least `min_k` clients.
    """
    exact: tuple[Name, ...] = ()
    """Of these, columns that leave whatever their values are, also values that a single person has.
    """
    generalise: dict[Name, tuple[Name, ...]] = field(default_factory=dict)
    """How coarse a column leaves, by column: rules as in a plan's `data.share.generalise`, of which
    a plan takes one. A column that is not named leaves as it is. Any column may stay behind
    (`suppress`). Were the rule the plan's to choose, a refusal would say whether somebody has a
    value: so plans with another rule are refused before a row is read.
    """
    min_k: Annotated[int, Ge(1)] = 50
    """The fewest clients whose rows cannot be told apart by everything that has left in all runs.
    Where the whole site is one client, rows are counted.
    """
    min_l: Annotated[int, Ge(1)] = 2
    """The fewest different labels of rows that cannot be told apart."""
    max_share: Annotated[float, Ge(0), Le(1)] = 0.5
    """The largest share of the rows that may leave, in all runs together."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Policy:
    """One TOML file of a data owner."""

    plans: Plans = field(default_factory=Plans)
    allow: Allow = field(default_factory=Allow)
    columns: ColumnRoles = field(default_factory=ColumnRoles)
    limits: Limits = field(default_factory=Limits)
    measures: Measures = field(default_factory=Measures)
    share: SharePolicy | None = None


def load_policy(path: Path) -> Policy:
    """Read a policy file; raise a PlanError that names every problem, for a policy half understood
    protects nobody.
    """
    try:
        return parse_policy(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise PlanError(
            f"{path}: cannot be read ({error.strerror}); without a policy nothing is allowed;"
            " `tacit policy init` writes one"
        ) from None
    except UnicodeDecodeError as error:
        raise PlanError(
            f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None


def parse_policy(text: str, where: str = "policy") -> Policy:
    """Return the policy in a TOML text; raise a PlanError that names every problem."""
    try:
        policy: Policy = TypeAdapter(Policy).validate_json(json.dumps(tree_of(text), default=str))
    except ValidationError as error:
        raise _build_error(where, [_explain(problem) for problem in error.errors()]) from None
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise PlanError(f"{where}: is not valid TOML: {error}") from None
    found = [
        *_find_unknown("models", policy.allow.models, Model),
        *_find_unknown("codecs", policy.allow.codecs, Codec),
    ]
    if found:
        raise _build_error(where, found)
    return policy


def _build_error(where: str, found: list[str]) -> PlanError:
    return PlanError(
        "\n".join(
            [f"{where}: is no policy that can be kept", *(f"  {problem}" for problem in found)]
        )
    )


def _find_unknown(key: str, names: tuple[str, ...], kinds: Any) -> list[str]:
    """Return a sentence for each name that no plan could have, so that a slip of the pen is told at
    once.
    """
    known = [name for name in tables_in(kinds) if name != OWN]
    own = f", your own as {OWN}" if OWN in tables_in(kinds) else ""
    return [
        f"allow.{key}: needs some of {', '.join(known)}{own}, or '{ANY}'; got"
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
                "allow.columns: unknown key; say in a [columns] table what columns may be used as:"
                " label, text, numeric, …"
            )
        return f"{key}: unknown key; known are {', '.join(known)}.{did_you_mean(word, known)}"
    if problem["type"] == "dataclass_type":
        return (
            f"{key}: needs to be a table, got {problem['input']!r}; write [{key}] and its keys"
            " below it"
        )
    if problem["type"] == "literal_error":
        known = [
            name.strip("'")
            for name in str(problem["ctx"]["expected"]).replace(" or ", ", ").split(", ")
        ]
        return (
            f"{key}: needs one of {', '.join(known)}; got"
            f" {problem['input']!r}.{did_you_mean(str(problem['input']), known)}"
        )
    if problem["type"] == "string_pattern_mismatch":
        return (
            f"{key}: needs 64 hexadecimal digits, as `tacit policy check` prints them; got"
            f" {problem['input']!r}"
        )
    if problem["type"] == "value_error":
        return f"{key}: {problem['ctx']['error']}; got {problem['input']!r}"
    return f"{key}: {problem['msg'][0].lower()}{problem['msg'][1:]}; got {problem['input']!r}"


def _list_keys(place: list[str]) -> list[str]:
    """Return the keys of a table of the policy."""
    tables = tables_in(fields_of(Policy)[place[0]].annotation) if place else {"": Policy}
    return list(fields_of(tables[""]))
