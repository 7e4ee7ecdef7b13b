"""LDP-FL's splitting and shuffling (Sun et al. 2020): the pieces of updates, how they travel, and
who can link them.

Every client splits its randomised update into pieces: one bit with the number of its parameter. The
server adds up the pieces of each parameter. Three ways for the pieces to travel:

- `shuffler`: a party that waits for the pieces of all clients and forwards them in random order.
- `delays`: LDP-FL's own: an anonymous channel, and a random delay of each piece. The server sees
  when a piece arrives, and chooses when it asks each client.
- `marked`: a broken shuffler, to show that the attack works: pieces keep a mark of their client.

A shuffler sees nothing but sealed pieces and their senders; it must not tell the server. With it,
what the server sees is the number of ones of each parameter: the view under secure aggregation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit.audit.epsilon import lower_bound
from tacit.codecs.rr import compute_bit_epsilon, compute_flips, randomise_bits
from tacit.codecs.sums import BitSum
from tacit.errors import WireError
from tacit.privacy.accounting.shuffle import compute_split_epsilon
from tacit.randomness import Draws
from tacit.reproduction import Scale
from tacit_papers.published import Figures, PaperCell, PaperTable, PaperTrial
from tacit_papers.rr_ldp.settings import seeds

Way = Literal["shuffler", "delays", "marked"]
_DELTA = 1e-5
_CUTS = (0.01, 0.1, 0.5, 0.9, 0.99)
"""Quantiles of the attacker's score between which outcomes are counted as one event."""


@dataclass(frozen=True)
class Pieces:
    """The pieces of a round in the order in which the server gets them.

    `mark` is 0 for all pieces unless the shuffler is broken. No other field depends on who sent a
    piece, except through the time of arrival under `delays`.
    """

    parameter: NDArray[np.int64]
    bit: NDArray[np.uint8]
    arrived: NDArray[np.float64]
    mark: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Channel:
    """How pieces travel. Client i is asked at time i times `apart`; a delay is at most 1."""

    way: Way
    apart: float = 0.0

    def carry(
        self, bits: NDArray[np.uint8], generator: np.random.Generator
    ) -> tuple[Pieces, NDArray[np.int64]]:
        """Split updates (clients by parameters) and carry the pieces; the second result is who sent
        each, which only the scoring of an attack may read.
        """
        clients, dim = bits.shape
        sender = np.repeat(np.arange(clients), dim)
        parameter = np.tile(np.arange(dim), clients)
        arrived, mark = np.zeros(clients * dim), np.zeros(clients * dim, np.int64)
        order = generator.permutation(clients * dim)
        match self.way:
            case "shuffler":
                pass
            case "delays":
                arrived = self.apart * sender + generator.random(clients * dim)
                order = np.argsort(arrived)
            case "marked":
                mark = sender + 1
            case _:
                assert_never(self.way)
        pieces = Pieces(parameter[order], bits.ravel()[order], arrived[order], mark[order])
        return pieces, sender[order]


def split(payloads: Sequence[NDArray[np.uint8]], dim: int) -> NDArray[np.uint8]:
    """Split messages of `rr` into single bits: clients by parameters."""
    return np.stack([np.unpackbits(one, count=dim, bitorder="little") for one in payloads])


def collect(pieces: Pieces, dim: int, clients: int) -> BitSum:
    """Add up pieces; raise WireError unless each parameter has exactly one piece per client.

    The server cannot see who sent a piece too many: a client that sends all its pieces for one
    parameter stops the round, and stays unknown.
    """
    received = np.bincount(pieces.parameter, minlength=dim)
    if len(received) > dim or (received != clients).any():
        raise WireError(
            f"each of {dim:,} parameters must have {clients:,} pieces, one per client; some have"
            " more or fewer"
        )
    ones = np.bincount(pieces.parameter, weights=pieces.bit, minlength=dim)
    return BitSum.of(ones.astype(np.int64), clients)


