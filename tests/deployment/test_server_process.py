"""A server that counts tokens has neither the clients' secret nor a model it could read: not in memory, files or messages."""

from __future__ import annotations

import hmac
import json
import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tacit import plan, training
from tacit.codecs.hashcomb import derive_round_key
from tacit.deployment import bodies
from tacit.deployment.bodies import BeginRequest, Offer
from tacit.deployment.confirmation import run_digest
from tacit.deployment.server.job import DEPLOYMENT, TERMS
from tacit.deployment.server.sent_plan import load_sent_plan
from tacit.negotiation import NegotiationTerms, save
from tacit.negotiation.result import Negotiated, bind_result
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import prepare
from tacit.simulation.rehearsal import prepare_rehearsal
from tacit.training.private.store import PrivateStore
from tests.deployment import processes
from tests.deployment.local_post import owner
from tests.simulation.memory import found_in_memory
from tests.simulation.small import small_plan, write_csv

SITES = "abc"
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
    return small_plan(
        write_csv(folder / "reviews.csv"),
        codec=table,
        name="secret-1",
        server__rounds=ROUNDS,
        data__clients=6,
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("separate")
    agreed = bind_result(
        NegotiationTerms(run="secret-1", parties=len(SITES), levels=LEVELS, enlargement=2.0),
        X_MIN,
        X_MAX,
        os.urandom(16),
    )
    save(agreed, folder / "agreed.json")
    job = job_in(folder, folder / "agreed.json")
    ready = prepare_rehearsal(job, folder / "rows", len(SITES))
    context = multiprocessing.get_context("spawn")
    to_sites, running = {}, {}
    for name, rows in zip(SITES, ready.files, strict=True):
        to_sites[name], there = context.Pipe()
        given = (there, name, str(rows), str(folder / name), str(folder / "agreed.json"))
        running[name] = context.Process(target=processes.join, args=given, daemon=True)
        running[name].start()
        there.close()
    text = plan.to_toml(ready.plan).replace(str(folder / "agreed.json"), "each site's own")
    keys = {
        name: _public(owner(name, rows, folder / name))
        for name, rows in zip(SITES, ready.files, strict=True)
    }
    (folder / "server").mkdir()
    mine, its = context.Pipe()
    lines = {name: context.Pipe() for name in SITES}
    server = context.Process(
        target=processes.serve,
        args=(
            {name: line for name, (_, line) in lines.items()},
            its,
            text,
            keys,
            str(folder / "server"),
        ),
        daemon=True,
    )
    server.start()
    messages = carried({name: line for name, (line, _) in lines.items()}, to_sites, mine)
    place = Path(mine.recv())
    models = [_model_at(folder / name) for name in SITES]
    begin = bodies.unpack((place / TERMS).read_bytes(), BeginRequest)
    sent = load_sent_plan(place)
    run, offer = (
        json.loads((place / DEPLOYMENT).read_bytes())["run"],
        Offer(plan=sent.text, settings=sent.settings),
    )
    digest = run_digest(run, offer, begin.terms)
    bound = hmac.digest(agreed.secret, f"tacit run {begin.read().run} {digest}".encode(), "sha256")
    whole = prepare(job, Draws.seeded(0))
    first = training.build(job.model, job.local, whole.train, whole.clients).initial(
        Draws(bound).at("initial")
    )
    wanted = forbidden(agreed, bound, models[0], first.tobytes())
    files = [path.read_bytes() for path in (folder / "server").rglob("*") if path.is_file()]
    yield Seen(
        server_memory=found_in_memory(server.pid, wanted),
        site_memory=found_in_memory(running["a"].pid, wanted),
        messages={
            name for name, text in wanted.items() if any(text in message for message in messages)
        },
        files={name for name, text in wanted.items() if any(text in file for file in files)},
        models=models,
    )
    mine.send(None)
    server.join(10)
    for line in to_sites.values():
        line.close()


def _public(one: Any) -> bytes:
    return one.key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)


def _model_at(site: Path) -> bytes:
    """Return the last model as a site's clients read it."""
    (run,) = (site / "runs").iterdir()
    kept = PrivateStore(run / "codec").read("site", ROUNDS + 1)
    assert kept is not None
    return kept["model"].tobytes()


def carried(from_server: dict[str, Any], to_sites: dict[str, Any], done: Any) -> list[bytes]:
    """Pass everything between the server and the sites until the server is done, and return every message as bytes."""
    messages = []
    while not done.poll():
        for name, here in from_server.items():
            if here.poll(0.01):
                asked = here.recv_bytes()
                to_sites[name].send_bytes(asked)
                answered = to_sites[name].recv_bytes()
                here.send_bytes(answered)
                messages += [asked, answered]
    return messages


def forbidden(agreed: Negotiated, bound: bytes, last: bytes, first: bytes) -> dict[str, bytes]:
    """Return what a server must not have: the secret in any form, the range, and pieces of the first and the last model."""
    return {
        "secret": agreed.secret,
        "secret as text": agreed.secret.hex().encode(),
        "secret of the run": bound,
        "key of a round": derive_round_key(bound, 2).key,
        "least value": np.float64(X_MIN).tobytes(),
        "greatest value": np.float64(X_MAX).tobytes(),
        "last model": last[400:432],
        "another part of the last model": last[-96:-64],
        "first model": first[400:432],
    }


@pytest.mark.slow
def test_all_sites_read_the_same_model_and_it_was_trained(seen) -> None:
    first, *others = seen.models
    assert all(other == first for other in others)
    assert np.isfinite(np.frombuffer(first, np.float32)).all()


def test_the_server_has_neither_secret_nor_range_nor_model_in_memory(seen) -> None:
    assert seen.server_memory == set()


def test_the_same_search_finds_them_at_a_site(seen) -> None:
    assert seen.site_memory >= {
        "secret of the run",
        "greatest value",
        "last model",
        "another part of the last model",
    }


def test_nor_in_what_it_got_sent_and_wrote(seen) -> None:
    assert seen.messages == set()
    assert seen.files == set()
