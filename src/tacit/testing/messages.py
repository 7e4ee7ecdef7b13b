"""Checks of messages and their sums: unbiased, of the stated size, repeatable, mergeable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.codecs import Codec
from tacit.randomness import Draws, PublicDraws
from tacit.rows import Vector
from tacit.testing.subject import (
    Subject,
    decode,
    decode_mean,
    decode_without_noise,
    deviations,
    encode,
    has_client_noise,
    require,
    send,
)

_HOSTILE = (
    (0.0, -0.0),
    (np.nan, 1.0),
    (np.inf, -np.inf),
    (3.4e38, -3.4e38),
    (1e-45, -1e-45),
    (1.0, -1.0),
)
_SIZES = (1, 2, 7, 8, 9, 64, 70)
_WEIGHTS = ((1,), (1, 1, 1), (3, 400, 1, 17), tuple(range(1, 13)))


def check_unbiased(
    subject: Subject, times: int = 1000, root: Draws | None = None, dim: int = 200
) -> None:
    """The mean of many decoded messages is the clipped update, with the stated variance.

    A correct codec fails with probability 5e-7. The variance may differ by 5 %. A codec that
    declares itself biased must instead send what it decodes to unchanged.
    """
    reach = subject.scale * 1.5  # beyond the clip on purpose
    update = np.linspace(-reach, reach, dim, dtype=np.float32)
    codec = subject.at_client(cohort=times)
    if not codec.unbiased:
        once = decode_mean(codec, update, [Draws.seeded(1)])
        again = decode_mean(codec, once, [Draws.seeded(2)] * 3)
        require(
            np.array_equal(once, again), "a biased codec must send what it decodes to unchanged"
        )
        return
    variance = codec.variance(update)
    total, singles = codec.empty(dim), []
    for address in ((root or Draws.seeded(1)).at(n) for n in range(times)):
        below = address.at("public")
        public = PublicDraws(below.key, below.path)
        payload = encode(codec, update, address.at("own"), public)
        total.add(payload, 1, public)
        if variance.any():
            alone = codec.empty(dim)
            alone.add(payload, 1, public)
            singles.append(decode_without_noise(codec, alone))
    error = decode_without_noise(codec, total).astype(np.float64) - codec.clip_update(update)
    if not variance.any():
        noise = codec.sum_noise(dim) if codec.sum_noise else 0.0
        rounding = 1e-7 * max(1.0, 10 * noise)  # of float32 digits of its noise
        require(
            bool(np.all(np.abs(error) <= rounding)),
            f"the decoded mean is off by {np.abs(error).max():g} although no client adds noise",
        )
        return
    _require_normal(error, variance, times)
    found, stated = np.stack(singles).astype(np.float64).var(axis=0).mean(), variance.mean()
    require(
        abs(found - stated) <= 0.05 * stated,
        f"one coordinate's variance is {found:g}, the codec states {stated:g}",
    )


def _require_normal(error: NDArray[np.float64], variance: NDArray[np.float64], times: int) -> None:
    certain = variance == 0  # a value that is a level is sent without rounding
    require(
        bool(np.all(np.abs(error[certain]) <= 1e-6)),
        "coordinates without variance must be decoded exactly",
    )
    z = error[~certain] / np.sqrt(variance[~certain] / times)
    limit = deviations(201)
    far, shift = float(np.abs(z).max()), float(abs(z.mean()) * np.sqrt(len(z)))
    require(
        far < limit and shift < limit,
        f"the decoded mean is biased: it is {max(far, shift):.1f} standard errors off, at most"
        f" {limit:.1f} are plausible",
    )


def check_repeatable(subject: Subject) -> None:
    """The same draws give the same bytes; other draws give other bytes exactly if there is noise."""
    codec = subject.at_client()
    update = np.linspace(-1e-3, 1e-3, 400, dtype=np.float32)
    root = Draws.seeded(0)
    public = PublicDraws(root.key)
    first, again = (encode(codec, update, root.at(1), public).tobytes() for _ in range(2))
    require(first == again, "the same draws gave different bytes: take all randomness from `own`")
    others = {encode(codec, update, root.at(n), public).tobytes() for n in range(60)}
    require(
        (len(others) == 1) == (not has_client_noise(codec, update)),
        "messages must differ from draw to draw if `variance` is positive, and must not if it is 0:"
        f" 60 draws gave {len(others)} messages",
    )


def check_untouched(subject: Subject) -> None:
    """Encoding changes neither the update nor numpy's global generator."""
    codec = subject.at_client()
    update = np.linspace(-1, 1, 100, dtype=np.float32)
    before, state = update.copy(), _global_state()
    root = Draws.seeded(0)
    encode(codec, update, root, PublicDraws(Draws.seeded(1).key))
    require(np.array_equal(update, before), "encoding changed the update that it was given")
    require(_global_state() == state, "encoding drew from numpy's global generator")


def _global_state() -> str:
    return str(np.random.get_state(legacy=False))  # noqa: NPY002


def check_any_update(subject: Subject) -> None:
    """Zero, huge, infinite and NaN updates give messages of the stated size that decode to finite
    numbers.
    """
    for dim in _SIZES:
        for pair in _HOSTILE:
            check_message(subject, np.resize(np.array(pair, np.float32), dim))


