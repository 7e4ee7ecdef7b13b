"""A helper: a party other than the leader, such as a member site, that sums masks and adds the
noise of the sum.

A helper trusts nothing from the leader. It responds once per round, for one set of at least
`min_clients` clients whose sites it knows, with keys that these sites signed for this run and
tokens that only these clients have for this round. It adds the whole noise, whichever clients
dropped out. A repeated request gets the same bytes. A request for another set is refused, because
the difference of two sums would reveal single clients' numbers. The address of the noise includes
the set and its seeds, so even a helper restored to an earlier state never adds the same noise to
two sets.
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
from tacit.secure_aggregation.envelope import derive_round_secrets, open_key, split_envelope
from tacit.secure_aggregation.response_store import ResponseStore, StoredResponse
from tacit.secure_aggregation.seal import HelperKey
from tacit.secure_aggregation.shares import Words, add_modulo, expand_mask, zeros
from tacit.secure_aggregation.terms import AggregationTerms

SiteKeys = Callable[[int], bytes | None]
"""Looks up the public key of a client's site, which the helper did not learn from the leader; None
for an unknown client.
"""

Noise = Callable[[Draws], NDArray[np.int64]]
"""Draws the whole noise of one round's sum."""


class Helper:
    """One helper of one sum of a run; `number` is its position among the helpers, from 1."""

    def __init__(
        self,
        terms: AggregationTerms,
        number: int,
        key: HelperKey,
        sites: SiteKeys,
        own: Draws,
        noise: Noise | None = None,
        path: Path | None = None,
        simulated: bool = False,
    ) -> None:
        """`own` is the helper's own randomness at an address of this run. Without `noise` it adds
        none: the clients do.

        With `simulated` the noise depends on the round only, so that a run equals its simulation to
        the bit.
        """
        self.terms, self.number = terms, number
        self._key, self._sites, self._own, self._noise, self._simulated = (
            key,
            sites,
            own,
            noise,
            simulated,
        )
        self._store = ResponseStore(path, terms.binding.hex())
        self._keys: dict[
            int, tuple[bytes, bytes]
        ] = {}  # client: sealed key and opened key, so that each is opened once

    def respond(self, round_no: int, names: Sequence[int], envelopes: NDArray[np.uint8]) -> Words:
        """Sum the masks of the named clients. A refused request raises WireError and changes
        nothing.
        """
        self._check(round_no, names, envelopes)
        seeds = [
            self._open_seed(round_no, name, line.tobytes())
            for name, line in zip(names, envelopes, strict=True)
        ]
        request_digest = self._digest(round_no, names, seeds)
        last = self._store.newest()
        if last is not None and last.round_no == round_no:
            if last.request_digest != request_digest:
                raise self._refuse(
                    f"round {round_no:,} already has a response for another set of clients or seeds;"
                    " a round gets one response"
                )
            return last.numbers
        numbers = self._sum_masks(round_no, seeds, request_digest)
        self._store.save(StoredResponse(round_no, request_digest, numbers))
        return numbers

    def _check(self, round_no: int, names: Sequence[int], envelopes: NDArray[np.uint8]) -> None:
        """Refuse a request that does not name one set of enough clients in a round that is still
        open.
        """
        terms, last = self.terms, self._store.newest()
        if not 1 <= round_no <= terms.rounds:
            raise self._refuse(f"the plan has rounds 1 to {terms.rounds:,}, got round {round_no:,}")
        if last is not None and round_no < last.round_no:
            raise self._refuse(
                f"round {round_no:,} is over: round {last.round_no:,} has a response already"
            )
        if any(second <= first for first, second in pairwise(names)):
            raise self._refuse("clients must be named once each, in ascending order")
        if len(names) < terms.min_clients:
            raise self._refuse(
                f"a set must have at least {terms.min_clients:,} clients, got {len(names):,}"
            )
        if envelopes.shape != (len(names), terms.envelope_size):
            raise self._refuse(
                f"each client's envelope must have {terms.envelope_size:,} bytes; got a block of"
                f" shape {envelopes.shape}"
            )

    def _open_seed(self, round_no: int, name: int, envelope: bytes) -> bytes:
        site = self._sites(name)
        if site is None:
            raise self._refuse(f"client {name} belongs to no site in this helper's peers")
        sealed, salt, token = split_envelope(self.terms, self.number, envelope)
        if name not in self._keys or self._keys[name][0] != sealed:
            try:
                self._keys[name] = (
                    sealed,
                    open_key(self.terms, self.number, self._key, site, name, sealed),
                )
            except WireError as error:
                raise self._refuse(f"client {name}: {error}") from None
        now = derive_round_secrets(self.terms, self._keys[name][1], round_no, salt)
        if not hmac.compare_digest(now.token, token):
            raise self._refuse(
                f"client {name}: its token is not for round {round_no:,}, so it did not take part in"
                " this round"
            )
        return now.seed

    def _sum_masks(self, round_no: int, seeds: Sequence[bytes], request_digest: str) -> Words:
        terms = self.terms
        total = zeros(terms.size, terms.bits)
        for seed in seeds:
            np.add(total, expand_mask(seed, terms.size, terms.bits), out=total)
        if self._noise is not None:
            own = self._own.at(terms.exchange, round_no)
            add_modulo(total, self._noise(own if self._simulated else own.at(request_digest)))
        return total

    def _digest(self, round_no: int, names: Sequence[int], seeds: Sequence[bytes]) -> str:
        """SHA-256 that identifies a request: the sum, the round, the clients and their seeds,
        however they were sealed.
        """
        return hashlib.sha256(self.terms.tag(round_no, names) + b"".join(seeds)).hexdigest()

    def _refuse(self, why: str) -> WireError:
        return WireError(f"helper {self.number} refused: {why}")
