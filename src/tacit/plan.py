"""The plan: one TOML file per job, one table per room, each table a small frozen dataclass.

Loading is strict and says everything that is wrong at once. Nothing here reads data.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Len, Lt
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tacit.errors import PlanError, did_you_mean

_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

Positive = Annotated[float, Gt(0)]
Count = Annotated[int, Ge(1)]
Share = Annotated[float, Ge(0), Lt(1)]
Name = Annotated[str, Len(1, 200)]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Columns:
    """What each column of the table is for. Named data sets know their own."""

    text: tuple[Name, ...] = ()
    label: Name | None = None
    numeric: tuple[Name, ...] = ()
    categorical: tuple[Name, ...] = ()
    image: Name | None = None
    client: Name | None = None
    quasi: tuple[Name, ...] = ()
    split: Name | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Data:
    """Where the rows come from and who holds them."""

    source: Name = "newsgroups20"
    columns: Columns = Columns()
    clients: Count = 100
    partition: Literal["client", "iid", "dirichlet", "quantile", "interval"] = "iid"
    alpha: Positive = 1.0
    by: Name | None = None
    test: Share = 0.2
    local_test: Share = 0.0
    limit: Count | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Features:
    """How rows become numbers."""

    text: Literal["binary", "sequence"] = "binary"
    buckets: Annotated[int, Ge(2), Le(50_000_000)] = 5000
    base: Annotated[int, Ge(2), Le(1_000_003)] = 31
    length: Annotated[int, Ge(1), Le(100_000)] = 300
    stop_words: bool = False
    numeric: Literal["minmax", "raw"] = "minmax"
    categorical: Literal["codes", "onehot"] = "onehot"


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Model:
    """What is trained: a built-in network or your own nn.Module as "package.module:Class"."""

    name: Name = "logistic"
    hidden: tuple[Count, ...] = ()
    embedding: Count = 100


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Local:
    """What a client does with its rows in one round."""

    method: Literal["fedavg", "fedprox", "central", "local"] = "fedavg"
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    lr: Positive = 1e-3
    epochs: Count | None = None
    steps: Count | None = None
    batch: Count | None = None
    batches: Count | None = None
    proximal: Annotated[float, Ge(0)] = 0.0
    weight_decay: Annotated[float, Ge(0)] = 0.0


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Codec:
    """What happens to an update before it leaves the client."""

    name: Literal["plain", "rr"] = "rr"
    epsilon: Annotated[float, Gt(0), Le(20)] | None = None
    clip: Positive | None = None
    decoder: Literal["corrected", "printed"] = "corrected"


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Server:
    """How the server picks clients, weighs them, and moves the model."""

    rounds: Count = 20
    cohort: Literal["all", "count", "poisson"] = "all"
    cohort_size: Count | None = None
    weights: Literal["equal", "rows", "capped"] = "equal"
    weight_cap: Count | None = None
    optimizer: Literal["sgd", "momentum", "adam", "yogi"] = "sgd"
    lr: Positive = 1.0
    momentum: Share = 0.9
    evaluate_every: Count = 1
    patience: Count | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Ledger:
    """How the account of privacy is stated."""

    delta: Annotated[float, Gt(0), Lt(1)] = 1e-5


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Engine:
    """Settings that change how fast a run is, never what comes out of it."""

    workers: Annotated[int, Ge(1), Le(256)] = 2


Baseline = Literal["central", "fedavg", "local"]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Plan:
    """One job, complete."""

    name: Annotated[str, Len(1, 60)] = "run"
    seed: Annotated[int, Ge(0)] = 0
    baselines: tuple[Baseline, ...] = ()
    data: Data = Data()
    features: Features = Features()
    model: Model = Model()
    local: Local = Local()
    codec: Codec = Codec(epsilon=1.0, clip=1e-3)
    server: Server = Server()
    ledger: Ledger = Ledger()
    engine: Engine = Engine()


GIVEN = "given"
"""`data.source` of a plan whose rows are handed over in Python rather than read from a place."""

BUILT_IN_MODELS = ("logistic", "mlp", "embedding", "lstm")


def load(path: Path, overrides: list[str] | None = None) -> Plan:
    """Read a plan file, apply `table.key=value` overrides, and check it; raise one PlanError with all problems."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PlanError(f"{path}: cannot be read ({error.strerror}); `tacit init` writes a plan to start from") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path}: is not valid TOML: {error}") from None
    for override in overrides or []:
        _override(tree, override)
    return parse(tree, where=str(path))


