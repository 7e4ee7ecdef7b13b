"""The page of all plan keys, written from the tables themselves: python -m tacit.plan.reference > docs/plan.md."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from tacit.plan.tables import Plan

MEANINGS = {
    "name": "The run's folder is `runs/<name>-1`, `-2`, …",
    "seed": "Same seed, same plan, same data: the same model to the bit.",
    "baselines": "Trained beside the run to compare with, on the same rows. They protect nothing.",
    "data.source": "A name from `tacit data list`, a file (`.csv` `.tsv` `.jsonl` `.parquet` `.arrow`), or `hf:NAME`.",
    "data.clients": "How many clients hold the rows. Not used with `partition = \"client\"`.",
    "data.partition": "Who holds what: the owner in the client column; equal random parts; random label mixes; "
    "equal-sized or equally wide ranges of the column `by`.",
    "data.alpha": "`dirichlet`: the smaller, the more one-sided each client's labels.",
    "data.by": "`quantile`, `interval`: the numeric column to cut into ranges, one per client.",
    "data.test": "Share of rows held out to measure on, where no split column marks test rows.",
    "data.validation": "Share of the train rows to measure on in place of the test rows, which are then not looked at: "
    "for choosing settings.",
    "data.local_test": "Share of each client's own rows left out of its training.",
    "data.divide_test": "Divide the common test rows among the clients, each with its own label shares, "
    "and try each client's model on its part.",
    "data.limit": "At most so many train rows and so many test rows, chosen at random.",
    "data.columns.text": "Columns read as text; several are joined with a space.",
    "data.columns.label": "The column to predict, with at least two classes.",
    "data.columns.numeric": "Columns of numbers.",
    "data.columns.categorical": "Columns of names or codes.",
    "data.columns.image": "A column of byte arrays, all of one shape.",
    "data.columns.client": "Who owns the row; needed with `partition = \"client\"`.",
    "data.columns.quasi": "Columns that together can point at a person, for methods that share rows. May have another role too.",
    "data.columns.split": "Marks rows `train` or `test`.",
    "data.share.rule": "When rows may be shared: enough rows alike in the quasi-identifiers; the same among rows of one label "
    "(the paper's \"l-diversity\", which it is not); with enough different labels; with labels mixed enough. "
    "See [PartFed](partfed.md).",
    "data.share.k": "How many rows must look alike. Needed.",
    "data.share.l": "`distinct_l`: how many different labels a class needs. `entropy_l`: their entropy must reach ln(l).",
    "data.share.release": "Where rows must look alike: in the quasi-identifiers only, or in every released column but the label.",
    "data.share.counts": "Who counts: each client its own rows; all together, by a secure sum; all together with noise, "
    "so that the decision does not hang on one row; or, as the paper did, all together with the test rows.",
    "data.share.epsilon": "`stable`: what the decision may cost, per run and under adding or removing one row.",
    "data.share.delta": "`stable`: its delta.",
    "data.share.generalise": "Coarser values before sharing, by column: `ranges 10`, `top 60`, `prefix 3`, `csv FILE LEVEL`, "
    "`suppress`.",
    "features.text": "Which hashed words occur, or their order (for `embedding` and `lstm`); "
    "or unhashed words (`bilstm`) or word pieces (`encoder`) in order.",
    "features.buckets": "How many numbers words are hashed to.",
    "features.base": "Base of the rolling hash.",
    "features.length": "`sequence`, `words`, `pieces`: how many are read per row; longer texts are cut.",
    "features.stop_words": "Drop common English words first.",
    "features.numeric": "Scale each column to 0…1 by its range in the training rows, which is read in the clear; or leave it.",
    "features.categorical": "One input per category, or one number per column. The categories are read in the clear.",
    "model.name": "`logistic`, `mlp`, `embedding`, `lstm`, `bilstm`, `encoder` (a transformer), "
    "or your own `nn.Module` as `package.module:Class`, made with the arguments `inputs` and `outputs`.",
    "model.hidden": "Widths of the hidden layers; needed by `mlp`. `bilstm`: the one width per direction.",
    "model.embedding": "Width of a word's vector (`embedding`, `lstm`, `bilstm`).",
    "model.dropout": "`bilstm`, `encoder`: share of the last layer's inputs left out at random in training.",
    "model.checkpoint": "`encoder`: `minilm`, or a folder that `transformers` can load.",
    "local.method": "What is trained: averaged updates, the same with a pull towards the server's model, "
    "one model on pooled rows, or one model per client that shares nothing.",
    "local.optimizer": "The client's optimiser.",
    "local.lr": "Its learning rate.",
    "local.epochs": "Passes over the client's rows per round. Without `epochs` and `steps`: one.",
    "local.steps": "Or this many batches per round.",
    "local.batch": "Rows per batch. Without `batch` and `batches`: 32.",
    "local.batches": "Or this many batches per epoch, whatever a client holds.",
    "local.proximal": "`fedprox`: strength of the pull.",
    "local.weight_decay": "`adamw`: its weight decay.",
    "local.schedule": "Keep the learning rate, or let it fall to zero over a round's steps (models with private parts).",
    "local.clip_norm": "Largest norm of a step's gradient, for shared and private parameters each (models with private parts).",
    "private.words": "Whose word vectors stay with the client: nobody's, those of words with a digit, or all.",
    "private.parameters": "Patterns of parameter names that stay too, such as `[\"lstm.*\"]`; works with any `nn.Module`.",
    "private.adapt": "Before a round's training: nothing; one pass over the rows that trains only what stays; or that pass on half "
    "of the rows, after which only what is shared trains on the other half.",
    "private.lr": "Learning rate of what stays; without it `local.lr`. A table that learns as fast as the shared part soon "
    "says more about its client's labels than about words.",
    "private.store": "Keep what stays on the client's disk between rounds, or make it anew each round.",
    "private.start": "First word vectors: random; public (GloVe, or the checkpoint's own); "
    "or public, rotated at random per client. Public vectors let an attacker read the words.",
    "private.rows": "One row per word of the client's own text, or hash buckets (`features.buckets`) under the client's own key.",
    "private.spelling": "What counts as a word: the word; its first five letters; or one of the two by client.",
    "codec.name": "What leaves a client. `plain`: 32-bit numbers, no protection. `rr`: one randomised bit per parameter. "
    "`rr_sampled`: a few randomised bits per update, sound for the whole update. "
    "Without a `[codec]` table: `rr`, 1 per bit, clip 0.001.",
    "codec.epsilon": "The loss the codec may cost: **per bit** with `rr`, **per update** with `rr_sampled`. At most 20 per bit.",
    "codec.clip": "Largest change of one parameter in one round; public, never computed from data.",
    "codec.clip_l1": "`rr`: also bound the sum of all changes of an update, which bounds the loss per update.",
    "codec.decoder": "`rr`: `printed` decodes as the paper prints it, which is wrong, to show the error.",
    "server.rounds": "How many rounds.",
    "server.cohort": "Who takes part in a round: everybody, a fixed number, or each with equal probability.",
    "server.cohort_size": "How many (`count`), or how many on average (`poisson`).",
    "server.weights": "How much a client counts: all the same, by its rows, or by its rows up to a cap. The server sees it.",
    "server.weight_cap": "`capped`: the cap, in rows.",
    "server.optimizer": "What the server does with the mean update; `sgd` with `lr = 1.0` is plain averaging.",
    "server.lr": "The server's learning rate.",
    "server.momentum": "Decay of its first moment (`momentum`, `adam`, `yogi`).",
    "server.evaluate_every": "Measure on the test rows every so many rounds, and after the last.",
    "server.test_rows": "Where clients have models of their own: measure each on at most so many common test rows.",
    "server.test_clients": "Where clients have models of their own: measure so many of them after the last round.",
    "server.patience": "Stop after so many measurements without a lower loss.",
    "ledger.delta": "The delta of the (epsilon, delta) total per run.",
    "engine.workers": "Parallel workers. Changes how fast a run is, never what comes out.",
}  # fmt: skip

_HEAD = """\
# The plan

