"""FedVocab's tables: every plan is sound, the methods differ in settings alone, and messages are as long as they should be."""

import pytest

from tacit import plan
from tacit.papers import fedvocab
from tacit.papers.message_bytes import message_bytes


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
def test_every_trial_is_a_sound_plan(scale) -> None:
    trials = {cell.trial.key: cell.trial for table in fedvocab.tables(scale) for cell in table.cells if cell.trial.kind == "plan"}
    assert len(trials) >= 16
    for trial in trials.values():
        assert plan.parse(trial.settings).codec.name == "plain"


def test_methods_differ_in_what_stays_how_it_adapts_and_the_pull_alone() -> None:
    plans = [fedvocab.plan_of("bilstm", "sst2", method, "full") for method in fedvocab.METHODS if "Local" not in method]
    for one in plans:
        one["local"] = {key: value for key, value in one["local"].items() if key not in ("method", "proximal")}
        del one["private"]
    assert all(one == plans[0] for one in plans)


def test_fedvocab_sends_84_times_less_than_fedavg_with_the_papers_table() -> None:
    figures = message_bytes(words=400_000, width=300, hidden=300, private_words="all", private_reader=False)["last"]
    assert figures["ratio"] == pytest.approx(84.0, abs=0.1)
    assert figures["bytes"] == pytest.approx(4 * 1_445_401, abs=100)


def test_digits_alone_save_little() -> None:
    figures = message_bytes(words=400_000, width=300, hidden=300, private_words="digits", private_reader=False)["last"]
    assert 1.0 < figures["ratio"] < 1.05