def parse(tree: dict[str, Any], where: str = "plan") -> Plan:
    """Turn nested tables into a checked Plan; raise one PlanError with all problems."""
    try:
        plan = TypeAdapter(Plan).validate_json(json.dumps(tree, default=str))
    except ValidationError as error:
        raise _refusal(where, [_explain(problem, tree) for problem in error.errors()]) from None
    check(plan, where)
    return plan


def check(plan: Plan, where: str = "plan") -> None:
    """Raise one PlanError naming every combination in the plan that has no meaning."""
    problems = _contradictions(plan)
    if problems:
        raise _refusal(where, problems)


def dump(plan: Plan) -> dict[str, Any]:
    """Return the plan as nested tables of plain values; `parse(dump(plan)) == plan`."""
    return _without_none(dataclasses.asdict(plan))


def to_toml(plan: Plan) -> str:
    """Return the plan as TOML text with every setting written out."""
    return "\n".join(_toml_lines(dump(plan), ())).strip() + "\n"


def _toml_lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
    if path and lines:
        lines.insert(0, f"[{'.'.join(path)}]")
    for key, value in table.items():
        if isinstance(value, dict) and value:
            lines += ["", *_toml_lines(value, (*path, key))]
    return lines


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return list(value) if isinstance(value, tuple) else value