A plan is one TOML file. `tacit init` writes one with comments, `tacit init --from my.csv` one for a table of your own,
and `tacit check plan.toml` says whether it can run. A key that is left out has its default; an unknown key, a value of
the wrong type and a combination without meaning are refused, all of them in one message, before any data is read.
Change a key for one run with `-o table.key=value`, for example `tacit run plan.toml -o server.rounds=40`.

In Python each table is a dataclass of the same name: `tacit.Plan(name="mine", server=tacit.Server(rounds=40))`.

This page is written by `python -m tacit.plan.reference`.
"""


def page() -> str:
    """Return the whole page; raise KeyError if a key has no meaning written down."""
    return "\n".join([_HEAD, *_tables(Plan, "")])


def keys() -> list[str]:
    """Return every key of a plan, with its tables."""
    return list(_keys(Plan, ""))


def _keys(table: Any, path: str) -> Iterator[str]:
    for name, kind in get_type_hints(table).items():
        inner = _table_in(kind)
        if inner:
            yield from _keys(inner, f"{path}{name}.")
        else:
            yield f"{path}{name}"


def _tables(table: Any, path: str) -> Iterator[str]:
    hints, defaults = get_type_hints(table, include_extras=True), table()
    inner = {name: found for name, kind in hints.items() if (found := _table_in(kind))}
    yield f"## `[{path.rstrip('.')}]`\n\n{table.__doc__}\n" if path else "## At the top, before any table\n"
    yield "| key | takes | default | meaning |\n| --- | --- | --- | --- |"
    for name, kind in hints.items():
        if name not in inner:
            yield f"| `{path}{name}` | {_takes(kind)} | {_written(getattr(defaults, name))} | {MEANINGS[path + name]} |"
    yield ""
    for name, kind in inner.items():
        yield from _tables(kind, f"{path}{name}.")


def _table_in(kind: Any) -> Any:
    """Return the table a key holds, be it there always or only if asked for; None if the key holds a value."""
    return next((one for one in (kind, *get_args(kind)) if isinstance(one, type) and dataclasses.is_dataclass(one)), None)


def _written(value: Any) -> str:
    if value is None:
        return "none"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _takes(kind: Any) -> str:
    """Return in words what a key accepts."""
    origin, parts = get_origin(kind), [part for part in get_args(kind) if part is not NoneType]
    if origin in (Union, UnionType):
        return _takes(parts[0])
    if origin is dict:
        return "table of column = rule"
    if origin is Literal:
        return ", ".join(f'`"{word}"`' for word in parts)
    if origin is tuple:
        return f"list of: {_takes(parts[0])}"
    if origin is Annotated:
        return " ".join([_takes(parts[0]), *filter(None, map(_limit, parts[1:]))])
    return {int: "whole number", float: "number", str: "text", bool: "`true`, `false`"}[kind]


def _limit(bound: object) -> str:
    words = {Ge: ("from", "ge"), Gt: ("above", "gt"), Le: ("to", "le"), Lt: ("below", "lt")}
    word, name = words.get(type(bound), ("", ""))
    return f"{word} {getattr(bound, name):,}" if word else ""


if __name__ == "__main__":
    print(page(), end="")
