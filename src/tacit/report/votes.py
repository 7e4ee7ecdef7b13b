"""Scores that clients gave each other: a score per client, how often it was rejected, and how
accurate that was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.runs.record import Corrupted, Voted

UNKNOWN = 9.0
"""From this error on, a score means nothing: nobody voted on the client."""


@dataclass(frozen=True, kw_only=True)
class ClientScore:
    """Last score of one client with its standard error, the number of rounds it was voted on, and
    those in which it was rejected.
    """

    client: int
    score: float
    error: float
    rounds: int
    rejected_in: tuple[int, ...]

    @property
    def known(self) -> bool:
        """Whether anybody voted on the client."""
        return self.error < UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Detection:
    """How well the last round's rejections match the corrupted clients of an experiment."""

    accuracy: float
    precision: float | None  # of the rejected, how many were corrupted; None if nobody was rejected
    recall: float | None  # of the corrupted, how many were rejected; None if nobody was corrupted


@dataclass(frozen=True, kw_only=True)
class VoteFigures:
    """Scores of all clients that were voted on, lowest first, and the last decision."""

    scores: tuple[ClientScore, ...]
    rounds: int
    last_round: int
    threshold: float
    of_clients: int
    rejected: frozenset[int]
    corrupted: frozenset[int]
    found: Detection | None

    @property
    def sentence(self) -> str:
        """The last decision in one line."""
        said = (
            f"votes rejected {len(self.rejected):,} of {self.of_clients:,} clients in round"
            f" {self.last_round:,}, the last that voted"
        )
        known = [one for one in self.scores if one.known]
        return (
            f"{said}; lowest score: client {known[0].client}, {format_score(known[0])}"
            if known
            else said
        )


def summarise_votes(
    entries: Sequence[Voted], corrupted: Corrupted | None = None
) -> VoteFigures | None:
    """Summarise an arm's rounds of votes; None if there were none.

    A client's score is that of the last round in which it was voted on; if the plan gives votes a
    memory, it includes earlier rounds.
    """
    if not entries:
        return None
    last, latest, seen, rejected = (
        entries[-1],
        dict[int, tuple[float, float]](),
        dict[int, int](),
        dict[int, list[int]](),
    )
    for entry in entries:
        for client, score, error in zip(entry.clients, entry.scores, entry.errors, strict=True):
            latest[client] = (score, error)
            seen[client] = seen.get(client, 0) + 1
        for client in entry.rejected:
            rejected.setdefault(client, []).append(entry.round_no)
    scores = [
        ClientScore(
            client=client,
            score=score,
            error=error,
            rounds=seen[client],
            rejected_in=tuple(rejected.get(client, ())),
        )
        for client, (score, error) in latest.items()
    ]
    bad = frozenset(corrupted.clients) if corrupted else frozenset[int]()
    return VoteFigures(
        scores=tuple(sorted(scores, key=lambda one: (not one.known, one.score, one.client))),
        rounds=len(entries),
        last_round=last.round_no,
        threshold=last.threshold,
        of_clients=len(last.clients),
        rejected=frozenset(last.rejected),
        corrupted=bad,
        found=measure_detection(frozenset(last.rejected), bad, frozenset(last.clients))
        if corrupted
        else None,
    )


def measure_detection(
    rejected: frozenset[int], corrupted: frozenset[int], voted_on: frozenset[int]
) -> Detection:
    """Compare rejected with corrupted clients, among those voted on.

    >>> measure_detection(frozenset({1, 2}), frozenset({2, 3}), frozenset(range(10)))
    Detection(accuracy=0.8, precision=0.5, recall=0.5)
    """
    bad = corrupted & voted_on
    both = len(rejected & bad)
    return Detection(
        accuracy=1 - len(rejected ^ bad) / len(voted_on) if voted_on else 0.0,
        precision=both / len(rejected) if rejected else None,
        recall=both / len(bad) if bad else None,
    )


def format_score(one: ClientScore) -> str:
    """Format a score with its standard error, such as "-0.82 ± 0.10"."""
    return f"{one.score:.2f} ± {one.error:.2f}" if one.known else "no votes"
