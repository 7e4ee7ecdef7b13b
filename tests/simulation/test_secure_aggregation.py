"""A secure sum through the simulator: the same model as the plain sum where no noise differs, and helpers that keep their word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit import simulation
from tacit.protocol import messages
from tacit.protocol.exchanges.helper_sums import HelperSums
from tacit.protocol.exchanges.secure_train import SecureTrain
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation import job
from tacit.simulation.fingerprint import compute_data_fingerprints
from tests.simulation.small import small_plan, write_csv

DP_SUM = {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def entries(folder: Path) -> list[record.Entry]:
    return list(record.read(folder / RECORD))


def finished(folder: Path) -> record.Finished:
    return record.select_entries(entries(folder), record.Finished, "run")[-1]


@pytest.fixture
def one_identity(monkeypatch) -> None:
    """The plan's fingerprint is in the addresses of noise; here the table under test is left out of it."""
    monkeypatch.setattr(
        job,
        "compute_data_fingerprints",
        lambda plan, data: compute_data_fingerprints(replace(plan, secure_aggregation=None), data),
    )


@pytest.mark.parametrize(
    "secure", [{"helpers": 1}, {"helpers": 3}, {"helpers": 2, "post_quantum": True}]
)
def test_bits_give_the_same_model_as_without_it(reviews, tmp_path, secure, one_identity) -> None:
    plain = simulation.start(small_plan(reviews, server__rounds=2), tmp_path)
    shared = simulation.start(
        small_plan(reviews, server__rounds=2, secure_aggregation=secure), tmp_path
    )
    assert finished(shared).parameters_sha256 == finished(plain).parameters_sha256
    assert not record.select_entries(entries(shared), record.Refused)


@pytest.mark.parametrize("name", ["onebit", "skellam"])
def test_codecs_whose_clients_make_the_noise_give_the_same_model_as_without_it(
    reviews, tmp_path, name, one_identity
) -> None:
    settings = {"codec": {**DP_SUM, "name": name, "epsilon": 4.0}, "server__rounds": 2}
    plain = simulation.start(small_plan(reviews, **settings), tmp_path)
    shared = simulation.start(
        small_plan(reviews, secure_aggregation={"helpers": 2}, **settings), tmp_path
    )
    assert finished(shared).parameters_sha256 == finished(plain).parameters_sha256
    assert not record.select_entries(entries(shared), record.Refused)
    told = record.select_entries(entries(shared), record.Released)[-1].promise
    assert "it does not collude with its helpers" in told.trust[0]


def test_helpers_add_up_no_fewer_clients_than_the_codec_counts_on(reviews, tmp_path) -> None:
    codec = {**DP_SUM, "name": "onebit", "epsilon": 4.0, "reporters": 0.8}
    server = {"rounds": 4, "cohort": "poisson", "cohort_size": 12}
    folder = simulation.start(
        small_plan(reviews, codec=codec, secure_aggregation={"min_clients": 2}, server=server),
        tmp_path,
    )
    lost = record.select_entries(entries(folder), record.Refused)
    sizes = {
        entry.round_no: entry.cohort
        for entry in record.select_entries(entries(folder), record.Round, "run")
    }
    assert [entry.round_no for entry in lost] == [
        number for number, size in sizes.items() if size < 9
    ]
    assert all("requires at least 9" in entry.reason for entry in lost)


def test_helpers_add_the_noise_of_dp_sum(reviews, tmp_path) -> None:
    folder = simulation.start(
        small_plan(reviews, codec=DP_SUM, secure_aggregation={"helpers": 2}, server__rounds=3),
        tmp_path,
    )
    told = record.select_entries(entries(folder), record.Released)[-1].promise
    assert "each of 2 helpers adds" in told.mechanism
    assert told.view == "everyone"
    assert not record.select_entries(entries(folder), record.Refused)
    assert finished(folder).metrics["accuracy"] > 0.4
    assert np.isfinite(finished(folder).metrics["loss"])


def test_a_round_with_too_few_clients_is_lost_and_named(reviews, tmp_path) -> None:
    server = {"rounds": 4, "cohort": "poisson", "cohort_size": 10}
    folder = simulation.start(
        small_plan(reviews, codec=DP_SUM, secure_aggregation={"min_clients": 10}, server=server),
        tmp_path,
    )
    lost = record.select_entries(entries(folder), record.Refused)
    sizes = {
        entry.round_no: entry.cohort
        for entry in record.select_entries(entries(folder), record.Round, "run")
    }
    assert [entry.round_no for entry in lost] == [
        number for number, size in sizes.items() if size < 10
    ]
    assert lost
    assert "secure aggregation requires at least 10" in lost[0].reason
    metrics = {
        entry.round_no: entry.metrics
        for entry in record.select_entries(entries(folder), record.Round, "run")
    }
    assert all(
        metrics[entry.round_no] == metrics[entry.round_no - 1]
        for entry in lost
        if entry.round_no > 1
    )