def check_message(subject: Subject, update: Vector, largest: float = np.inf) -> None:
    """One update gives a message of the stated size. Where a bound is promised, it decodes to
    finite numbers of at most `largest`.
    """
    codec = subject.at_client()
    payload = encode(codec, update, Draws.seeded(0), PublicDraws(Draws.seeded(1).key))
    require(payload.dtype == np.uint8, f"a message consists of uint8, not {payload.dtype}")
    stated = codec.payload_size(len(update))
    require(
        payload.nbytes == stated,
        f"a message of {len(update)} coordinates has {payload.nbytes} bytes; payload_size says"
        f" {stated}",
    )
    if not any(claim.promises for claim in codec.claims(10, 1)):
        return
    total = codec.empty(len(update))
    send(codec, total, update, Draws.seeded(0))
    value = decode(codec, total)
    require(
        bool(np.isfinite(value).all()), "an update with NaN or infinity decodes to NaN or infinity"
    )
    require(
        float(np.abs(value).max()) <= largest * 1.0001,
        f"a decoded coordinate is {np.abs(value).max():g}, at most {largest:g} is possible",
    )


def check_merging(subject: Subject) -> None:
    """Sums of disjoint clients merge, and decode to the weighted mean of single decodes."""
    for weights in _WEIGHTS:
        for cut in {0, 1, len(weights) // 2, len(weights)}:
            check_merged_sum(subject, weights, cut)


def check_merged_sum(subject: Subject, weights: Sequence[int], cut: int, dim: int = 37) -> None:
    """Clients of these weights, the first `cut` of them in a sum of their own, merge to their
    weighted mean.
    """
    noised = subject.at_client().sum_noise is not None
    codec = subject.at_client(cohort=sum(weights) if noised else 12 * 400)
    updates = [
        np.sin(np.arange(dim, dtype=np.float32) + n) * np.float32(subject.scale)
        for n in range(len(weights))
    ]
    left, right = codec.empty(dim), codec.empty(dim)
    for n, (update, weight) in enumerate(zip(updates, weights, strict=True)):
        send(codec, left if n < cut else right, update, Draws.seeded(0).at(n), weight)
    left.merge(right)
    require(left.weight == sum(weights), f"merged weights are {left.weight}, not {sum(weights)}")
    # Where noise is added to the sum, decoding divides by the agreed number of clients, so a single
    # client is a cohort of one.
    alone = subject.at_client() if noised else codec
    singles = [
        decode_mean(alone, update, [Draws.seeded(0).at(n)]).astype(np.float64)
        for n, update in enumerate(updates)
    ]
    expected = np.average(singles, axis=0, weights=weights)
    noise = codec.sum_noise(dim) if codec.sum_noise else 0.0
    # Single decodes are float32: where large noise cancels in the mean, their rounding does not.
    rounding = 1e-6 * (subject.scale + noise + np.abs(singles).max())
    found = decode_without_noise(codec, left)
    require(
        bool(np.allclose(found, expected, rtol=1e-4, atol=rounding)),
        "a merged sum must decode to the weighted mean of what its messages decode to; it is off by"
        f" {np.abs(found - expected).max():g}",
    )


def check_packing(subject: Subject) -> None:
    """A sum that is serialised and read back is the same sum."""
    for weights in _WEIGHTS:
        for cut in {0, 1, len(weights)}:
            check_packed_sum(subject, weights, cut)


def check_packed_sum(subject: Subject, weights: Sequence[int], cut: int, dim: int = 21) -> None:
    """Clients of these weights, the first `cut` of them in a sum of their own, have one sum, merged
    or serialised and added.
    """
    codec = subject.at_client()
    whole, left, right, crossed = (codec.empty(dim) for _ in range(4))
    for n, weight in enumerate(weights):
        update = np.cos(np.arange(dim, dtype=np.float32) * n) * np.float32(subject.scale)
        for total in (whole, left if n < cut else right):
            send(codec, total, update, Draws.seeded(0).at(n), weight)
    for part in (left, right):
        crossed.add_packed(part.pack().copy(), part.weight)
    left.merge(right)
    require(
        crossed.pack().tobytes() == left.pack().tobytes(),
        "a sum that was packed and added differs from the same sum merged",
    )
    require(crossed.weight == whole.weight, "a packed sum loses weight")


def check_integer_sums(subject: Subject) -> None:
    """Messages that secure aggregation adds modulo 2^bits give the codec's own sum; a codec without
    `integers` passes.
    """
    for helpers in (1, 3):
        codec = subject.at_client(cohort=_CLIENTS, helpers=helpers)
        if codec.integers is not None:
            _check_integer_sum(codec, subject.scale)


_CLIENTS = 9


def _check_integer_sum(codec: Codec, scale: float, dim: int = 37) -> None:
    assert codec.integers is not None
    own, kind = codec.empty(dim), np.dtype(f"u{codec.integers.bits(dim) // 8}")
    modulo = np.zeros(codec.integers.size(dim), kind)
    for n in range(_CLIENTS):
        update = np.sin(np.arange(dim, dtype=np.float32) * (n + 1)) * np.float32(scale * (-1) ** n)
        below = Draws.seeded(1).at(n)
        public = PublicDraws(below.key, below.path)
        payload = encode(codec, update, Draws.seeded(0).at(n), public)
        own.add(payload, 1, public)
        numbers = codec.integers.read(payload, dim)
        require(
            numbers.dtype == kind and numbers.shape == modulo.shape,
            f"`integers.read` must give {modulo.shape} numbers of {kind}",
        )
        modulo += numbers
    total = codec.integers.build_sum(modulo.view(f"i{kind.itemsize}").astype(np.int64), _CLIENTS)
    require(
        total.pack().tobytes() == own.pack().tobytes() and total.weight == own.weight,
        "the sum modulo 2^bits is not the codec's own sum",
    )
