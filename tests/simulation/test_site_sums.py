"""Sums that sites made themselves: what does not fit is refused with nothing added."""

import numpy as np
import pytest

from tacit import plan
from tacit.errors import WireError
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.site_sums import build_site_sum, receive_site_sum
from tacit.randomness import Draws
from tests.laws.codec_cases import ALL, at_client, built, label
from tests.roles import encode

DIM = 37


def agreed(case: plan.Codec) -> Agreement:
    return Agreement(
        run="run-1", identity="i", dim=DIM, codec=at_client(case), public=Draws.seeded(1).publish(), server=plan.Server(),
        largest_weight=5, sum_at_site=True,
    )  # fmt: skip


def summed(terms: Agreement, names: list[int], weight: int = 2) -> messages.Frame:
    total = terms.codec.empty(DIM)
    for name in names:
        update = np.full(DIM, 1e-3 * name, np.float32)
        total.add(
            encode(terms.codec, update, Draws.seeded(name), terms.public.at(1, name)).payload,
            weight,
            terms.public.at(1, name),
        )
    return build_site_sum(terms, 0, 1, names, total)


@pytest.mark.parametrize("case", ALL, ids=label)
def test_two_sites_add_up_like_their_clients(case) -> None:
    terms, total, intake = agreed(case), built(case).empty(DIM), Intake(range(6), 1, 5)
    assert receive_site_sum(terms, intake, total, summed(terms, [0, 1, 2])) == 3
    assert receive_site_sum(terms, intake, total, summed(terms, [3, 5])) == 2
    one = built(case).empty(DIM)
    receive_site_sum(terms, Intake(range(6), 1, 5), one, summed(terms, [0, 1, 2, 3, 5]))
    assert (total.weight, one.weight) == (10, 10)
    if isinstance(case, plan.HashComb):
        assert total.pack().tobytes() == one.pack().tobytes()
    else:
        np.testing.assert_allclose(total.value(), one.value(), rtol=1e-12)


BAD = {
    "a client twice": lambda terms: summed(terms, [1, 1]),
    "a stranger": lambda terms: summed(terms, [1, 9]),
    "too much weight": lambda terms: summed(terms, [1, 2], weight=6),
    "another round": lambda terms: _with(summed(terms, [1]), round_no=2),
    "a weight its sums do not fit": lambda terms: _with(
        summed(terms, [1, 2, 3], weight=5), weight=3
    ),
    "a list cut short": lambda terms: _cut(summed(terms, [1, 2])),
    "no list": lambda terms: _body(summed(terms, [1]), b""),
    "a list longer than the message": lambda terms: _body(
        summed(terms, [1]), np.array([2**40], "<i8").tobytes()
    ),
}


def _body(frame: messages.Frame, body: bytes) -> messages.Frame:
    header = messages.parse(*frame).header
    values = {name: getattr(header, name) for name in header.__struct_fields__}
    return messages.frame(
        messages.Header(**{**values, "payload_size": len(body)}), np.frombuffer(body, np.uint8)
    )


def _cut(frame: messages.Frame) -> messages.Frame:
    return _body(frame, bytes(frame[1])[:-8])


def _with(frame: messages.Frame, **changes: int) -> messages.Frame:
    header = messages.parse(*frame).header
    values = {name: getattr(header, name) for name in header.__struct_fields__}
    return messages.frame(
        messages.Header(**{**values, **changes}), np.frombuffer(frame[1], np.uint8)
    )


@pytest.mark.parametrize("what", BAD)
def test_a_sum_that_does_not_fit_is_refused(what) -> None:
    case = next(one for one in ALL if one.name == "rr")
    terms, total, intake = agreed(case), built(case).empty(DIM), Intake(range(6), 1, 5)
    with pytest.raises(WireError, match="refused"):
        receive_site_sum(terms, intake, total, BAD[what](terms))
    assert total.weight == 0
    assert not total.value().any()
    assert receive_site_sum(terms, intake, total, summed(terms, [1, 2])) == 2, (
        "nobody's place was taken"
    )


def test_a_float_sum_that_is_not_finite_is_refused() -> None:
    case = ALL[0]
    terms, total = agreed(case), built(case).empty(DIM)
    frame = summed(terms, [1])
    body = bytearray(frame[1])
    body[-8:] = np.array([np.nan]).tobytes()
    with pytest.raises(WireError, match="finite"):
        receive_site_sum(terms, Intake(range(6), 1, 5), total, _body(frame, bytes(body)))
    assert total.weight == 0
