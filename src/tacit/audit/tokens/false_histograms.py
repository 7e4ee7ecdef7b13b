"""Attacks by a server that falsifies the histogram: which falsifications clients refuse, and how
the others change the model.

Clients check that a histogram has all parameters, that counts add up to its weight, and that the
tokens are possible in this round. They do not check that it contains their own messages; the effect
of such a check is also measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.audit.tokens.finished_run import FinishedRun, Sent
from tacit.codecs import Codec
from tacit.codecs.sums.tokens import TokenTally, pack_integers
from tacit.errors import WireError
from tacit.randomness import Draws, PublicDraws, ServerDraws
from tacit.rows import Vector

Kind = Literal["paper", "keyed"]
"""Kinds of tokens, as plans name them."""
Messages = NDArray[np.uint32]
"""Tokens, one row per client."""
Histogram = tuple[NDArray[np.uint8], int]
"""A histogram as clients receive it: bytes, and its stated weight."""
HONEST = "none: the honest histogram"


@dataclass(frozen=True, kw_only=True)
class Falsified:
    """One falsification under one kind of tokens: whether clients refuse it, and its effect on the
    model if they do not.

    `off` is the root mean square error of the next model, relative to the root mean square change
    of the honest round; `accuracy` is that of the next model on the test rows. `owner_notices` says
    whether some client would miss a token it sent.
    """

    tokens: str
    what: str
    detected: bool
    off: float
    accuracy: float
    owner_notices: bool


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A round with its messages, and those of the round before it."""

    codec: Codec
    now: Messages
    before: Messages
    draws: Draws

    def histogram(self, messages: Messages, more: int = 0) -> Histogram:
        """Histogram of some messages, with `more` added to its stated weight."""
        total = self.codec.empty(messages.shape[1])
        assert isinstance(total, TokenTally)
        for row in messages:
            total.add(pack_integers(np.ascontiguousarray(row), total.bits), 1, PublicDraws(b""))
        return total.pack(), total.weight + more

    def read(self, given: Histogram) -> Vector:
        """Mean that clients decode; raise WireError if they refuse the histogram."""
        total = self.codec.empty(self.now.shape[1])
        assert isinstance(total, TokenTally)
        total.add_packed(*given)
        return self.codec.decode(
            total, public=PublicDraws(b""), own=ServerDraws(b"")
        )  # nothing is drawn


def _foreign(scene: Scene) -> Messages:
    """Replace a client's tokens at a tenth of the parameters by random numbers."""
    found, random = scene.now.copy(), scene.draws.at("foreign").generator()
    total = scene.codec.empty(found.shape[1])
    assert isinstance(total, TokenTally)
    places = random.permutation(found.shape[1])[: max(1, found.shape[1] // 10)]
    found[0, places] = random.integers(0, 1 << total.bits, len(places), dtype=np.uint32)
    return found


def _twice(scene: Scene) -> Messages:
    """Leave out the first client's message and count the second's twice."""
    return np.concatenate([scene.now[1:2], scene.now[1:]])


def _shift_tokens(scene: Scene) -> Messages:
    """Shift every client's tokens by one parameter."""
    return np.roll(scene.now, 1, axis=1)


Lie = Callable[[Scene], tuple[Histogram, Messages]]
"""Builds a histogram, and the messages it represents."""


def _build_lie(messages: Callable[[Scene], Messages]) -> Lie:
    return lambda scene: (scene.histogram(messages(scene)), messages(scene))


LIES: dict[str, Lie] = {
    HONEST: _build_lie(lambda scene: scene.now),
    "one parameter too few": lambda scene: (
        scene.histogram(scene.now[:, :-1]),
        scene.now,
    ),
    "counts that do not add up": lambda scene: (scene.histogram(scene.now, more=1), scene.now),
    "random tokens at a tenth of the parameters": _build_lie(_foreign),
    "the histogram of the previous round": _build_lie(lambda scene: scene.before),
    "tokens moved to the next parameter": _build_lie(_shift_tokens),
    "one client left out, another counted twice": _build_lie(_twice),
}


def falsify_histograms(
    run: FinishedRun, sent: Sequence[Sent], model: Vector, tokens: Kind
) -> list[Falsified]:
    """Measure the effect of each falsification in a round with model `model`; `sent` is the
    previous and the current round.
    """
    settings, draws = replace(run.settings, tokens=tokens), run.draws.at("false")
    client_codecs = [run.build_client_codec(round_no, settings) for round_no in (1, 2)]
    before, now = (
        np.stack([encode_tokens(one, row, draws) for row in rows])
        for one, rows in zip(client_codecs, sent, strict=True)
    )
    scene = Scene(codec=client_codecs[1], now=now, before=before, draws=draws)
    honest = run.next_model(model, scene.read(scene.histogram(now)))
    step = float(np.sqrt(np.mean((honest - model) ** 2)))
    found = []
    for what, lie in LIES.items():
        histogram, messages = lie(scene)
        following, detected = honest, False
        try:
            following = run.next_model(model, scene.read(histogram))
        except WireError:
            detected = True
        found.append(
            Falsified(
                tokens=tokens,
                what=what,
                detected=detected,
                off=float(np.sqrt(np.mean((following - honest) ** 2))) / step,
                accuracy=run.figures(following)["accuracy"],
                owner_notices=any(_misses(messages, own) for own in now),
            )
        )
    return found


def encode_tokens(codec: Codec, values: Vector, draws: Draws) -> NDArray[np.uint32]:
    """Encode one client's values and read the tokens as the server does."""
    total = codec.empty(len(values))
    assert isinstance(total, TokenTally)
    public = PublicDraws(b"")  # nothing is drawn
    total.add(codec.encode(values, {}, own=draws.for_client(), public=public).payload, 1, public)
    found: NDArray[np.uint32] = total.value()[0][0]
    return found


def _misses(messages: Messages, own: NDArray[np.uint32]) -> bool:
    """Whether some token of a client is missing from the messages."""
    return not bool((messages == own).any(axis=0).all())
