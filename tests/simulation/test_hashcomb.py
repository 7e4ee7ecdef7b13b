"""Whole runs whose model only clients can read: near plain averaging, the same after a stop, and nothing readable at the server."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tacit import codecs, plan, simulation
from tacit.errors import PlanError, RunError, WireError
from tacit.negotiation import NegotiationTerms, save
from tacit.negotiation.result import bind_result
from tacit.protocol.loop import run_rounds, start_arm
from tacit.protocol.round import State
from tacit.protocol.site import Client
from tacit.randomness import Draws
from tacit.runs import checkpoint, record
from tacit.runs.run_folder import RECORD
from tacit.simulation import carrier as simulate
from tests.codecs.test_hashcomb import held_by
from tests.roles import decode, encode
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_exchange import CLIENTS, arm_of, desk_in, learner, train_over

FINE = plan.HashComb(x_min=-0.04, x_max=0.04, levels=10)
WEIGHTS = plan.HashComb(of="weights", x_min=-0.7, x_max=0.7, levels=14)
TABLE = {"name": "hashcomb", "x_min": -0.04, "x_max": 0.04, "levels": 10}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


@pytest.mark.parametrize("hidden", [FINE, WEIGHTS], ids=["updates", "weights"])
def test_three_rounds_end_within_quantisation_error_of_plain_averaging(tmp_path, hidden) -> None:
    made, results = learner("dense"), {}
    for name, settings in (("plain", plan.Plain()), ("hashcomb", hidden)):
        train, site = train_over(made, codecs.build(settings), folder=tmp_path / name)
        (tmp_path / f"{name}-run").mkdir()
        arm, desk = arm_of(train, made, rounds=3), desk_in(tmp_path / f"{name}-run")
        if name == "plain":
            first = made.initial(site.root.at("initial"))
            arm = replace(arm, first=lambda first=first: first)
        with simulate.simulation(site, arm.exchanges, 2) as carrier:
            after = run_rounds(arm, desk, carrier, start_arm(arm, desk, CLIENTS))
        results[name] = after.model
        if name == "hashcomb":
            assert after.model is None
            results[name] = site.model(train.build_request(state_after(after)))
            shown = [array.tobytes() for array in after.arrays.values()] + held_by(
                train.agreement.codec
            )
            secret = site._secret
            assert not any(secret in some for some in shown)
            assert not any(
                secret in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()
            )
            readable = load_file(tmp_path / "hashcomb-run" / checkpoint.NAME)
            assert not [key for key, array in readable.items() if array.dtype == np.float32], (
                "no model at the server"
            )
    half = 0.12 / 2**10 / 2
    assert (
        np.abs(results["hashcomb"] - results["plain"]).max() < 3 * 4 * half
    )  # three rounds, each starts a little off
    assert np.abs(results["plain"] - first).max() > 50 * half, "training moved far more than that"


def state_after(after: checkpoint.Checkpoint) -> State:
    return State(
        round_no=4, cohort=np.arange(CLIENTS), model=None, optimizer={}, arrays=after.arrays
    )


def test_sites_read_each_other_only_with_the_same_secret(tmp_path) -> None:
    made = learner("dense")
    train, one = train_over(
        made,
        codecs.build(plan.HashComb(x_min=-0.04, x_max=0.04, selection="subset", mean_level=4.0)),
    )
    _, other = train_over(made, train.agreement.codec)
    request = train.build_request(state_at_first())
    frames = []
    for secret in (b"a" * 16, b"a" * 16, b"b" * 16):
        other.use_secret(secret, train.agreement.codec)
        frames.append(bytes(train.respond(Client(other, other.slot(0), made.worker()), request)[1]))
    assert frames[0] == frames[1] != frames[2]
    one.use_secret(b"a" * 16, train.agreement.codec)
    total = train.empty()
    total.add(np.frombuffer(frames[2], np.uint8), 1, one.root)
    with pytest.raises(WireError, match="a token that no client of this round can have sent"):
        decode(one.codec(1), total, one.root, one.root)


def state_at_first() -> State:
    return State(round_no=1, cohort=np.arange(CLIENTS), model=None, optimizer={})


class StopError(Exception):
    pass


@pytest.mark.parametrize(
    "server",
    [{"rounds": 4}, {"rounds": 4, "optimizer": "adam", "lr": 0.01, "weights": "rows"}],
    ids=str,
)
def test_a_stopped_run_is_taken_up_to_the_bit(reviews, tmp_path, monkeypatch, server) -> None:
    job = small_plan(reviews, codec=TABLE, server=server, engine__workers=2)
    whole = simulation.start(job, tmp_path / "whole")
    write = checkpoint.write
    for number in (3, 4):
        place = tmp_path / f"stopped-{number}"
        for after_it in (False, True):
            calls = []

            def stopping(folder, now, calls=calls, after_it=after_it, number=number) -> None:
                calls.append(now)
                if len(calls) == number and not after_it:
                    raise StopError
                write(folder, now)
                if len(calls) == number:
                    raise StopError

            monkeypatch.setattr(checkpoint, "write", stopping)
            with pytest.raises(StopError):
                simulation.start(job, place)
            monkeypatch.setattr(checkpoint, "write", write)
        for folder in place.iterdir():
            simulation.resume(folder)
            assert digest(folder) == digest(whole)


def digest(folder: Path) -> str:
    return record.select_entries(list(record.read(folder / RECORD)), record.Finished, "run")[
        -1
    ].parameters_sha256


def test_the_run_learns_and_says_that_it_is_not_differentially_private(reviews, tmp_path) -> None:
    folder = simulation.start(small_plan(reviews, codec=TABLE, server__rounds=12), tmp_path)
    entries = list(record.read(folder / RECORD))
    assert record.select_entries(entries, record.Finished)[-1].metrics["accuracy"] > 0.8
    assert "not differentially private" in (folder / RECORD).read_text(encoding="utf-8")


def negotiated(folder: Path, run: str = "small", levels: int = 10) -> Path:
    agreed = bind_result(
        NegotiationTerms(run=run, parties=3, levels=levels, enlargement=2.0),
        -0.04,
        0.04,
        b"0123456789abcdef",
    )
    save(agreed, folder / "agreed.json")
    return folder / "agreed.json"


def test_a_negotiated_file_gives_a_run_its_range_and_secret(reviews, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # draws depend on the path as the plan spells it
    agreed = negotiated(tmp_path)
    folder = simulation.start(
        small_plan(
            reviews,
            codec={"name": "hashcomb", "agreed": agreed.name, "levels": 10},
            server__rounds=12,
        ),
        tmp_path,
    )
    entries = list(record.read(folder / RECORD))
    assert record.select_entries(entries, record.Finished)[-1].metrics["accuracy"] > 0.8
    kept = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert b"0123456789abcdef" not in kept
    assert b"0123456789abcdef".hex().encode() not in kept


@pytest.mark.parametrize(
    ("made_for", "levels", "error", "said"),
    [
        ("other", 10, RunError, "negotiated for run 'other', not for 'small'"),
        ("small", 9, PlanError, "was negotiated with 9"),
    ],
)
def test_a_file_of_another_run_or_plan_is_refused_before_anything_is_made(
    reviews, tmp_path, made_for, levels, error, said
) -> None:
    job = small_plan(
        reviews,
        codec={
            "name": "hashcomb",
            "agreed": str(negotiated(tmp_path, made_for, levels)),
            "levels": 10,
        },
    )
    with pytest.raises(error, match=said):
        simulation.start(job, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_plan_states_its_range_or_names_the_file_that_does(reviews) -> None:
    with pytest.raises(
        PlanError,
        match=r"x_min and codec\.x_max are required: the minimum and maximum of a parameter",
    ):
        small_plan(reviews, codec={"name": "hashcomb"})
    with pytest.raises(PlanError, match=r"codec\.agreed cannot be combined with codec\.x_min"):
        small_plan(reviews, codec={**TABLE, "agreed": "agreed.json"})


def test_randomised_levels_under_tokens_are_read_by_clients_and_charged_as_without(
    reviews, tmp_path
) -> None:
    table = {"name": "rqm", "clip": 0.01, "margin": 0.01, "levels": 5}
    jobs = [
        small_plan(reviews, codec={**table, "tokens": tokens}, server__rounds=2)
        for tokens in (False, True)
    ]
    bare, under = (simulation.start(job, tmp_path) for job in jobs)
    assert "model" not in load_file(under / checkpoint.NAME)
    spent = [
        record.select_entries(list(record.read(folder / RECORD)), record.Spent, "run")[-1].totals
        for folder in (bare, under)
    ]
    assert spent[0] == spent[1]


def test_layers_have_ranges_of_their_own_and_what_may_be_clamped_is_recorded(
    reviews, tmp_path
) -> None:
    table = {"name": "hashcomb", "x_min": [-0.04, -0.3], "x_max": [0.04, 0.3], "levels": 10}
    wide = simulation.start(small_plan(reviews, codec=table, server__rounds=3), tmp_path)
    shares = [
        entry.metrics["clamped_at_most"]
        for entry in record.select_entries(list(record.read(wide / RECORD)), record.Round)
    ]
    assert len(shares) == 3
    assert max(shares) < 0.01
    narrow = {**table, "x_min": [-1e-4, -1e-4], "x_max": [1e-4, 1e-4]}
    tight = simulation.start(small_plan(reviews, codec=narrow, server__rounds=1), tmp_path)
    assert (
        record.select_entries(list(record.read(tight / RECORD)), record.Round)[0].metrics[
            "clamped_at_most"
        ]
        > 0.03
    ), "most parameters do not move"
    with pytest.raises(
        PlanError,
        match=(
            r"codec.x_min must have one value for each of 2 layers \(2,408, 9 parameters\), got 3"
        ),
    ):
        simulation.start(
            small_plan(reviews, codec={**table, "x_min": [-1, -1, -1], "x_max": [1, 1, 1]}),
            tmp_path,
        )


def test_a_range_per_layer_reads_each_layer_by_its_own() -> None:
    settings = plan.HashComb(x_min=(-0.1, -10.0), x_max=(0.1, 10.0), levels=12)
    with pytest.raises(PlanError, match="2 layers"):
        codecs.build(
            replace(settings, x_min=(-1.0,), x_max=(1.0,)),
            codecs.Extent(rounds=1, cohort=1, layers=(2, 3)),
        )
    made = codecs.build(settings, codecs.Extent(rounds=1, cohort=1, layers=(2, 3))).keyed(
        b"k" * 16, 1
    )
    update = np.array([0.05, -0.09, 5, -9, 0], np.float32)
    total = made.empty(5)
    unused = Draws(b"")
    total.add(encode(made, update, unused, unused).payload, 1, unused)
    read = decode(made, total, unused, unused)
    np.testing.assert_allclose(read, update, atol=15 / (2**12 - 1) + 1e-6)
    assert abs(read[:2] - update[:2]).max() < 0.15 / 2**11
    assert read[4] == 0
