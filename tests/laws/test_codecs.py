"""Laws that hold for every codec: unbiased, the stated variance, exact sizes, bounded, repeatable, summable."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tacit import codecs, plan
from tacit.codecs import projunit, rr_sampled
from tacit.codecs.distributions.privunit import LARGEST
from tacit.errors import PlanError
from tacit.plan.codec import readable
from tacit.protocol.agreement import Agreement
from tacit.randomness import Draws
from tacit.testing import CHECKS, claims, messages
from tests import seeds
from tests.laws import test_draws, test_hostile_sums
from tests.laws.codec_cases import ALL, CASES, PRIVATE, at_client, built, label, subject

every = pytest.mark.parametrize("case", ALL, ids=label)
hostile = hnp.arrays(
    np.float32,
    st.integers(1, 70),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
)


def test_every_codec_of_a_plan_is_built_and_under_these_laws() -> None:
    assert set(CASES) == set(codecs.list_codecs()), "tests/laws/codec_cases.py has a case for each"
    assert {name: built(cases[0]).name for name, cases in CASES.items()} == {
        name: name for name in CASES
    }


@every
def test_a_plan_knows_what_the_codec_it_names_can_do(case) -> None:
    """Tables that exclude a codec ask the plan, before the codec is built."""
    alone, shared = (
        codecs.build(case, codecs.Extent(rounds=3, cohort=9, clients=9, helpers=helpers))
        for helpers in (0, 2)
    )
    assert readable(case) == (alone.decoded_by == "server"), "plan.codec.readable"
    assert getattr(case, "adds_up", False) == (shared.integers is not None), "adds_up"


def refused(check: Callable[[], object]) -> bool:
    """Whether a robust rule is refused because the codec's noise is for a sum."""
    try:
        check()
    except PlanError as error:
        return "is for a sum" in str(error)
    return False


@every
def test_a_robust_rule_is_refused_by_the_plan_exactly_if_the_claim_is_about_a_sum(case) -> None:
    """The agreement reads the claim, so that it refuses a codec of a user's own too."""
    chosen = plan.Server(rule="median")
    terms = Agreement(
        run="r",
        identity="i",
        dim=50,
        codec=at_client(case),
        public=Draws.seeded(0).publish(),
        server=chosen,
    )
    by_claim = refused(lambda: terms.check(9))
    assert by_claim == refused(lambda: plan.check(plan.Plan(codec=case, server=chosen)))
    assert not by_claim or case in PRIVATE


def test_every_check_is_under_test() -> None:
    assert set(CHECKS) == {*IN_THIS_FILE, *test_hostile_sums.CHECKED, *test_draws.CHECKED}


IN_THIS_FILE = {
    "unbiased", "repeatable", "untouched", "any_update", "merging", "packing", "integer_sums", "trust", "epsilon",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.statistical
@every
def test_decoding_is_unbiased_with_the_stated_variance(case) -> None:
    """200,000 draws per case; one of 200 means, or their mean, is off by more with a probability of 5e-7.

    The variance is good to about 0.5 %, a tenth of what is allowed.
    """
    dim = 200
    times = 1000 if 5 * _sent(case, dim) >= dim else 20_000
    messages.check_unbiased(subject(case), times, seeds.draws(1), dim)


@every
@pytest.mark.parametrize("check", ["repeatable", "untouched", "trust", "integer_sums"])
def test_a_codec_passes(case, check) -> None:
    CHECKS[check](subject(case))


@pytest.mark.statistical
@every
def test_no_attack_finds_more_than_is_claimed(case) -> None:
    """1,600 messages per case; a correct claim is refused with a probability below 1e-6."""
    claims.check_epsilon(subject(case), trials=400, root=seeds.draws(8))


@pytest.mark.slow
@every
@given(update=hostile)
@settings(max_examples=150, deadline=None)
def test_any_update_gives_a_payload_of_the_stated_size_and_a_bounded_decode(case, update) -> None:
    largest = _largest(case, len(update)) if case in PRIVATE else np.inf
    messages.check_message(subject(case), update, largest)


def _largest(case: plan.Codec, dim: int) -> float:
    """Return the largest size a decoded coordinate can have: that of the outermost output, times d/k if sampled."""
    if isinstance(case, plan.Gaussian | plan.DPSum):  # the clip, and the most noise there is
        made = at_client(case)
        stddev = (
            made.sum_noise(dim)
            if made.sum_noise
            else float(np.sqrt(made.variance(np.zeros(dim, np.float32))[0]))
        )
        return case.clip + 13 * stddev
    if isinstance(case, plan.RQM):
        return (case.clip + case.margin) * dim / _sent(case, dim)
    if isinstance(case, plan.OneBit):  # as long as all coins on one side
        return float(np.sqrt(at_client(case).variance(np.zeros(dim, np.float32))[0] * 255 * dim))
    if isinstance(case, plan.Skellam):  # an update, and the most noise there is
        return case.clip + 14 * float(
            np.sqrt(at_client(case).variance(np.zeros(dim, np.float32))[0] * dim)
        )
    if isinstance(case, plan.ProjUnit):  # as long as all numbers at their largest
        return projunit.choose_shape(case, dim).scale * LARGEST * float(np.sqrt(_sent(case, dim)))
    share = (
        _sent(case, dim) / dim
    )  # of one bit, the size squared is the variance at zero, times d/k
    return float(np.sqrt(at_client(case).variance(np.zeros(dim, np.float32))[0] / share))


def _sent(case: plan.Codec, dim: int) -> int:
    """Return how many coordinates a message speaks of."""
    if isinstance(case, plan.RRSampled):
        return rr_sampled.choose_bit_count(case.epsilon, dim)
    return min(dim, getattr(case, "coordinates", None) or dim)


@pytest.mark.slow
@every
@given(weights=st.lists(st.integers(1, 400), min_size=1, max_size=12), cut=st.integers(0, 12))
@settings(max_examples=30, deadline=None)
def test_sums_merge_and_decoding_the_sum_is_the_weighted_mean_of_decodes(
    case, weights, cut
) -> None:
    messages.check_merged_sum(subject(case), weights, cut)


@every
@given(weights=st.lists(st.integers(1, 400), min_size=1, max_size=6), cut=st.integers(0, 6))
@settings(max_examples=20, deadline=None)
def test_a_sum_that_crossed_a_wire_is_the_same_sum(case, weights, cut) -> None:
    messages.check_packed_sum(subject(case), weights, cut)
