"""Which settings contradict each other: one sentence for each combination that has no meaning."""

from __future__ import annotations

from tacit.errors import did_you_mean
from tacit.plan.private_sense import private_problems
from tacit.plan.share_sense import share_problems
from tacit.plan.tables import BUILT_IN_MODELS, Plan


def contradictions(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    rooms = (_data_problems, _model_problems, _local_problems, private_problems, _codec_problems, _server_problems)
    return [problem for find in rooms for problem in find(plan)]


def _data_problems(plan: Plan) -> list[str]:
    data, found = plan.data, share_problems(plan)
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


_PER = {"rr": "per bit", "rr_sampled": "per update"}
_LARGEST_PER_BIT = 20


def _codec_problems(plan: Plan) -> list[str]:
    codec, found = plan.codec, []
    if codec.name == "plain":
        for key in ("epsilon", "clip", "clip_l1"):
            if getattr(codec, key) is not None:
                found.append(
                    f"codec.{key}: has no meaning with codec.name = 'plain', which protects nothing; remove it or use 'rr'"
                )
    else:
        if codec.epsilon is None:
            found.append(f"codec.epsilon: needs a value ({_PER[codec.name]}), since codec.name = {codec.name!r}; got nothing")
        if codec.clip is None:
            found.append(
                f"codec.clip: needs the largest change of one weight, since codec.name = {codec.name!r}; "
                "got nothing (try 1e-3, or ask `tacit advise`)"
            )
        if plan.local.method in ("central", "local"):
            found.append(
                f"codec.name: needs 'plain', since local.method = {plan.local.method!r} sends no update; got {codec.name!r}"
            )
    if codec.name == "rr" and codec.epsilon and codec.epsilon > _LARGEST_PER_BIT:
        found.append(f"codec.epsilon: needs a value of at most {_LARGEST_PER_BIT} (per bit); got {codec.epsilon:g}")
    if codec.name != "rr":
        if codec.decoder != "corrected":
            found.append(f"codec.decoder: has no meaning with codec.name = {codec.name!r}; remove it or use 'rr'")
        if codec.clip_l1 is not None and codec.name != "plain":
            found.append(f"codec.clip_l1: has no meaning with codec.name = {codec.name!r}; remove it or use 'rr'")
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
