"""Bounds on what a site or a server may say: checked before memory or time is spent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tacit import plan, training
from tacit.deployment import bodies
from tacit.deployment.bodies import Member, OfferResponse, Terms
from tacit.deployment.plan_requirements import compute_requirements
from tacit.deployment.server.job import deploy
from tacit.deployment.site.work_clock import WorkClock
from tacit.errors import PolicyError, RunError, WireError
from tacit.privacy.policy import Policy, find_refusals
from tacit.protocol.messages import signed_message
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.local_post import owner, sites_of
from tests.simulation.small import small_plan, write_csv

SEEN = {"classes": ["no", "yes"], "ranges": {}, "categories": {}}
OPENED = {
    "clients": 7,
    "rows": 70,
    "test_rows": 0,
    "largest_weight": 1,
    "seen": SEEN,
    "nonce": b"n" * 32,
    "helper_key": b"",
}


@pytest.mark.parametrize(
    "change",
    [
        {"clients": 2**53},
        {"clients": bodies.MAX_CLIENTS + 1},
        {"seen": {**SEEN, "ranges": {"age": (float("-inf"), 3.0)}}},
        {"seen": {**SEEN, "ranges": {"age": (float("nan"), 3.0)}}},
        {"seen": {**SEEN, "ranges": {"age": (3.0, 2.0)}}},
        {"seen": {**SEEN, "ranges": {"age": (-1.7e308, 1.7e308)}}},
        {"seen": {**SEEN, "classes": [str(number) for number in range(100_000)]}},
        {"seen": {**SEEN, "classes": ["x" * 100_000]}},
        {"seen": {**SEEN, "categories": {"ward": [str(number) for number in range(100_000)]}}},
    ],
)
def test_a_site_that_says_too_much_is_refused(change: dict[str, Any]) -> None:
    bodies.unpack(msgspec.msgpack.encode(OPENED), OfferResponse)
    with pytest.raises(WireError):
        bodies.unpack(msgspec.msgpack.encode({**OPENED, **change}), OfferResponse)


def _terms(*members: Member) -> bytes:
    tree = {
        "run": "r",
        "identity": "i",
        "public": b"p" * 32,
        "largest_weight": 1,
        "seen": SEEN,
        "members": members,
    }
    return msgspec.msgpack.encode(tree)


def test_members_are_numbered_one_after_another() -> None:
    def member(site: str, first: int, clients: int) -> Member:
        return Member(site=site, first=first, clients=clients, rows=1, test_rows=0, nonce=bytes(32))

    assert bodies.unpack(_terms(member("a", 0, 3), member("b", 3, 4)), Terms).clients == 7
    for wrong in (
        (member("a", 0, 3), member("b", 2, 4)),  # two sites share a client
        (member("a", 0, 3), member("b", 9, 4)),
        (member("a", 0, 3), member("a", 3, 4)),
        tuple(
            member(str(number), number * bodies.MAX_CLIENTS, bodies.MAX_CLIENTS)
            for number in range(2)
        ),
        (),
    ):
        with pytest.raises(WireError):
            bodies.unpack(_terms(*wrong), Terms)


def test_one_bad_site_is_left_out_and_named(tmp_path: Path) -> None:
    ready = prepare_rehearsal(
        small_plan(write_csv(tmp_path / "reviews.csv"), server={"rounds": 1}), tmp_path, 3
    )
    owners = [
        owner(name, rows, tmp_path / name) for name, rows in zip("abc", ready.files, strict=True)
    ]
    sites = sites_of(owners, min_sites=3, deadline=0.1)

    def spoil(site: str, reply: bytes) -> bytes:
        message = signed_message.read(reply)
        if site != "b" or message.subject.kind != "open":
            return reply
        tree = msgspec.msgpack.decode(message.body)
        return signed_message.write(
            message.subject, msgspec.msgpack.encode({**tree, "clients": 2**53}), owners[1].key
        )

    sites.transport.spoil = spoil  # type: ignore[attr-defined]
    with pytest.raises(RunError, match=r"needs 3 sites, and 2 takes part \(b: .*<= 10000000"):
        deploy(ready.plan, sites, tmp_path / "runs", simulated_noise=True, identity="same")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"model": {"name": "mlp", "hidden": [30_000, 30_000]}}, "limits.max_parameters"),
        ({"local": {"epochs": 1_000_000_000}}, "limits.max_local_steps"),
        ({"local": {"steps": 1_000_000_000}}, "limits.max_local_steps"),
    ],
)
def test_a_plan_that_would_keep_a_site_busy_is_refused_before_rows_are_read(
    tmp_path: Path, change: Any, key: str
) -> None:
    asked = compute_requirements(small_plan(tmp_path / "nothing.csv", **change))
    assert [sentence for sentence in find_refusals(Policy(), asked) if sentence.startswith(key)]
    honest = compute_requirements(small_plan(tmp_path / "nothing.csv"))
    assert not [
        sentence
        for sentence in find_refusals(Policy(), honest)
        if sentence.startswith("limits.max_")
    ]


def test_invented_classes_are_refused_before_the_model_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand classes on 65,536 buckets would be a model of 655 million parameters."""
    monkeypatch.setattr(training, "build", lambda *_, **__: pytest.fail("the model was built"))
    settings = small_plan(
        write_csv(tmp_path / "reviews.csv"),
        server={"rounds": 1},
        features={"buckets": 65_536},
        model={"name": "logistic"},
    )
    ready = prepare_rehearsal(settings, tmp_path, 3)
    told: list[str] = []
    owners = [
        replace(owner(name, rows, tmp_path / name), tell=told.append)
        for name, rows in zip("abc", ready.files, strict=True)
    ]
    sites = sites_of(owners, min_sites=3, deadline=0.1)

    def spoil(site: str, reply: bytes) -> bytes:
        message = signed_message.read(reply)
        if site != "b" or message.subject.kind != "open":
            return reply
        tree = msgspec.msgpack.decode(message.body)
        tree["seen"]["classes"] += [f"class {number}" for number in range(9_000)]
        return signed_message.write(message.subject, msgspec.msgpack.encode(tree), owners[1].key)

    sites.transport.spoil = spoil  # type: ignore[attr-defined]
    with pytest.raises(PolicyError):
        deploy(ready.plan, sites, tmp_path / "runs", simulated_noise=True, identity="same")
    assert any(
        "limits.max_parameters = 50,000,000: the model has at least" in sentence
        for sentence in told
    )


