"""The module workload: FedVocab's local training on SST-2, and the files a loop without an engine
reads.

A client loads its own word table, adapts it in one pass with the shared part at rest, trains
everything for one epoch and stores the table again. BiLSTM: the paper's sizes, ten clients of 670
rows. MiniLM: the quick scale of `tacit reproduce fedvocab` (100 rows a client, batches of 32), and
four of its ten clients, for a round of the paper's size takes minutes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.rows import DRAWS
from bench.shapes import ROWS
from tacit import plan, training
from tacit.assembly.token_rows import find_checkpoint
from tacit.client import ClientRandomness, ClientSlot
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import prepare
from tacit.training.modules.learner import derive_seed
from tacit.training.private.learner import PartialLearner, get_tokens
from tacit.training.schedule import shuffle_rows

CLIENTS = {"bilstm": 10, "minilm": 4}
_ROWS_EACH = {"bilstm": 670, "minilm": 100}
_UNUSED = "word_embeddings.weight"  # the checkpoint's own table, which the client's replaces
_SHAPES: dict[str, dict[str, Any]] = {
    "bilstm": {
        "features": plan.Features(text="words", length=32),
        "model": plan.BiLSTM(hidden=(300,), dropout=0.5, embedding=100),
        "local": plan.Local(
            optimizer="adam", lr=5e-3, epochs=1, batch=400, schedule="linear", clip_norm=15.0
        ),
    },
    "minilm": {
        "features": plan.Features(text="pieces", length=32),
        "model": plan.Encoder(checkpoint="minilm"),
        "local": plan.Local(
            optimizer="adamw", lr=2e-4, epochs=1, batch=32, schedule="linear", clip_norm=15.0
        ),
    },
}


def job(kind: str) -> plan.Plan:
    """Workload as a plan."""
    return plan.Plan(
        data=plan.Data(
            source="sst2", clients=CLIENTS[kind], limit=CLIENTS[kind] * _ROWS_EACH[kind]
        ),
        private=plan.Private(words="all", adapt="pass", start="public"),
        codec=plan.Plain(),
        **_SHAPES[kind],
    )


@cache
def learner(kind: str, folder: Path) -> PartialLearner:
    """Our learner; what clients keep lies in the folder."""
    settings = job(kind)
    data = prepare(settings, DRAWS)
    home = training.Home(
        private=settings.private,
        folder=folder,
        beginning=DRAWS.at("initial"),
        lexicon=data.lexicon,
        buckets=settings.features.buckets,
        checkpoint=find_checkpoint(settings),
    )
    made = training.build(settings.model, settings.local, data.train, data.clients, home=home)
    assert isinstance(made, PartialLearner)
    return made


def prepared(kind: str) -> Path:
    """Folder with a kind's files for the bare loop, made first if need be.

    `settings.pt` holds the first shared parameters by name and the sizes of the network,
    `client-N.pt` a client's rows in its own word numbers, its labels, its first private parameters,
    and seeds and row orders of the verified round.
    """
    folder = ROWS / f"worded-{kind}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        made, settings = learner(kind, folder / "none"), job(kind)
        first = made.tensors(made.initial(DRAWS.at("initial")))
        shared = {name: torch.from_numpy(array) for name, array in first.items() if array.size}
        local_settings = {
            name: getattr(settings.local, name) for name in ("lr", "batch", "clip_norm")
        }
        sizes = {
            name: getattr(settings.model, name, None) for name in ("hidden", "dropout", "embedding")
        }
        checkpoint = find_checkpoint(settings)
        torch.save(
            {"shared": shared, "checkpoint": str(checkpoint), **local_settings, **sizes},
            folder / "settings.pt",
        )
        for client in range(CLIENTS[kind]):
            torch.save(_client(made, client), folder / f"client-{client}.pt")
        (folder / "complete").touch()
    return folder


def _client(made: PartialLearner, client: int) -> dict[str, Any]:
    slot = ClientSlot(client, client, ClientRandomness(DRAWS, client))
    words, begin, end = (
        made.vocabulary(slot),
        made.clients.starts[client],
        made.clients.starts[client + 1],
    )
    assert words is not None
    first = made.first_private(slot, words)
    private = {
        name: torch.from_numpy(array) for name, array in first.items() if not name.endswith(_UNUSED)
    }
    draws = slot.own.train(1)
    return {
        "rows": torch.from_numpy(words.rows[get_tokens(made.rows.inputs)[begin:end]]),
        "labels": torch.from_numpy(made.rows.labels[begin:end].astype(np.float32)),
        "private": private,
        "seed": derive_seed(draws),
        "orders": [_order(draws.at("adapt"), int(end - begin)), _order(draws, int(end - begin))],
    }


def _order(draws: Draws, rows: int) -> torch.Tensor:
    return torch.from_numpy(shuffle_rows(rows, rows, np.uint64(draws.at("shuffle").seed())))
