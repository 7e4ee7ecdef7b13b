"""The words for data owners: every figure with its unit, never rounded down, never contradicting each other."""

from dataclasses import replace

import pytest

from tacit import codecs, plan
from tacit.privacy import ledger
from tacit.privacy.claim import Approximate, Free, GaussianNoise, Open, Pure, Repeated
from tacit.privacy.ledger import Account, charge
from tacit.privacy.statement import prose
from tacit.privacy.statement.unprotected import list_unprotected
from tacit.runs.record import Prepared
from tests.privacy.claims import ADD, claim


def said(claims, times: int = 20) -> str:
    account = charge(Account(), claims, times, uses=times)
    return ledger.write_statement(account, ledger.compute_totals(account, 1e-5))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"), (1.0000000002, "1.001"), (2.19722, "2.198"), (0.1, "0.1"), (15, "15"), (8_001_600, "8,001,600"),
        (1234.2, "1,235"), (999.95, "1,000"), (2.4e-10, "2.400e-10"), (0.00123456, "0.001235"), (5_064_508.34, "5,064,509"),
        (0, "0"), (float("inf"), "∞"),
    ],
)  # fmt: skip
def test_bounds_are_rounded_up(value, text) -> None:
    assert prose.format_bound(value) == text


@pytest.mark.parametrize("asked", [0.001, 0.1, 0.5, 1.0, 2.0, 3.0, 8.0])
def test_an_epsilon_that_was_asked_for_is_stated_as_that_number(asked) -> None:
    made = codecs.build(plan.RR(epsilon=asked, clip=1e-3))
    assert f"Epsilon is at most {asked:g} per bit" in said(made.claims(5001, 1))


def test_the_statement_of_many_bits_leads_with_the_verdict_and_does_not_contradict_it() -> None:
    text = said(codecs.build(plan.RR(epsilon=1.0, clip=1e-3)).claims(5001, 1))
    assert text.startswith(
        "Only a single bit has a meaningful epsilon; a whole update and the run do not."
    )
    for phrase in ("1 per bit", "5,001 per update (all 5,001 bits of it together)", "100,020 per run (20 updates, basic composition)",
                   "per run, delta 1e-05 (20 updates, exact composition of randomised responses)",
                   "if you replace all rows of one client",
                   "Trust required: nobody, since each client randomises"):  # fmt: skip
        assert phrase in text
    assert "no one need be trusted" not in text


@pytest.mark.parametrize(
    ("claims", "times", "verdict"),
    [
        (
            (claim(Pure(0.4)),),
            20,
            "Differential privacy protects everything a client sends during the run.",
        ),
        (
            (claim(Pure(4.0)),),
            20,
            (
                "Differential privacy protects each single update, but not all updates of a run"
                " together."
            ),
        ),
        ((claim(Pure(40.0)),), 20, "There is no meaningful protection: the noise is too small."),
        (
            (claim(GaussianNoise(2.0), relation=ADD),),
            1,
            "Differential privacy protects everything a client sends during the run.",
        ),
        (
            (claim(Approximate(1.0, 1e-6)),),
            3,
            "Differential privacy protects everything a client sends during the run.",
        ),
        (
            (claim(Open()),),
            3,
            "There is no protection: what is sent in the clear can reveal the rows behind it.",
        ),
        (
            (replace(claim(Open()), view="peers"),),
            3,
            "There is no differential privacy: what a client sends is hidden from the server, but other clients can read it.",
        ),
        (
            (replace(claim(Open()), view="peers"), claim(Open())),
            3,
            "There is no protection: what is sent in the clear can reveal the rows behind it.",
        ),
        ((claim(Free()),), 3, "Nothing about a client leaves its machine."),
    ],
)
def test_the_verdict_says_what_the_totals_mean(claims, times, verdict) -> None:
    assert said(claims, times).startswith(verdict)


def test_losses_that_are_not_pure_are_stated_with_their_delta() -> None:
    text = said((claim(GaussianNoise(2.0), relation=ADD),), 3)
    assert "per update, delta 1e-05" in text
    assert "per run, delta 1e-05 (3 updates, exact composition of Gaussian noise)" in text
    assert "no differential privacy" not in text


def test_before_any_update_there_is_nothing_to_state() -> None:
    assert "No client has sent an update" in ledger.write_statement(Account(), ())


