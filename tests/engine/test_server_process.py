"""A server that counts tokens has neither the clients' secret nor a model it could read: not in memory, files or messages."""

from __future__ import annotations

import hmac
import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tacit import local, plan
from tacit.codec.hashcomb import round_key
from tacit.draws import Draws
from tacit.engine.fingerprint import fingerprints_of
from tacit.engine.simulated_data import _divided, _loaded, prepare
from tacit.negotiate import Terms, save
from tacit.negotiate.agreed import Negotiated, bind
from tests.engine import server_process, site_process
from tests.engine.memory import found_in_memory
from tests.engine.small import small_plan, write_csv

SITES = 3
LEVELS = 10
X_MIN, X_MAX = -0.039_912_345, 0.041_054_321
ROUNDS = 3


class Seen(NamedTuple):
    """What was found where: in the server's memory, in a site's, and in the bytes the server got, sent and wrote."""

    server_memory: set[str]
    site_memory: set[str]
    messages: set[str]
    files: set[str]
    models: list[bytes]


def job_in(folder: Path, agreed: Path) -> plan.Plan:
    table = {"name": "hashcomb", "agreed": str(agreed), "levels": LEVELS}
    return small_plan(write_csv(folder / "reviews.csv"), codec=table, name="secret-1", server__rounds=ROUNDS, data__clients=6)


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("separate")
    agreed = bind(Terms(run="secret-1", parties=SITES, levels=LEVELS, enlargement=2.0), X_MIN, X_MAX, os.urandom(16))
    save(agreed, folder / "agreed.json")
    job, draws = job_in(folder, folder / "agreed.json"), Draws.seeded(0)
    table, _ = _loaded(job, draws, None, None)
    _, kept, _ = _divided(job, draws, table)
    whole = prepare(job, draws)
    learner = local.build(job.model, job.local, whole.train, whole.clients)
    terms = {
        "run": "secret-1-1", "identity": fingerprints_of(job, whole).identity, "dim": learner.size, "public": os.urandom(32),
        "largest_weight": 1, "sum_at_site": False, "clients": len(kept), "fitted": whole.fitted.to_dict(),
        "columns": asdict(table.columns),
    }  # fmt: skip
    context = multiprocessing.get_context("spawn")
    processes, to_sites = [], []
    for number, names in enumerate(np.array_split(np.arange(len(kept)), SITES)):
        here, there = context.Pipe()
        processes.append(context.Process(target=site_process.serve, args=(there,), daemon=True))
        processes[-1].start()
        rows = np.concatenate([kept.order[kept.starts[name] : kept.starts[name + 1]] for name in names])
        table.train[rows].write_parquet(folder / f"rows-{number}.parquet")
        here.send(("open", {
            "number": number, "rows": str(folder / f"rows-{number}.parquet"), "sizes": kept.sizes()[names].tolist(),
            "names": [int(name) for name in names], "job": plan.dump(job), "terms": terms, "folder": str(folder / f"site-{number}"),
        }))  # fmt: skip
        here.recv()
        to_sites.append(here)
    (folder / "server").mkdir()
    mine, its = context.Pipe()
    public = plan.dump(job)
    public["codec"]["agreed"] = "each site's own"
    lines = [context.Pipe() for _ in range(SITES)]
    server = context.Process(
        target=server_process.serve, args=([line for _, line in lines], its, public, terms, str(folder / "server")), daemon=True
    )
    server.start()
    messages = carried([line for line, _ in lines], to_sites, mine)
    head, payload = mine.recv()
    models = []
    for site in to_sites:
        site.send(("read", {"round_no": ROUNDS + 1, "head": head, "payload": payload}))
        models.append(site.recv())
    bound = hmac.digest(agreed.secret, f"tacit run {terms['run']} {terms['identity']}".encode(), "sha256")
    wanted = forbidden(agreed, bound, models[0], learner.initial(Draws(bound).at("initial")).tobytes())
    files = [path.read_bytes() for path in (folder / "server").rglob("*") if path.is_file()]
    yield Seen(
        server_memory=found_in_memory(server.pid, wanted),
        site_memory=found_in_memory(processes[0].pid, wanted),
        messages={name for name, text in wanted.items() if any(text in message for message in messages)},
        files={name for name, text in wanted.items() if any(text in file for file in files)},
        models=models,
    )
    mine.send(None)
    server.join(10)
    for line in to_sites:
        line.close()


def carried(from_server: list[Any], to_sites: list[Any], done: Any) -> list[bytes]:
    """Pass everything between the server and the sites until the server is done, and return every message as bytes."""
    messages = []
    while not done.poll():
        for here, there in zip(from_server, to_sites, strict=True):
            if here.poll(0.01):
                asked = here.recv_bytes()
                there.send_bytes(asked)
                answered = there.recv_bytes()
                here.send_bytes(answered)
                messages += [asked, answered]
    return messages


def forbidden(agreed: Negotiated, bound: bytes, last: bytes, first: bytes) -> dict[str, bytes]:
    """Return what a server must not have: the secret in any form, the range, and pieces of the first and the last model."""
    return {
        "secret": agreed.secret,
        "secret as text": agreed.secret.hex().encode(),
        "secret of the run": bound,
        "key of a round": round_key(bound, 2).key,
        "least value": np.float64(X_MIN).tobytes(),
        "greatest value": np.float64(X_MAX).tobytes(),
        "last model": last[400:432],
        "another part of the last model": last[-96:-64],
        "first model": first[400:432],
    }


def test_all_sites_read_the_same_model_and_it_was_trained(seen) -> None:
    first, *others = seen.models
    assert all(other == first for other in others)
    assert np.isfinite(np.frombuffer(first, np.float32)).all()


def test_the_server_has_neither_secret_nor_range_nor_model_in_memory(seen) -> None:
    assert seen.server_memory == set()


def test_the_same_search_finds_them_at_a_site(seen) -> None:
    assert seen.site_memory >= {"secret of the run", "greatest value", "last model", "another part of the last model"}


def test_nor_in_what_it_got_sent_and_wrote(seen) -> None:
    assert seen.messages == set()
    assert seen.files == set()