def test_a_run_stopped_after_helpers_answered_goes_on_with_their_answers(
    reviews, tmp_path, monkeypatch
) -> None:
    """The stop comes in the second round, between the helper's answer and the checkpoint; sealing seeds anew changes nothing."""
    planned = small_plan(
        reviews, codec=DP_SUM, secure_aggregation={}, server__rounds=3, engine__workers=1
    )
    whole = simulation.start(planned, tmp_path / "calm")
    close, stops, watch = HelperSums.close, [2], Opened()

    def stopping(self, state, total):
        if state.round_no == stops[0]:
            raise KeyboardInterrupt
        return close(self, state, total)

    monkeypatch.setattr(HelperSums, "close", stopping)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(planned, tmp_path / "stopped", watch)
    stored = next(watch.folder.glob("private/run.helpers/1/*.safetensors"))
    before = stored.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        simulation.resume(watch.folder)
    assert stored.read_bytes() == before
    stops[0] = 0
    simulation.resume(watch.folder)
    assert finished(watch.folder).parameters_sha256 == finished(whole).parameters_sha256
    assert not record.select_entries(entries(watch.folder), record.Refused)


def test_a_resumed_server_that_asks_for_another_set_gets_nothing(
    reviews, tmp_path, monkeypatch
) -> None:
    planned = small_plan(
        reviews, codec=DP_SUM, secure_aggregation={}, server__rounds=2, engine__workers=1
    )
    watch, close = Opened(), HelperSums.close

    def stopping(self, state, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(HelperSums, "close", stopping)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(planned, tmp_path, watch)
    monkeypatch.setattr(HelperSums, "close", close)
    ask = HelperSums.build_request

    def fewer(self, state):
        del state.pending.envelopes[3]
        return ask(self, state)

    monkeypatch.setattr(HelperSums, "build_request", fewer)
    simulation.resume(watch.folder)
    refused = record.select_entries(entries(watch.folder), record.Refused)
    assert [(entry.round_no, entry.sender) for entry in refused] == [(1, "helper 1"), (2, "server")]
    assert "round 1 already has a response for another set of clients or seeds" in refused[0].reason
    assert (
        "cannot add up to numbers this large" in refused[1].reason
    )  # the share without an envelope keeps its mask


def test_messages_that_are_no_shares_are_refused(reviews, tmp_path, monkeypatch) -> None:
    """One client's share is cut short, another's says another round: the server leaves both out, and the rest add up."""
    encoded = SecureTrain.build_message

    def cut(self, client, model, update, request):
        head, payload = encoded(self, client, model, update, request)
        if client.slot.name == 4:
            header = self.header(client, request.round_no, payload.nbytes - 4)
            return messages.frame(header, np.frombuffer(payload[4:], np.uint8))
        if client.slot.name == 5:
            return messages.frame(
                self.header(client, request.round_no + 1, payload.nbytes),
                np.frombuffer(payload, np.uint8),
            )
        return head, payload

    monkeypatch.setattr(SecureTrain, "build_message", cut)
    folder = simulation.start(
        small_plan(reviews, codec=DP_SUM, secure_aggregation={}, server__rounds=1), tmp_path
    )
    refused = {
        entry.sender: entry.reason
        for entry in record.select_entries(entries(folder), record.Refused)
    }
    assert set(refused) == {"4", "5"}
    assert "payload_size" in refused["4"]
    assert "round" in refused["5"]


def test_a_helper_refuses_what_is_no_question(reviews, tmp_path, monkeypatch) -> None:
    """A question whose length and number of clients do not fit together, and one with no clients at all."""
    ask = HelperSums.build_request

    def bent(self, state):
        request = ask(self, state)
        payload = np.frombuffer(request.frame[1], np.uint8)
        payload = payload[:-1] if state.round_no == 1 else payload[:0]
        count = len(state.pending.envelopes) if state.round_no == 1 else 0
        header = messages.Header(
            self.terms.run, state.round_no, 0, self.name, self.terms.size, count, payload.nbytes
        )
        return replace(request, frame=messages.frame(header, payload))

    monkeypatch.setattr(HelperSums, "build_request", bent)
    folder = simulation.start(
        small_plan(reviews, codec=DP_SUM, secure_aggregation={}, server__rounds=2), tmp_path
    )
    refused = [entry.reason for entry in record.select_entries(entries(folder), record.Refused)]
    assert len(refused) == 2
    assert "helper 1 refused: 20 clients need 4,000 bytes, got 3,999" in refused[0]
    assert "helper 1 refused: a set must have at least 10 clients, got 0" in refused[1]


def test_a_part_for_another_set_or_other_terms_is_not_added(reviews, tmp_path, monkeypatch) -> None:
    """A helper that answers for something else than it was asked: its part would leave the sum random, so the round is lost."""
    answer = HelperSums.respond

    def elsewhere(self, helper, request):
        head, payload = answer(self, helper, request)
        changed = np.frombuffer(payload, np.uint8).copy()
        changed[-1] ^= 1
        return head, changed.data

    monkeypatch.setattr(HelperSums, "respond", elsewhere)
    folder = simulation.start(
        small_plan(reviews, codec=DP_SUM, secure_aggregation={"helpers": 2}, server__rounds=1),
        tmp_path,
    )
    refused = record.select_entries(entries(folder), record.Refused)
    assert [entry.sender for entry in refused] == ["helper 1", "helper 2"]
    assert all(
        "its part is for another set of clients, or for a run with another plan" in entry.reason
        for entry in refused
    )


class Opened(simulation.Silence):
    """Remembers the folder."""

    def opened(self, folder: Path) -> None:
        self.folder = folder
