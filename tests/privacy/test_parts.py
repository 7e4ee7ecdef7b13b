"""Where clients vote, each kind of answer is told by itself, and unlike losses are never added."""

from dataclasses import replace

from tacit.privacy import ledger
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.claim import GaussianNoise, Open, Pure, Repeated
from tacit.privacy.ledger import Account, charge
from tacit.privacy.statement import prose
from tacit.privacy.statement.parts import state_parts, state_planned_parts
from tests.privacy.claims import claim

VOTES = claim(Repeated(Pure(0.5), 99), unit="vote", mechanism="randomised votes")
HEADS = claim(
    GaussianNoise(calibrate_multiplier(1.0, 1e-5)),
    unit="head",
    relation="add or remove one row",
    mechanism="noisy last layer",
)
CLEAR = claim(Open(), mechanism="plain float32 update")


def paid(*claims, times: int = 2) -> Account:
    account = Account()
    for one in claims:
        account = charge(account, (one,), times, uses=times)
    return account


def test_the_label_of_votes() -> None:
    text = state_parts(paid(VOTES, times=1), 1e-5, "updates")
    assert (
        text
        == "Votes: epsilon 0.5 per vote; 99 votes per round add up to epsilon 49.5 per tester and round, if you replace all"
        " rows of one client. This covers the filter only; accepted updates need protection of"
        " their own."
    )
    assert state_parts(paid(VOTES), 1e-5, "") == ""


def test_each_part_has_its_own_relation_and_no_sum_is_stated() -> None:
    account = paid(HEADS, VOTES)
    stated = ledger.compute_totals(account, 1e-5)
    assert all(total.epsilon is None for total in stated)
    assert (
        prose.write_headline(stated)
        == "no single figure: the parts use different neighbouring relations"
    )
    text = state_parts(account, 1e-5, "heads")
    assert (
        "Last layers: epsilon 1 per last layer, delta 1e-05, and epsilon 1.466 per run of 2 rounds"
        in text
    )
    assert text.endswith("if you add or remove one row.")
    assert "The last layers themselves are averaged" in text


def test_what_is_in_the_clear_is_said_part_by_part() -> None:
    text = state_parts(
        paid(replace(HEADS, event=Open()), replace(VOTES, event=Open()), CLEAR), 1e-5, "updates"
    )
    assert "Votes: sent in the clear, so no epsilon exists for testers." in text
    assert "Last layers: no epsilon exists (released without protection)." in text
    assert "Updates: no epsilon exists (released without protection)." in text


def test_answers_are_called_by_their_names() -> None:
    account = paid(replace(HEADS, relation=VOTES.relation), VOTES, claim(Pure(1.0)))
    text = ledger.write_statement(account, ledger.compute_totals(account, 1e-5))
    assert (
        "sent 2 times noisy last layer; 2 times randomised votes; 2 updates as some mechanism"
        in text
    )
    assert "the response with the largest loss" in text
    assert "6 responses" in text


def test_a_plan_is_told_the_same_as_its_run() -> None:
    assert state_planned_parts((HEADS, VOTES), 2, 1e-5, "heads") == state_parts(
        paid(HEADS, VOTES), 1e-5, "heads"
    )
