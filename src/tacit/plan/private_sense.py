"""Which settings of what stays with a client contradict each other or the rest of the plan."""

from __future__ import annotations

from tacit.plan.tables import Plan, Private

WORDED = ("bilstm", "encoder")
"""Models that read words through a table of vectors, which may be the client's own."""


def is_partial(plan: Plan) -> bool:
    """Return whether parameters may stay with the clients, so that every client has a model of its own."""
    return plan.model.name in WORDED or bool(plan.private.parameters)


def private_problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    return [*_word_problems(plan), *_keeping_problems(plan), *_measuring_problems(plan)]


def _word_problems(plan: Plan) -> list[str]:
    private, model, found = plan.private, plan.model, []
    wanted = {"bilstm": "words", "encoder": "pieces"}.get(model.name)
    if wanted and plan.features.text != wanted:
        found.append(f"features.text: needs {wanted!r}, since model.name = {model.name!r}; got {plan.features.text!r}")
    if wanted is None and plan.features.text in ("words", "pieces"):
        found.append(f"features.text: {plan.features.text!r} needs model.name = 'bilstm' or 'encoder'; got {model.name!r}")
    if wanted is None and private.words != "none":
        found.append(f"private.words: needs a model with a word table, 'bilstm' or 'encoder'; got model.name = {model.name!r}")
    if model.name == "bilstm" and len(model.hidden) != 1:
        found.append("model.hidden: needs one width (per direction), since model.name = 'bilstm', for example [300]")
    if (model.checkpoint is None) == (model.name == "encoder"):
        found.append("model.checkpoint: goes with model.name = 'encoder' and only with it: 'minilm' or a folder with a checkpoint")
    if model.dropout > 0 and wanted is None:
        found.append(f"model.dropout: has no meaning with model.name = {model.name!r}; use 'bilstm' or 'encoder', or remove it")
    if private.rows == "keyed" and (private.words != "all" or private.start != "random" or private.spelling != "word"):
        found.append(
            "private.rows: 'keyed' needs private.words = 'all', start = 'random' and spelling = 'word', "
            "since a bucket holds words at random"
        )
    if private.words == "none" and (private.start == "rotated" or private.spelling != "word"):
        found.append(
            "private.start, private.spelling: need private.words = 'all' or 'digits': a shared table is the same for everyone"
        )
    return found


def _keeping_problems(plan: Plan) -> list[str]:
    private, found = plan.private, []
    if private.adapt != "none" and not private.parameters and private.words == "none":
        found.append(f"private.adapt: {private.adapt!r} needs something that stays: set private.words or private.parameters")
    if private.lr is not None and not private.parameters and private.words == "none":
        found.append(f"private.lr: {private.lr:g} needs something that stays: set private.words or private.parameters")
    if private.store == "none" and private.adapt == "none" and (private.parameters or private.words != "none"):
        found.append("private.store: 'none' needs private.adapt = 'pass' or 'reconstruct', else what stays is never trained")
    if plan.local.method == "central" and private != Private():
        found.append("private: has no meaning with local.method = 'central', where all rows are in one place; remove the table")
    if not is_partial(plan):
        for key, unset in (("schedule", "constant"), ("clip_norm", None)):
            if getattr(plan.local, key) != unset:
                found.append(f"local.{key}: needs model.name = 'bilstm' or 'encoder', or private.parameters; remove it")
    return found


def _measuring_problems(plan: Plan) -> list[str]:
    found = []
    if not is_partial(plan):
        for key in ("test_rows", "test_clients"):
            if getattr(plan.server, key) is not None:
                found.append(f"server.{key}: has no meaning where all clients have one model; use data.limit, or remove it")
    elif "central" in plan.baselines:
        found.append("baselines: 'central' has no meaning beside models of which a part stays with each client; remove it")
    if plan.data.divide_test and plan.data.local_test:
        found.append("data.divide_test: has no meaning beside data.local_test; keep one of the two")
    return found
