"""The secure computation: the minimum and maximum of secret numbers, and the exclusive or of secret
words.

All of it runs on mpyc: Shamir shares, of which fewer than half reveal nothing. Two things differ
from stock mpyc.

- **Nothing is opened at degree 2t.** mpyc 0.11 tests whether a secret a is zero by opening a·r,
  with a random r, as the bare product of two sharings. A party that sees all points of that product
  can factor it, and its own share of a then leaves only a few candidates for a: with three parties,
  two. Here the product is reshared before it is opened.
- **Nothing is unpickled.** mpyc unpickles arrays and transfers that peers send; neither is used,
and pickle is disabled.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import secrets
import sys
from asyncio import Future
from collections.abc import Iterator
from typing import Any, ClassVar

from tacit.negotiation.link import Link


@contextlib.contextmanager
def _import_quietly() -> Iterator[None]:
    """Import mpyc without letting it read the command line, write a log, or change the event loop."""
    words, settings, handlers = sys.argv, dict(os.environ), list(logging.root.handlers)
    sys.argv = ["tacit", "--no-log"]
    os.environ.update(MPYC_NOUVLOOP="1", MPYC_NONUMPY="1", MPYC_NOGMPY="1")
    level, off = logging.root.level, logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        sys.argv, logging.root.handlers = words, handlers
        logging.root.setLevel(level)
        logging.disable(off)
        for name in set(os.environ) - set(settings):
            del os.environ[name]
        os.environ.update(settings)


with _import_quietly():
    from mpyc import asyncoro, sectypes
    from mpyc import mpctools as _mpctools
    from mpyc import runtime as _mpyc


class _NoPickle:
    """Replaces pickle in mpyc: bytes of a peer are numbers only."""

    @staticmethod
    def dumps(value: object) -> bytes:
        raise TypeError("nothing is pickled")

    loads = dumps


_mpyc.pickle = _NoPickle

BITS = 54
"""Bits of the compared integers: differences of two values of up to 2^51 steps, with a sign."""
SECURITY = 64
"""Masks are this many bits longer than what they hide: a view deviates from uniform by at most
about 2^-57.
"""
WORD = "x^128+x^7+x^2+x+1"
"""128-bit words are elements of GF(2^128), where addition is exclusive or."""


class Runtime(_mpyc.Runtime):  # type: ignore[misc]  # mpyc has no types
    """mpyc's runtime over these links; it opens only reshared values."""

    options: ClassVar[argparse.Namespace]

    def __init__(self, me: int, links: dict[int, Link]) -> None:
        parties = [_mpyc.Party(number) for number in range(len(links) + 1)]
        options = argparse.Namespace(
            threshold=(len(parties) - 1) // 2,
            no_prss=True,
            no_log=True,
            no_async=False,
            no_barrier=True,
            mix32_64bit=False,
            sec_param=SECURITY,
            bit_length=BITS,
            ssl=False,
        )
        super().__init__(me, parties, options)
        for number, link in links.items():
            parties[number].protocol = link
        for module in (asyncoro, sectypes, _mpctools):
            module.runtime = self

    def output(
        self, x: Any, receivers: Any = None, threshold: Any = None, raw: bool = False
    ) -> Any:
        """Open a value to all parties; refuse a sharing of higher degree, which may reveal more
        than its value.
        """
        if threshold not in (None, self.threshold):
            raise AssertionError(f"a sharing of degree {threshold} must not be opened")
        return super().output(x, receivers, None, raw)

    @asyncoro.mpc_coro  # type: ignore[untyped-decorator]
    # mpyc reads the annotation
    async def is_zero_public(self, a: Any) -> Future:  # type: ignore[type-arg]
        """Whether a secret is zero, and nothing else: it is opened multiplied by a random number."""
        (r,) = await self._randoms(type(a).field, 1)
        a = await self.gather(a)
        product = await self._reshare(a * r)
        return await self.output(product) == 0  # type: ignore[no-any-return]

    @asyncoro.mpc_coro  # type: ignore[untyped-decorator]
    async def random_bits(self, field: Any, count: int, signed: bool = False) -> Future:  # type: ignore[type-arg]
        """Shares of random bits or signs that nobody knows: products of signs drawn by t + 1
        parties.

        As in mpyc, but with all bits in one message per step.
        """
        senders = range(self.threshold + 1)
        drawn = [field(2 * secrets.randbits(1) - 1) for _ in range(count)]
        factors = await self.input(drawn, senders=list(senders))
        while len(factors) > 1:
            odd = factors[: len(factors) % 2]
            pairs = zip(factors[len(odd) :: 2], factors[len(odd) + 1 :: 2], strict=True)
            products = await self._reshare(
                [a * b for left, right in pairs for a, b in zip(left, right, strict=True)]
            )
            factors = odd + [
                products[start : start + count] for start in range(0, len(products), count)
            ]
        half = (field.modulus + 1) >> 1
        signs = factors[0]
        return signs if signed else [field((sign.value + 1) * half) for sign in signs]  # type: ignore[return-value]


class Computation:
    """The computation in two steps: everything under shares, then the opening."""

    def __init__(self, me: int, links: dict[int, Link]) -> None:
        self._runtime = Runtime(me, links)

    async def share(self, least: int, greatest: int, word: int) -> None:
        """Share this party's input and compute on all inputs. Afterwards the results exist, but no
        single party can read them.
        """
        number, element = self._runtime.SecInt(BITS), self._runtime.SecFld(modulus=WORD)
        inputs = self._runtime.input([number(least), number(greatest)])
        words = self._runtime.input(element(word))
        self._range = [
            self._runtime.min([low for low, _ in inputs]),
            self._runtime.max([high for _, high in inputs]),
        ]
        self._word = self._runtime.sum(words)
        await self._runtime.gather([*self._range, self._word])

    async def open(self) -> tuple[int, int, int]:
        """The minimum and the maximum of all parties' numbers, and the exclusive or of their words."""
        least, greatest = await self._runtime.output(self._range)
        word = await self._runtime.output(self._word)
        return int(least), int(greatest), int(word.value)