def link(pieces: Pieces, dim: int, clients: int) -> NDArray[np.int64]:
    """Guess who sent each piece: by its mark, else by the order of arrival at its parameter.

    The server asked clients in ascending order, so the first piece is most likely the first
    client's.
    """
    if pieces.mark.any():
        return pieces.mark - 1
    guess = np.empty(len(pieces.parameter), np.int64)
    by_parameter = np.argsort(pieces.parameter, kind="stable")  # keeps the order of arrival
    guess[by_parameter] = np.tile(np.arange(clients), dim)
    return guess


def attack(
    way: Way, apart: float, epsilon: float, clients: int, parameters: int, trials: int, seed: int
) -> Figures:
    """Tell from one round whether client 0 has the largest update or the smallest; the server knows
    that all others have zero updates.

    `linked` is the share of pieces that are attributed to their sender. `stated` is the epsilon per
    update that holds with a shuffler, at delta 1e-5; `shown` is a lower bound on epsilon from the
    attack's successes. `stated` is false where `shown` is larger.
    """
    channel, flips = Channel(way=way, apart=apart), compute_flips(epsilon)
    root = Draws.seeded(seed)
    scores, hits = [], []
    for sign in (1.0, -1.0):
        updates = np.zeros((clients, parameters), np.float32)
        updates[0] = sign
        for trial in range(trials):
            at = root.at("trial", "up" if sign > 0 else "down", trial)
            packed = randomise_bits(updates.ravel(), flips, 1.0, at.at("bits").for_client())
            bits = np.unpackbits(packed, count=updates.size, bitorder="little")
            pieces, sender = channel.carry(
                bits.reshape(updates.shape), at.at("channel").generator()
            )
            guess = link(pieces, parameters, clients)
            hits.append(float((guess == sender).mean()))
            of_victim = guess == 0 if way != "shuffler" else slice(None)
            scores.append(int(pieces.bit[of_victim].sum()))
    found = np.digitize(scores, np.quantile(scores, _CUTS))
    return {
        "last": {
            "linked": float(np.mean(hits)),
            "stated": compute_split_epsilon(
                compute_bit_epsilon(flips), parameters, clients, 1, _DELTA
            ),
            "shown": lower_bound(found[:trials], found[trials:], 0.999, _DELTA),
            "one_bit": compute_bit_epsilon(flips),
        }
    }


_ROWS: dict[str, tuple[Way, float, int, int]] = {  # way, apart, clients, parameters
    "a shuffler waits for all; 1,000 clients, 20 parameters": ("shuffler", 0.0, 1000, 20),
    "random delays, all asked at once; the same": ("delays", 0.0, 1000, 20),
    "random delays, the server asks one by one; the same": ("delays", 1.0, 1000, 20),
    "a broken shuffler marks pieces; the same": ("marked", 0.0, 1000, 20),
    "a shuffler waits for all; 100 clients, 500 parameters": ("shuffler", 0.0, 100, 500),
}
_COLUMNS = {
    "pieces linked to their sender": "linked",
    "epsilon of one bit": "one_bit",
    "epsilon per update, with a shuffler": "stated",
    "epsilon per update, shown by the attack": "shown",
}


def split_and_shuffle(scale: Scale) -> PaperTable:
    """A table of ours: LDP-FL's pieces, who can link them, and what an attack shows."""
    trials = {"smoke": 20, "quick": 400, "full": 2000}[scale]
    cells = []
    for row, (way, apart, clients, parameters) in _ROWS.items():
        settings = {
            "way": way,
            "apart": apart,
            "epsilon": 1.0,
            "clients": clients,
            "parameters": parameters,
            "trials": min(trials, 400) if parameters > 20 else trials,
        }
        trial = PaperTrial(kind="split_shuffle", settings=settings, seeds=seeds(scale))
        cells += [
            PaperCell(row=row, column=column, paper=None, trial=trial, metric=metric)
            for column, metric in _COLUMNS.items()
        ]
    return PaperTable(
        name="shuffling",
        title="LDP-FL: pieces of updates that travel through a shuffler, or with random delays",
        cells=tuple(cells),
        note=(
            "Epsilon 1 per bit, a single round, delta 1e-5, if all rows of one client are replaced. The"
            " attacker knows all other updates; its epsilon is a lower bound with 99.9 %"
            " confidence. The epsilon with a shuffler holds in the first and last row only. The"
            " epsilon of one bit, which LDP-FL states for an update, holds in none."
        ),
    )
