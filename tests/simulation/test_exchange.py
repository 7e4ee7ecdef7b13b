"""The round's own path: batched answers equal single ones to the bit, and what was not agreed on is refused and named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit import codecs, plan, training
from tacit.codecs import Codec, EncodedUpdate
from tacit.codecs.sums import FloatSum
from tacit.errors import RunError
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges import batch
from tacit.protocol.exchanges.train import Train
from tacit.protocol.loop import Arm, Desk, Evaluation, run_rounds, start_arm
from tacit.protocol.observer import Silence
from tacit.protocol.round import Request, State, gather
from tacit.protocol.site import Client, Site
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Rows, Sparse
from tacit.runs import record
from tacit.simulation import carrier as simulate
from tests.laws.codec_cases import ALL, built, label

CLIENTS = 9
ROOT = Draws.seeded(3)


def rows(kind: str) -> Rows:
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 60).astype(np.int32)
    if kind == "dense":
        inputs = Dense(matrix=random.normal(size=(60, 12)).astype(np.float32), width=12)
    else:
        inputs = Sparse(
            starts=np.arange(0, 241, 4),
            columns=random.integers(0, 40, 240).astype(np.int32),
            values=None,
            width=40,
        )
    return Rows(inputs=inputs, labels=labels, classes=("no", "yes"))


def learner(kind: str) -> training.Learner:
    held = Clients(order=np.arange(60), starts=np.linspace(0, 60, CLIENTS + 1).astype(np.int64))
    return training.build(plan.MLP(hidden=(3,)), plan.Local(epochs=2, batch=4), rows(kind), held)


def train_over(
    made: training.Learner, settings: Codec, weights: str = "rows", folder=None
) -> tuple[Train, Site]:
    agreement = Agreement(
        run="run-1", identity="i", dim=made.size, codec=settings, public=ROOT.publish("public"),
        server=plan.Server(weights=weights), largest_weight=60,
    )  # fmt: skip
    return Train(agreement, ROOT), Site(
        agreement,
        range(CLIENTS),
        ROOT,
        np.diff(np.linspace(0, 60, CLIENTS + 1).astype(int)),
        made,
        folder,
    )


def asked(train: Train, made: training.Learner) -> Request:
    first = made.initial(Draws.seeded(0))
    return train.build_request(
        State(round_no=1, cohort=np.arange(CLIENTS), model=first, optimizer={})
    )


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("case", ALL, ids=label)
def test_the_batched_path_equals_single_answers_to_the_bit(case, kind) -> None:
    made = learner(kind)
    train, site = train_over(made, built(case))
    request = asked(train, made)
    together = batch.train_together(train, site, made.worker(), request)
    alone = batch.respond_one_by_one(train, site, made.worker(), request)
    assert together.total.pack().tobytes() == alone.total.pack().tobytes()
    assert (together.total.weight, together.clients, together.bytes_up) == (
        alone.total.weight,
        alone.clients,
        alone.bytes_up,
    )


def test_a_torch_module_answers_the_same_both_ways() -> None:
    pytest.importorskip("torch")
    held = Clients(order=np.arange(60), starts=np.linspace(0, 60, CLIENTS + 1).astype(np.int64))
    made = training.build(
        plan.OwnModule(name="tests.simulation.modules:Tiny"),
        plan.Local(epochs=1, batch=4),
        rows("dense"),
        held,
    )
    train, site = train_over(made, codecs.build(ALL[1]))
    request = asked(train, made)
    together = batch.train_together(train, site, made.worker(), request)
    assert (
        together.total.pack().tobytes()
        == batch.respond_one_by_one(train, site, made.worker(), request).total.pack().tobytes()
    )


def test_a_message_owns_its_bytes() -> None:
    made = learner("dense")
    train, site = train_over(made, codecs.build(plan.Plain()))
    request, worker = asked(train, made), made.worker()
    first = train.respond(Client(site, site.slot(0), worker), request)
    before = bytes(first[1])
    train.respond(Client(site, site.slot(1), worker), request)
    assert bytes(first[1]) == before


def changed(
    frame: messages.Frame, payload: bytes | None = None, **header: object
) -> messages.Frame:
    message = messages.parse(*frame)
    body = np.frombuffer(payload if payload is not None else bytes(frame[1]), np.uint8)
    values = {name: getattr(message.header, name) for name in message.header.__struct_fields__}
    return messages.frame(
        messages.Header(**{**values, "payload_size": body.nbytes, **header}), body
    )


BAD = {
    "a weight of a million": lambda frame: changed(frame, weight=10**6),
    "a weight that would wrap": lambda frame: changed(frame, weight=2**62),
    "no weight": lambda frame: changed(frame, weight=0),
    "a stranger": lambda frame: changed(frame, sender=CLIENTS + 5),
    "another round": lambda frame: changed(frame, round_no=2),
    "another run": lambda frame: changed(frame, run="run-2"),
    "another codec": lambda frame: changed(frame, codec="rr"),
    "another size": lambda frame: changed(frame, dim=7),
    "a short payload": lambda frame: changed(frame, bytes(frame[1])[:-4]),
    "NaN": lambda frame: changed(
        frame, np.full(messages.parse(*frame).header.dim, np.nan, np.float32).tobytes()
    ),
    "an infinite value": lambda frame: changed(
        frame, bytes(frame[1])[:-4] + np.float32(np.inf).tobytes()
    ),
    "noise": lambda frame: (b"TAC1" + bytes(30), frame[1]),
}


@pytest.mark.parametrize("what", BAD)
def test_what_was_not_agreed_on_is_refused_with_nothing_added(what) -> None:
    made = learner("sparse")
    train, site = train_over(made, codecs.build(plan.Plain()))
    request = asked(train, made)
    frames = [
        train.respond(Client(site, site.slot(name), made.worker()), request)
        for name in range(CLIENTS)
    ]
    honest = gather(train, Intake(range(CLIENTS), 1, 60), frames)
    bad = BAD[what](frames[4])
    found = gather(train, Intake(range(CLIENTS), 1, 60), [*frames[:4], bad, *frames[4:]])
    assert len(found.refused) == 1
    assert "refused" in found.refused[0].reason
    assert found.total.pack().tobytes() == honest.total.pack().tobytes(), (
        "the honest answer is still counted"
    )


def test_the_same_sender_counts_once_however_often_it_comes() -> None:
    made = learner("sparse")
    train, site = train_over(made, codecs.build(plan.Plain()))
    frame = train.respond(Client(site, site.slot(2), made.worker()), asked(train, made))
    found = gather(train, Intake(range(CLIENTS), 1, 60), [frame] * 1000)
    assert (found.clients, len(found.refused)) == (1, 999)
    assert found.total.weight == site.weight(site.slot(2))


class OneRefused:
    """A carrier that lets one client send what is not finite."""

    def __init__(self, inner: simulate.Simulation, bad: set[int]) -> None:
        self.inner, self.clients, self.bad = inner, inner.clients, bad

    def willing(self, cohort):
        return cohort

    def carry(self, exchange, request, tick):
        site = self.inner.site
        frames = [
            exchange.respond(Client(site, site.slot(name), site.learner.worker()), request)
            for name in request.to.tolist()
        ]
        frames = [
            BAD["NaN"](frame) if name in self.bad else frame for name, frame in enumerate(frames)
        ]
        return gather(exchange, Intake(request.to.tolist(), request.round_no, 60), frames)

    def read(self, request):
        return None


class NoFigures:
    def after_round(self, model, state, history):
        return Evaluation()

    def at_the_end(self, model, rounds, history):
        return Evaluation()


def arm_of(train: Train, made: training.Learner, rounds: int = 2) -> Arm:
    job = plan.Plan(server=plan.Server(rounds=rounds, weights="rows"))
    first = None if train.agreement.codec.decoded_by == "clients" else made.initial(Draws.seeded(0))
    return Arm(
        name="run",
        plan=job,
        exchanges=(train,),
        first=lambda: first,
        evaluator=NoFigures(),
        draws=ROOT,
        optimizer=train.agreement.optimizer,
    )


def desk_in(folder) -> Desk:
    return Desk(
        folder=folder, writer=record.Writer(folder / "record.jsonl", None), observer=Silence()
    )


def test_refusals_are_named_in_the_record_and_the_run_goes_on(tmp_path) -> None:
    made = learner("sparse")
    train, site = train_over(made, codecs.build(plan.Plain()))
    arm, desk = arm_of(train, made), desk_in(tmp_path)
    carrier = OneRefused(simulate.Simulation(site, None, 1), {4})
    after = run_rounds(arm, desk, carrier, start_arm(arm, desk, CLIENTS))
    assert np.isfinite(after.model).all()
    refused = record.select_entries(list(record.read(tmp_path / "record.jsonl")), record.Refused)
    assert [(entry.round_no, entry.exchange, entry.sender) for entry in refused] == [
        (1, "train", "4"),
        (2, "train", "4"),
    ]
    assert "finite" in refused[0].reason


def test_a_round_in_which_every_answer_is_refused_stops_the_run(tmp_path) -> None:
    made = learner("sparse")
    train, site = train_over(made, codecs.build(plan.Plain()))
    arm, desk = arm_of(train, made), desk_in(tmp_path)
    with pytest.raises(RunError, match="diverged"):
        run_rounds(
            arm,
            desk,
            OneRefused(simulate.Simulation(site, None, 1), set(range(CLIENTS))),
            start_arm(arm, desk, CLIENTS),
        )


def test_the_charge_is_on_disk_before_anybody_answers(tmp_path) -> None:
    made = learner("sparse")
    train, site = train_over(made, codecs.build(ALL[1]))
    arm, desk = arm_of(train, made), desk_in(tmp_path)
    seen = []

    class Looks(OneRefused):
        def carry(self, exchange, request, tick):
            seen.append(
                [
                    entry.round_no
                    for entry in record.select_entries(
                        list(record.read(tmp_path / "record.jsonl")), record.Released
                    )
                ]
            )
            return super().carry(exchange, request, tick)

    run_rounds(
        arm, desk, Looks(simulate.Simulation(site, None, 1), set()), start_arm(arm, desk, CLIENTS)
    )
    assert seen == [[1], [1, 2]]


def counting(decoded_by: str = "server") -> Codec:
    """A codec that uses everything the contract offers: memory, and decoding by clients."""
    plain = codecs.build(plan.Plain())

    def encode(update, memory, *, own, public) -> EncodedUpdate:
        count = memory.get("count", np.zeros(1, np.float32)) + 1
        payload = np.round(update * 1024).astype(np.float32).view(np.uint8)
        return EncodedUpdate(payload=payload, memory={"count": count})

    def decode(total: FloatSum, *, public, own) -> np.ndarray:
        return (total.value() / total.weight / 1024).astype(np.float32)

    return replace(
        plain,
        name="counting",
        encoder=encode,
        decoder=decode,
        decoded_by=decoded_by,
        takes_updates=False,
    )


@pytest.mark.parametrize("decoded_by", ["server", "clients"])
def test_a_codec_with_memory_and_any_decoder(tmp_path, decoded_by) -> None:
    made = learner("sparse")
    results = {}
    for name, settings in (
        ("plain", codecs.build(plan.Plain())),
        ("counting", counting(decoded_by)),
    ):
        train, site = train_over(made, settings, folder=tmp_path / name)
        folder = tmp_path / f"{name}-run"
        folder.mkdir()
        arm, desk = arm_of(train, made, rounds=3), desk_in(folder)
        with simulate.simulation(site, arm.exchanges, 2) as carrier:
            if decoded_by == "clients" and name == "plain":
                first = made.initial(site.root.at("initial"))
                arm = replace(arm, first=lambda first=first: first)
            after = run_rounds(arm, desk, carrier, start_arm(arm, desk, CLIENTS))
            state = State(
                round_no=4,
                cohort=np.arange(CLIENTS),
                model=after.model,
                optimizer=after.state,
                arrays=after.arrays,
            )
            results[name] = (
                after.model if after.model is not None else carrier.read(train.build_request(state))
            )
        assert (after.model is None) == (decoded_by == "clients" and name == "counting")
    np.testing.assert_allclose(results["counting"], results["plain"], atol=2e-3)
    train, site = train_over(made, counting(), folder=tmp_path / "counting")
    assert site.memory(site.slot(0), 9)["count"] == 3, "the client remembers from round to round"
