"""FedVocab's tables: every plan is sound, the methods differ in settings alone, and messages are as long as they should be."""

import pytest

from tacit import plan
from tacit_papers.fedvocab import PAPER
from tacit_papers.fedvocab.message_bytes import message_bytes
from tacit_papers.fedvocab.settings import BILSTM, METHODS, trial


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
def test_every_trial_is_a_sound_plan(scale) -> None:
    runs = {
        run.key: run
        for table in PAPER.tables(scale)
        for cell in table.cells
        for run in cell.trial.runs
    }
    plans = [plan.parse(run.settings) for run in runs.values() if run.kind == "plan"]
    assert len(plans) >= 16
    assert {one.codec.name for one in plans} == {"plain"}


def test_methods_differ_in_what_stays_how_it_adapts_and_the_pull_alone() -> None:
    plans = [
        trial(BILSTM, "sst2", method, "full").settings
        for method in METHODS.values()
        if not method.alone
    ]
    for one in plans:
        one["local"] = {
            key: value for key, value in one["local"].items() if key not in ("method", "proximal")
        }
        del one["private"]
    assert all(one == plans[0] for one in plans)


def test_fedvocab_sends_84_times_less_than_fedavg_with_the_papers_table() -> None:
    figures = message_bytes(
        words=400_000, width=300, hidden=300, private_words="all", private_reader=False
    )["last"]
    assert figures["ratio"] == pytest.approx(84.0, abs=0.1)
    assert figures["bytes"] == pytest.approx(4 * 1_445_401, abs=100)


def test_digits_alone_save_little() -> None:
    figures = message_bytes(
        words=400_000, width=300, hidden=300, private_words="digits", private_reader=False
    )["last"]
    assert 1.0 < figures["ratio"] < 1.05