def planned(settings: plan.Codec) -> str:
    made = codecs.build(settings)
    return prose.write_planned(lambda size: made.claims(size, 10), 20, 1e-5)


def test_a_plan_is_told_from_its_codecs_own_claims() -> None:
    assert "epsilon 0.5 per bit, which adds up to epsilon 0.5 × parameters per update" in planned(
        plan.RR(epsilon=0.5, clip=0.1)
    )
    assert "epsilon 4 per update" in planned(plan.RRSampled(epsilon=4.0, clip=0.1))
    assert "protects each single update" in planned(plan.RRSampled(epsilon=4.0, clip=0.1))
    assert planned(plan.Plain()).startswith("none: sent in the clear (plain float32 update)")
    assert "trust required: the server and everyone who reads its traffic" in planned(plan.Plain())


def test_a_plan_with_an_l1_clip_is_told_its_bound_per_update() -> None:
    """(C1/q) (f + ln((1 + e)/2)) = 2 (0.4621 + 0.6201) and a little for the rounding of thresholds."""
    text = planned(plan.RR(epsilon=1.0, clip=0.1, clip_l1=0.2))
    assert "epsilon 2.166 per update, for up to 1,000,000 parameters" in text
    assert "× parameters" not in text


def test_a_plan_with_noise_of_another_kind_is_called_differential_privacy_with_the_right_trust() -> (
    None
):
    noisy = replace(
        claim(GaussianNoise(4.0), relation=ADD), trust=("the server, which adds the noise",)
    )
    text = prose.write_planned(lambda size: (noisy,), 20, 1e-5)
    assert text.startswith("Differential privacy protects")
    assert "per update, delta 1e-05" in text
    assert "trust required: the server, which adds the noise" in text
    assert "nobody" not in text


def test_every_use_that_is_not_a_whole_update_is_named_as_adding_up() -> None:
    account = charge(Account(), (claim(Repeated(Pure(1.0), 3), "vote"),), 1)
    assert any(
        "each vote is protected separately" in sentence
        for sentence in list_unprotected(account, (), {})
    )


def test_more_is_told_of_words_where_features_hold_more() -> None:
    data = Prepared(source="a.csv", clients=1, rows_train=1, rows_test=1, rows_per_client=[1], parameters=1, inputs=1, classes=[],
                    text="hashed words")  # fmt: skip
    plain = next(
        one
        for one in list_unprotected(Account(), (), {"features": {}}, data)
        if one.startswith("Words")
    )
    more = {"features": {"counts": "counts", "ngrams": 2, "characters": [3, 5]}}
    told = next(
        one for one in list_unprotected(Account(), (), more, data) if one.startswith("Words")
    )
    assert told.startswith(plain)
    assert "how often a word occurs, which words are adjacent, parts of words" in told


def test_what_a_plan_says_of_a_run_is_composed_where_it_does_not_grow_with_parameters() -> None:
    """Noise by shares is stated for the whole run, not as so many times one update."""
    made = codecs.build(
        plan.Skellam(epsilon=2.0, delta=1e-5, clip=1.0), codecs.Extent(rounds=40, cohort=1000)
    )
    text = prose.write_planned(lambda size: made.claims(size, 1000), 40, 1e-5)
    assert (
        "epsilon 2 per run of 40 rounds, delta 1e-05 (composition of dominating Gaussian noise)"
        in text
    )


def test_claims_that_trust_nobody_add_nothing_to_the_trust_of_others() -> None:
    alone = replace(claim(GaussianNoise(10.0), ADD), trust=("nobody, since …",), rests_on="nobody")
    server = replace(alone, trust=("the server",), rests_on="server")
    assert prose.list_trust([alone, server]) == ["the server"]
    assert prose.list_trust([alone]) == ["nobody, since …"]
    assert prose.list_trust([]) == ["nobody else"]


def test_noisy_counts_of_sites_are_not_called_exact() -> None:
    counts = replace(claim(GaussianNoise(10.0), ADD), unit="measure")
    account = charge(Account(), (counts,), 2, uses=2)
    data = Prepared(source="a.csv", clients=1, rows_train=1, rows_test=1, rows_per_client=[1], parameters=1, inputs=1, classes=[])  # fmt: skip
    assert "are exact" in " ".join(list_unprotected(account, (), {}, data))
    assert "are exact" not in " ".join(list_unprotected(account, (), {}, replace(data, sites=3)))
