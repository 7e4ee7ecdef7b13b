"""One site in a negotiation over a server that only forwards messages.

The secret is the exclusive or of one random word per site. Each site commits to its word before it
sees another one, so nobody chooses theirs afterwards.

The range is found by sums. For each number of a public grid (`grid.py`) a site contributes a random
word if its own values reach that number, else zero. Contributions are masked by words that each
pair of sites shares and that cancel in the sum. So a sum is zero if no site reaches the number, and
random otherwise, also in how many sites do and which. Sites commit to their masked contributions
before any is opened.

Guarantees, for every site that follows the protocol, whatever the server and the others do: it ends
with the same secret and range as every other such site, or with an error. The range covers its own
values up to the limit. The server, and everybody who is not one of the sites, learns neither secret
nor range. The sites together learn of its values only where, with those of all other sites that do
not collude, they end. Edge cases: a site that misstates its own values can widen the range up to the
limit, and no further; it cannot narrow it. Any site can stop the negotiation.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from tacit.errors import WireError
from tacit.negotiation.exchange.agreed_secret import SECRET_BYTES, AgreedSecret
from tacit.negotiation.exchange.grid import RangeGrid
from tacit.negotiation.exchange.pairs import derive_pair_key, open_message, seal_message
from tacit.negotiation.exchange.signed_step import (
    SignedStep,
    accuse,
    check_seen,
    digest_messages,
    read_step,
    sign_step,
)
from tacit.negotiation.exchange.terms import ExchangeTerms, Step
from tacit.randomness import Draws

Ends = tuple[int | None, int | None]
"""Where a site's values end on the grid: indices of the greatest value, and of the least one negated;
None for a site without values.
"""
MeasureEnds = Callable[[bytes], Ends]
"""Finds where a site's own values end, given the secret; called once."""

_DIGEST = 32
_Words = NDArray[np.uint64]