def test_work_is_stopped_between_two_clients_when_its_time_is_over() -> None:
    seconds = iter(range(0, 10_000, 30))
    done = list[int]()
    with pytest.raises(
        PolicyError,
        match=r"limits\.max_minutes_per_round = 1: the request was stopped after 1\.5 minutes",
    ):
        done.extend(WorkClock(1.0, now=lambda: float(next(seconds))).each(range(100)))
    clock = WorkClock(1.0, now=lambda: 0.0)
    assert list(clock.each(range(5))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("model", "inputs", "classes"),
    [
        (plan.Logistic(), 100, 2),
        (plan.MLP(hidden=(30, 20)), 100, 5),
        (plan.LSTMStep(hidden=(20,), units=10), 100, 3),
    ],
)
def test_the_bound_on_parameters_is_close_to_the_size_of_the_layers(
    model: Any, inputs: int, classes: int
) -> None:
    import numpy as np

    from tacit.rows import Clients, Dense, Rows
    from tacit.training.compiled.learner import CompiledLearner

    names = tuple(str(number) for number in range(classes))
    rows = Rows(
        inputs=Dense(matrix=np.zeros((1, inputs), np.float32), width=inputs),
        labels=np.zeros(1, np.int32),
        classes=names,
    )
    learner = CompiledLearner(
        model, plan.Local(), rows, Clients(order=np.zeros(1, np.int64), starts=np.array([0, 1]))
    )
    floor = training.parameter_floor(model, inputs, classes)
    assert floor <= learner.size <= 1.2 * floor + 200
