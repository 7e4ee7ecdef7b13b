"""Stages before a codec: their bounds hold, and a chain that lacks one is refused when it is built."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tacit.codecs import Bound, CodecStage, rr
from tacit.codecs.stages.chain import chain
from tacit.codecs.stages.clip import clip_l1, clip_l2, clip_largest
from tacit.errors import ChainError

updates = hnp.arrays(
    np.float32,
    st.integers(1, 30),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
)


@given(update=updates, size=st.sampled_from([1e-3, 0.5, 20.0]))
def test_no_update_is_larger_than_the_bound_says(update, size) -> None:
    for stage in (clip_largest(size), clip_l1(size), clip_l2(size)):
        with np.errstate(all="ignore"):
            after, bound = stage.apply(update).astype(np.float64), stage.bound(Bound())
        assert np.isfinite(after).all()
        assert np.abs(after).max(initial=0) <= bound.largest * (1 + 1e-6)
        assert np.abs(after).sum() <= bound.l1 * (1 + 1e-5)
        assert np.sqrt((after**2).sum()) <= bound.l2 * (1 + 1e-5)


def test_bounds_flow_through_the_chain() -> None:
    made = chain(
        clip_largest(0.5),
        clip_l1(3.0),
        clip_l2(2.0),
        last=rr.build_one_bit(flips=1 << 30, clip=0.5),
    )
    assert made.bound == Bound(l1=3.0, l2=2.0, largest=0.5)


def test_a_codec_that_needs_a_bound_is_not_built_without_it() -> None:
    noisy = CodecStage(
        name="noise(stddev=4)", make=rr.build_one_bit(flips=1 << 30, clip=1.0).make, needs=("l2",)
    )
    with pytest.raises(
        ChainError,
        match=(
            r"noise\(stddev=4\): clip_largest\(1\) does not bound the l2 norm of a client's update;"
            r" put clip_l2 before it"
        ),
    ):
        chain(clip_largest(1.0), last=noisy)
    assert math.isfinite(chain(clip_l2(1.0), last=noisy).bound.l2)
