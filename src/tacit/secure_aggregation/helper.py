"""A helper: another party than the leader, such as one of the member sites. It adds up masks, and
the noise that hides the sum.

It trusts nothing the leader says. It answers once per round, for one named set of at least
`min_clients` clients whose sites it knows, with keys these sites signed for this very run and
tokens only these clients have for this very round; and it adds the whole noise, whoever dropped
out. Asked the same again it sends the same bytes. Asked for another set it refuses, for the
difference of two sums is one client's numbers. The address of its noise holds the set and its
seeds: even a helper that is set back to an earlier state never adds the same noise to two sets.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import WireError
from tacit.randomness import Draws
from tacit.secure_aggregation.envelope import of_round, opened_key, split_envelope
from tacit.secure_aggregation.seal import HelperKey
from tacit.secure_aggregation.shares import Words, add_modulo, mask, zeros
from tacit.secure_aggregation.stored import Answer, Stored
from tacit.secure_aggregation.terms import Terms

SiteKeys = Callable[[int], bytes | None]
"""Gives the public key of the site a client belongs to, as the helper learned it, and not from the
leader; None for a stranger.
"""

Noise = Callable[[Draws], NDArray[np.int64]]
"""Draws the whole noise of one round's sum."""


class Helper:
    """One helper of one sum of a run; `number` is its place among the helpers, from 1."""

    def __init__(
        self,
        terms: Terms,
        number: int,
        key: HelperKey,
        sites: SiteKeys,
        own: Draws,
        noise: Noise | None = None,
        path: Path | None = None,
        simulated: bool = False,
    ) -> None:
        """`own` is the helper's own randomness, at an address of this run. Without `noise` it adds
        none: the clients have.

        With `simulated` noise depends on the round alone, so that a run can be compared with its
        simulation to the bit.
        """
        self.terms, self.number = terms, number
        self._key, self._sites, self._own, self._noise, self._simulated = (
            key,
            sites,
            own,
            noise,
            simulated,
        )
        self._stored = Stored(path, terms.binding.hex())
        self._keys: dict[
            int, tuple[bytes, bytes]
        ] = {}  # of clients, as they sealed them last, so that each is opened once

    def answer(self, round_no: int, names: Sequence[int], envelopes: NDArray[np.uint8]) -> Words:
        """Return the helper's part of the sum over the named clients; raise WireError, with nothing
        answered, if it must not.
        """
        self._check(round_no, names, envelopes)
        seeds = [
            self._seed(round_no, name, line.tobytes())
            for name, line in zip(names, envelopes, strict=True)
        ]
        question = self._digest(round_no, names, seeds)
        last = self._stored.newest()
        if last is not None and last.round_no == round_no:
            if last.question != question:
                raise self._refused(
                    f"round {round_no:,} was answered for another set of clients or seeds; it is"
                    " answered once"
                )
            return last.numbers
        numbers = self._added(round_no, seeds, question)
        self._stored.keep(Answer(round_no, question, numbers))
        return numbers

    def _check(self, round_no: int, names: Sequence[int], envelopes: NDArray[np.uint8]) -> None:
        """Refuse a question that is not about one set of enough clients, in a round that may still
        be asked about.
        """
        terms, last = self.terms, self._stored.newest()
        if not 1 <= round_no <= terms.rounds:
            raise self._refused(
                f"the plan has rounds 1 to {terms.rounds:,}, got round {round_no:,}"
            )
        if last is not None and round_no < last.round_no:
            raise self._refused(
                f"round {round_no:,} is over: round {last.round_no:,} was answered after it"
            )
        if any(second <= first for first, second in pairwise(names)):
            raise self._refused("clients must be named once each, in ascending order")
        if len(names) < terms.min_clients:
            raise self._refused(
                f"a set must have at least {terms.min_clients:,} clients, got {len(names):,}"
            )
        if envelopes.shape != (len(names), terms.envelope_size):
            raise self._refused(
                f"each client's envelope must have {terms.envelope_size:,} bytes; got a block of"
                f" shape {envelopes.shape}"
            )

    def _seed(self, round_no: int, name: int, envelope: bytes) -> bytes:
        site = self._sites(name)
        if site is None:
            raise self._refused(f"client {name} belongs to no site in this helper's peers")
        sealed, salt, token = split_envelope(self.terms, self.number, envelope)
        if name not in self._keys or self._keys[name][0] != sealed:
            try:
                self._keys[name] = (
                    sealed,
                    opened_key(self.terms, self.number, self._key, site, name, sealed),
                )
            except WireError as error:
                raise self._refused(f"client {name}: {error}") from None
        now = of_round(self.terms, self._keys[name][1], round_no, salt)
        if not hmac.compare_digest(now.token, token):
            raise self._refused(
                f"client {name}: its token is not for round {round_no:,}, so it did not answer in"
                " this round"
            )
        return now.seed

    def _added(self, round_no: int, seeds: Sequence[bytes], question: str) -> Words:
        terms = self.terms
        total = zeros(terms.size, terms.bits)
        for seed in seeds:
            np.add(total, mask(seed, terms.size, terms.bits), out=total)
        if self._noise is not None:
            own = self._own.at(terms.exchange, round_no)
            add_modulo(total, self._noise(own if self._simulated else own.at(question)))
        return total

    def _digest(self, round_no: int, names: Sequence[int], seeds: Sequence[bytes]) -> str:
        """SHA-256 that tells questions apart: the sum, the round, the set and its seeds, however
        these were sealed.
        """
        return hashlib.sha256(self.terms.tag(round_no, names) + b"".join(seeds)).hexdigest()

    def _refused(self, why: str) -> WireError:
        return WireError(f"helper {self.number} refused: {why}")