class SiteParty:
    """One site's side of a negotiation. `answer` is called once per step, in order."""

    def __init__(
        self,
        terms: ExchangeTerms,
        site: str,
        key: Ed25519PrivateKey,
        own: Draws,
        word: bytes | None = None,
    ) -> None:
        """`own` is randomness of this site for this negotiation alone. A simulation gives the word
        that it contributes.
        """
        self.terms, self.site, self.own = terms, site, own
        self.agreed: AgreedSecret | None = None
        self._key, self._word = key, word or own.sealed("word").key
        self._private = X25519PrivateKey.from_private_bytes(own.sealed("key").key)
        self._place = terms.sites.index(site)
        self._sent: dict[Step, bytes] = {}
        self._seen: list[list[bytes]] = []
        self._pairs: dict[str, Draws] = {}
        self._commitments: list[bytes] = []
        self._contribution = b""
        self._secret = b""
        self._range: tuple[float, float] | None = None

    def answer(self, step: Step, received: Sequence[bytes], measure: MeasureEnds) -> bytes:
        """This site's message of a step, from all sites' messages of the step before; none after
        the last step, when `agreed` is set.

        Raises WireError, naming the site at fault where it is known.
        """
        steps, done = self.terms.steps, len(self._sent)
        if step != steps[done]:
            raise WireError(f"negotiation refused: step {steps[done]!r} is next, got {step!r}")
        if done:
            self._accept(steps[done - 1], received)
        elif received:
            raise WireError("negotiation refused: nothing is received before the first step")
        if step == "done":
            return b""
        seen = self._seen[-1] if self._seen else []
        content = self._build(step, measure)
        self._sent[step] = sign_step(self.terms, self.site, self._key, step, seen, content)
        return self._sent[step]

    # Building this site's messages.

    def _build(self, step: Step, measure: MeasureEnds) -> bytes:
        match step:
            case "keys":
                public = self._private.public_key().public_bytes_raw()
                return public + self._commit("word", self.site, self._word, self._salt("word"))
            case "words":
                return msgspec.msgpack.encode(
                    [self._seal_word(other) for other in self.terms.sites]
                )
            case "range":
                self._contribution = self._mask(measure(self._secret)).tobytes()
                salt = self._salt("range")
                return self._commit("range", self.site, self._contribution, salt)
            case "open":
                content = self._contribution + self._salt("range")
                return seal_message(self._group_key(self.site), content, self._context("open"))
            case "confirm":
                return self._compute_confirmation()
            case _:
                raise AssertionError(f"step {step!r} has no message")

    def _seal_word(self, other: str) -> bytes:
        if other == self.site:
            return b""
        key = self._pairs[other].sealed("word", self.site)
        return seal_message(key, self._word + self._salt("word"), self._context("words"))

    def _mask(self, ends: Ends) -> _Words:
        """This site's contribution to both ends of the range, plus the masks it shares."""
        assert self.terms.limit is not None
        grid = RangeGrid(self.terms.limit)
        flags = np.concatenate([grid.mark(end) for end in ends])
        total = np.where(flags, self.own.at("contribution").words(len(flags)), np.uint64(0))
        for place, other in enumerate(self.terms.sites):
            if other != self.site:
                mask = self._pairs[other].at("mask").words(len(flags))
                total = total + mask if place > self._place else total - mask
        return total.astype("<u8")

    def _compute_confirmation(self) -> bytes:
        ends = [] if self._range is None else [end.hex() for end in self._range]
        content = msgspec.msgpack.encode((self.terms.binding, self._seen, ends))
        return hmac.digest(self._secret, b"tacit negotiation" + content, "sha256")

    # Taking in all sites' messages.

    def _accept(self, step: Step, received: Sequence[bytes]) -> None:
        """Check all sites' messages of a step, and compute what follows from them."""
        terms = self.terms
        if len(received) != len(terms.sites):
            raise WireError(
                f"negotiation refused: step {step!r} has one message per site,"
                f" {len(terms.sites)} in all, got {len(received)}"
            )
        if received[self._place] != self._sent[step]:
            raise WireError(
                f"negotiation refused: the server changed this site's own message of step {step!r}"
            )
        messages = {
            site: read_step(terms, site, step, data)
            for site, data in zip(terms.sites, received, strict=True)
        }
        for site, message in messages.items():
            check_seen(terms, site, message, self._seen[-1] if self._seen else [])
        self._seen.append(digest_messages(received))
        match step:
            case "keys":
                self._take_keys(messages)
            case "words":
                self._take_words(messages)
            case "range":
                self._commitments = [_read_digest(site, one) for site, one in messages.items()]
            case "open":
                self._take_contributions(messages)
            case "confirm":
                self._take_confirmations(messages)
            case _:
                raise AssertionError(f"step {step!r} has no message")

    def _take_keys(self, messages: dict[str, SignedStep]) -> None:
        for site, message in messages.items():
            if len(message.content) != 2 * _DIGEST:
                accuse(site, "its public key and commitment have another length")
            public, commitment = message.content[:_DIGEST], message.content[_DIGEST:]
            self._commitments.append(commitment)
            if site != self.site:
                self._pairs[site] = derive_pair_key(self._private, site, public, self.terms.binding)

    def _take_words(self, messages: dict[str, SignedStep]) -> None:
        secret = int.from_bytes(self._word, "big")
        for place, (site, message) in enumerate(messages.items()):
            if site == self.site:
                continue
            key = self._pairs[site].sealed("word", site)
            sealed = _read_sealed(site, message, len(messages))[self._place]
            opened = open_message(key, site, sealed, self._context("words"))
            word, salt = opened[:SECRET_BYTES], opened[SECRET_BYTES:]
            if not self._is_committed("word", site, word, salt, self._commitments[place]):
                accuse(site, "the word it sent is not the one it had committed to")
            secret ^= int.from_bytes(word, "big")
        self._secret = secret.to_bytes(SECRET_BYTES, "big")

    def _take_contributions(self, messages: dict[str, SignedStep]) -> None:
        assert self.terms.limit is not None
        grid = RangeGrid(self.terms.limit)
        size = 2 * (len(grid.values) - 1)
        total = np.zeros(size, "<u8")
        for place, (site, message) in enumerate(messages.items()):
            context = self._context("open")
            opened = open_message(self._group_key(site), site, message.content, context)
            words, salt = opened[: 8 * size], opened[8 * size :]
            if not self._is_committed("range", site, words, salt, self._commitments[place]):
                accuse(site, "its part of the range is not the one it had committed to")
            if len(words) != 8 * size:
                accuse(site, "its part of the range has another length")
            total += np.frombuffer(words, "<u8")
        greatest, least = (grid.read_index(half != 0) for half in np.split(total, 2))
        if grid.values[greatest] < -grid.values[least]:
            raise WireError("negotiation refused: no site has values for a range")
        self._range = (float(-grid.values[least]), float(grid.values[greatest]))

    def _take_confirmations(self, messages: dict[str, SignedStep]) -> None:
        expected = messages[self.site].content
        for site, message in messages.items():
            if not hmac.compare_digest(message.content, expected):
                accuse(site, "it computed another result from the same messages")
        self.agreed = AgreedSecret(
            sites=self.terms.sites,
            secret=self._secret,
            limits=self._range,
            confirmation=expected.hex(),
        )

    # Commitments and keys.

    def _context(self, what: str) -> bytes:
        return self.terms.binding + what.encode()

    def _salt(self, what: str) -> bytes:
        return self.own.sealed("salt", what).key

    def _group_key(self, site: str) -> Draws:
        """The key under which a site shows its contribution to all sites."""
        return Draws(self._secret).sealed("tacit negotiation", self.terms.binding.hex(), site)

    def _commit(self, what: str, site: str, content: bytes, salt: bytes) -> bytes:
        committed = msgspec.msgpack.encode((self._context(what), site, content, salt))
        return hashlib.sha256(committed).digest()

    def _is_committed(
        self, what: str, site: str, content: bytes, salt: bytes, commitment: bytes
    ) -> bool:
        return hmac.compare_digest(self._commit(what, site, content, salt), commitment)


def _read_digest(site: str, message: SignedStep) -> bytes:
    if len(message.content) != _DIGEST:
        accuse(site, "its commitment has another length")
    return message.content


def _read_sealed(site: str, message: SignedStep, count: int) -> list[bytes]:
    try:
        sealed = msgspec.msgpack.decode(message.content, type=list[bytes])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        sealed = []
    if len(sealed) != count:
        accuse(site, "it did not send one sealed word to each site")
    return sealed
