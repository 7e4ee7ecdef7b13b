"""Runs in which a part of the model stays: nothing of it leaves, and kills or workers change nothing."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tacit import plan, simulation
from tacit.protocol import messages
from tacit.protocol.exchanges import batch
from tacit.protocol.exchanges.train import Train
from tacit.runs import checkpoint, record, run_folder
from tacit.runs.run_folder import RECORD
from tacit.simulation.evaluate_clients import geometric, over_rounds, remember
from tests.simulation.small import small_plan, write_csv
from tests.simulation.worded import worded_plan

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv", rows=200)


def finished(folder: Path) -> record.Finished:
    return record.select_entries(list(record.read(folder / RECORD)), record.Finished, "run")[-1]


def everything_that_left(monkeypatch, where: Path) -> None:
    """Append every frame that a client sends, and every model it is sent, to a file; children inherit this."""
    encoded, ask = Train.build_message, Train.build_request

    def keep(frame: messages.Frame) -> None:
        with where.open("ab") as file:
            file.write(bytes(frame[0]) + bytes(frame[1]))

    def keep_encoded(*arguments):
        frame = encoded(*arguments)
        keep(frame)
        return frame

    def keep_asked(*arguments):
        request = ask(*arguments)
        keep(request.frame)
        return request

    monkeypatch.setattr(
        batch, "train_together", batch.respond_one_by_one
    )  # every answer as a message of its own
    monkeypatch.setattr(Train, "build_message", keep_encoded)
    monkeypatch.setattr(Train, "build_request", keep_asked)


CASES = {
    "fedvocab": {"words": "all", "adapt": "pass"},
    "fedvocab keyed": {"words": "all", "adapt": "pass", "rows": "keyed"},
    "lg-fedavg": {"words": "all", "parameters": ["reader.*"]},
    "stateless": {"words": "all", "adapt": "reconstruct", "store": "none"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_private_parameter_is_in_any_byte_that_leaves(
    reviews, tmp_path, monkeypatch, name
) -> None:
    """Walk every byte of all messages, the checkpoint, the record and the model file at all offsets.

    A four-byte value can appear by chance; sixteen bytes of a table row (four neighbouring values) cannot.
    """
    sent = tmp_path / "sent.bin"
    everything_that_left(monkeypatch, sent)
    folder = simulation.start(worded_plan(reviews, CASES[name]), tmp_path / "runs")
    shared = sum(array.size for array in load_file(folder / "model.safetensors").values())
    end = finished(folder)
    assert 4 * shared <= end.bytes_up < 4 * shared + 200
    assert not any(
        "words" in key
        for key in load_file(folder / "model.safetensors")
        if load_file(folder / "model.safetensors")[key].size
    )
    assert len(checkpoint.read(folder).model) == shared
    haystacks = [
        sent.read_bytes(),
        *((folder / file).read_bytes() for file in (checkpoint.NAME, RECORD, "model.safetensors")),
    ]
    needles = set()
    for path in (folder / "private").rglob("*.safetensors"):
        for array in load_file(path).values():
            flat = np.ascontiguousarray(array).ravel()
            needles |= {
                flat[i : i + 4].tobytes()
                for i in range(0, len(flat) - 3, 4)
                if np.count_nonzero(flat[i : i + 4]) == 4
            }
    assert needles or name == "stateless"
    for haystack in haystacks:
        assert not needles & {haystack[i : i + 16] for i in range(len(haystack) - 15)}


def test_the_walk_finds_what_does_leave(reviews, tmp_path, monkeypatch) -> None:
    """Positive control: with shared words, rows of the shared table are in what is sent."""
    sent = tmp_path / "sent.bin"
    everything_that_left(monkeypatch, sent)
    folder = simulation.start(worded_plan(reviews, {}, server={"rounds": 1}), tmp_path / "runs")
    table = np.concatenate([array.ravel() for array in engine_initial(folder).values()])
    assert table[8:12].tobytes() in sent.read_bytes()


def engine_initial(folder: Path) -> dict[str, np.ndarray]:
    from tacit.protocol.loop import Desk
    from tacit.randomness import Draws
    from tacit.simulation.arm import Setting, SimulatedArm
    from tacit.simulation.prepared_rows import prepare

    job = run_folder.read_plan(folder)
    draws = Draws.seeded(job.seed)
    desk = Desk(folder=folder / "elsewhere", writer=None, observer=simulation.Silence())
    learner = SimulatedArm(
        Setting(desk=desk, draws=draws, data=prepare(job, draws)), "run", job
    ).learner
    return learner.tensors(learner.initial(draws.at("initial")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "private", [*CASES.values(), {"words": "digits", "adapt": "reconstruct", "store": "none"}]
)
def test_one_and_two_workers_end_with_the_same_bits(reviews, tmp_path, private) -> None:
    ends = [
        finished(simulation.start(worded_plan(reviews, private, engine={"workers": n}), tmp_path))
        for n in (1, 2)
    ]
    assert ends[0].parameters_sha256 == ends[1].parameters_sha256
    assert ends[0].metrics == ends[1].metrics


@pytest.mark.slow
def test_kills_change_nothing(reviews, tmp_path) -> None:
    """kill -9 in the middle of rounds 2 and 4, when some clients have already kept a new private part."""
    job = worded_plan(reviews, server={"rounds": 5, "cohort": "count", "cohort_size": 4})
    calm = simulation.start(job, tmp_path / "calm")
    path = tmp_path / "plan.toml"
    path.write_text(plan.to_toml(job))
    driver = [
        sys.executable,
        str(Path(__file__).with_name("personal_driver.py")),
        str(path),
        str(tmp_path / "killed"),
        "2",
        "4",
    ]
    told = subprocess.run(driver, capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == [-signal.SIGKILL, -signal.SIGKILL, 0], told.stderr
    killed = next((tmp_path / "killed").glob("*-1"))
    assert finished(killed).parameters_sha256 == finished(calm).parameters_sha256
    assert finished(killed).metrics == finished(calm).metrics
    kept, kept_calmly = (
        sorted((folder / "private").rglob("*.safetensors")) for folder in (killed, calm)
    )
    assert [file.read_bytes() for file in kept] == [file.read_bytes() for file in kept_calmly]


def test_a_module_of_ones_own_keeps_the_named_layers(reviews, tmp_path) -> None:
    job = small_plan(
        reviews, model={"name": "tests.simulation.modules:Tiny"}, private={"parameters": ["first.*"]}, codec={"name": "plain"},
        server={"rounds": 3},
    )  # fmt: skip
    folder = simulation.start(job, tmp_path)
    assert set(load_file(folder / "model.safetensors")) == {"last.weight", "last.bias"}
    kept = load_file(next((folder / "private" / "run" / "0").glob("*.safetensors")))
    assert set(kept) == {"first.weight", "first.bias"}


@pytest.mark.slow
def test_private_words_learn_and_a_client_keeps_two_versions_of_them_at_most(
    reviews, tmp_path
) -> None:
    folder = simulation.start(worded_plan(reviews, server={"rounds": 12}), tmp_path)
    assert finished(folder).metrics["local_accuracy"] > 0.75
    assert all(
        len(list(client.iterdir())) == 2 for client in (folder / "private" / "run").iterdir()
    )


def test_alone_every_client_is_measured(reviews, tmp_path) -> None:
    job = worded_plan(
        reviews,
        {"words": "all"},
        regime="local_only",
        local={"epochs": 10, "lr": 0.05, "batch": 8},
        server={"rounds": 1},
    )
    end = finished(simulation.start(job, tmp_path))
    assert end.bytes_up == 0
    assert 0 < end.metrics["global_accuracy"] <= 1


def test_over_rounds_count_clients_never_seen_as_zero() -> None:
    evaluated = [
        record.ClientsEvaluated(
            arm="run",
            round_no=1,
            clients=[0, 2],
            global_accuracy=[0.5, 0.8],
            local_accuracy=[1.0, 0.5],
        ),
        record.ClientsEvaluated(
            arm="run", round_no=2, clients=[0], global_accuracy=[0.7], local_accuracy=[0.4]
        ),
    ]
    found = over_rounds(remember(remember({}, evaluated[0], 3), evaluated[1], 3))
    assert found["best_global"] == pytest.approx((0.7 + 0 + 0.8) / 3)
    assert found["best_local"] == pytest.approx((1.0 + 0 + 0.5) / 3)
    assert found["best_global_seen"] == pytest.approx(0.75)
    assert geometric([0.25, 1.0]) == pytest.approx(0.5)