def _override(tree: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise PlanError(f"-o {override}: needs the form table.key=value, for example -o codec.epsilon=1")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = key.strip().split(".")
    for table in tables:
        tree = tree.setdefault(table, {})
        if not isinstance(tree, dict):
            raise PlanError(f"-o {override}: {table!r} is a value, not a table; check the key")
    tree[last] = value


def _refusal(where: str, problems: list[str]) -> PlanError:
    head = f"{where}: 1 problem" if len(problems) == 1 else f"{where}: {len(problems)} problems"
    return PlanError("\n".join([head, *(f"  {problem}" for problem in problems)]))


def _explain(problem: Any, tree: dict[str, Any]) -> str:
    """Say one validation failure as: key: what was expected, what was found, and the closest right word."""
    path = [str(part) for part in problem["loc"]]
    key = ".".join(path)
    kind, context, found = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        known = [field.name for field in dataclasses.fields(_table_at(path[:-1]))]
        return f"{key}: unknown key; this table takes {', '.join(known)}.{did_you_mean(path[-1], known)}"
    if kind == "literal_error":
        words = [word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")]
        guess = did_you_mean(found, words) if isinstance(found, str) else ""
        return f"{key}: needs one of {', '.join(words)}; got {found!r}.{guess}"
    if kind in ("dataclass_type", "dataclass_exact_type"):
        return f"{key}: needs to be a table, got {found!r}; write [{key}] and its keys below it"
    wanted = _WANTED.get(kind)
    needs = wanted.format(**context) if wanted else problem["msg"][0].lower() + problem["msg"][1:]
    return f"{key}: needs {needs}; got {found!r}"


_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "greater_than": "a value above {gt}",
    "greater_than_equal": "a value of at least {ge}",
    "less_than": "a value below {lt}",
    "less_than_equal": "a value of at most {le}",
    "finite_number": "a finite number",
    "too_short": "at least {min_length} character",
    "too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} character",
    "string_too_long": "at most {max_length} characters",
}


def _table_at(path: list[str]) -> Any:
    table: Any = Plan
    for part in path:
        table = {field.name: field.type for field in dataclasses.fields(table)}[part]
        table = globals()[table] if isinstance(table, str) else table
    return table


def _contradictions(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    return [*_data_problems(plan), *_model_problems(plan), *_local_problems(plan), *_codec_problems(plan), *_server_problems(plan)]


def _data_problems(plan: Plan) -> list[str]:
    data, found = plan.data, []
    if data.partition in ("quantile", "interval") and not data.by:
        found.append(f"data.by: needs the column to split by, since data.partition = {data.partition!r}; got nothing")
    if data.by and data.partition not in ("quantile", "interval"):
        found.append(f"data.by: has no meaning with data.partition = {data.partition!r}; remove it, or use quantile or interval")
    if data.partition == "client" and _looks_like_file(data.source) and not data.columns.client:
        found.append("data.columns.client: needs the column that says who owns a row, since data.partition = 'client'; got nothing")
    if _looks_like_file(data.source) and not data.columns.label:
        found.append("data.columns.label: needs the column to predict; got nothing")
    inputs = (*data.columns.text, *data.columns.numeric, *data.columns.categorical)
    if _looks_like_file(data.source) and not inputs and not data.columns.image:
        found.append("data.columns: needs at least one text, numeric, categorical or image column; got none")
    seen: dict[str, str] = {}
    for role in ("text", "label", "numeric", "categorical", "image", "client", "split"):
        names = getattr(data.columns, role)
        for name in names if isinstance(names, tuple) else (names,) if names else ():
            if name in seen:
                found.append(f"data.columns.{role}: column {name!r} is {seen[name]} already; a column has one role")
            seen.setdefault(name, role)
    return found


def _looks_like_file(source: str) -> bool:
    return source.lower().endswith((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".ipc"))


def _model_problems(plan: Plan) -> list[str]:
    model, found = plan.model, []
    if model.name not in BUILT_IN_MODELS and ":" not in model.name:
        known = list(BUILT_IN_MODELS)
        found.append(
            f"model.name: needs one of {', '.join(known)}, or your own class as package.module:Class; "
            f"got {model.name!r}.{did_you_mean(model.name, known)}"
        )
    if model.name == "logistic" and model.hidden:
        found.append("model.hidden: has no meaning with model.name = 'logistic'; use model.name = 'mlp' or remove it")
    if model.name == "mlp" and not model.hidden:
        found.append("model.hidden: needs the widths of the hidden layers, for example [100, 50, 25]; got nothing")
    if model.name in ("embedding", "lstm") and plan.features.text != "sequence":
        found.append(f"features.text: needs 'sequence', since model.name = {model.name!r} reads word after word; got 'binary'")
    if model.name in ("logistic", "mlp") and plan.features.text == "sequence":
        found.append(f"features.text: needs 'binary', since model.name = {model.name!r} reads one vector a row; got 'sequence'")
    return found


def _local_problems(plan: Plan) -> list[str]:
    local, found = plan.local, []
    if local.epochs and local.steps:
        found.append("local.steps: has no meaning beside local.epochs; keep one of the two")
    if local.batch and local.batches:
        found.append("local.batches: has no meaning beside local.batch; keep one of the two")
    if local.method == "fedprox" and local.proximal == 0:
        found.append("local.proximal: needs a value above 0, since local.method = 'fedprox'; got 0 (0.1 is usual)")
    if local.method != "fedprox" and local.proximal > 0:
        found.append(f"local.proximal: has no meaning with local.method = {local.method!r}; use method = 'fedprox' or remove it")
    if local.weight_decay > 0 and local.optimizer != "adamw":
        found.append(f"local.weight_decay: has no meaning with local.optimizer = {local.optimizer!r}; use 'adamw' or remove it")
    return found


def _codec_problems(plan: Plan) -> list[str]:
    codec, found = plan.codec, []
    if codec.name == "plain":
        for key in ("epsilon", "clip"):
            if getattr(codec, key) is not None:
                found.append(f"codec.{key}: has no meaning with codec.name = 'plain', which protects nothing; remove it or use 'rr'")
        if codec.decoder != "corrected":
            found.append("codec.decoder: has no meaning with codec.name = 'plain'; remove it or use 'rr'")
    else:
        if codec.epsilon is None:
            found.append(f"codec.epsilon: needs a value (per bit), since codec.name = {codec.name!r}; got nothing")
        if codec.clip is None:
            found.append(f"codec.clip: needs the largest change of one weight, since codec.name = {codec.name!r}; got nothing (try 1e-3)")
        if plan.local.method in ("central", "local"):
            found.append(f"codec.name: needs 'plain', since local.method = {plan.local.method!r} sends no update; got {codec.name!r}")
    return found


def _server_problems(plan: Plan) -> list[str]:
    server, found = plan.server, []
    if server.cohort != "all" and server.cohort_size is None:
        found.append(f"server.cohort_size: needs a number of clients, since server.cohort = {server.cohort!r}; got nothing")
    if server.cohort == "all" and server.cohort_size is not None:
        found.append("server.cohort_size: has no meaning with server.cohort = 'all'; use 'count' or 'poisson', or remove it")
    if server.cohort_size and server.cohort_size > plan.data.clients and plan.data.partition != "client":
        found.append(f"server.cohort_size: needs at most data.clients = {plan.data.clients}; got {server.cohort_size}")
    if server.weights == "capped" and server.weight_cap is None:
        found.append("server.weight_cap: needs a number of rows, since server.weights = 'capped'; got nothing")
    if server.weights != "capped" and server.weight_cap is not None:
        found.append(f"server.weight_cap: has no meaning with server.weights = {server.weights!r}; use 'capped' or remove it")
    if server.evaluate_every > server.rounds:
        found.append(f"server.evaluate_every: needs at most server.rounds = {server.rounds}; got {server.evaluate_every}")
    for baseline in plan.baselines:
        if plan.baselines.count(baseline) > 1:
            found.append(f"baselines: names {baseline!r} twice; name it once")
            break
    return found
