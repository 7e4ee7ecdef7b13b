"""What voting rounds leave for later ones, in arrays of the checkpoint: sums of votes, evidence, and
the last decision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit import plan, server
from tacit.protocol.round import Names
from tacit.server import Ballots, Decision, Evidence

BALLOTS, EVIDENCE, DECISION = "ballots", "votes.evidence", "votes.decision"
Arrays = dict[str, NDArray[Any]]


class VoteResult(NamedTuple):
    """The decision on the contributors of a round, the votes it follows from, and the arrays to
    keep.
    """

    decision: Decision
    ballots: Ballots
    arrays: Arrays


def decide_on(
    settings: plan.Filter, votes: int, arrays: Arrays, senders: Names, new: Ballots
) -> VoteResult:
    """Decide on the contributors of a voting round, one of `votes` in the run, by its votes and
    earlier ones.

    `new` has an entry for each client of the run.
    """
    clients = len(new.votes)
    ballots = _unpack_ballots(arrays.get(BALLOTS), clients).plus(new, settings.memory)
    here, kept = take_ballots(ballots, senders), {BALLOTS: _pack_ballots(ballots)}
    if settings.error_rate is None:
        decision = server.decide(settings, here)
    else:
        evidence = _unpack_evidence(arrays.get(EVIDENCE), clients)
        threshold = server.choose_threshold(settings, here)
        needed = server.compute_needed_evidence(settings.error_rate, votes)
        everybody = settings.testers is None and settings.votes_epsilon is not None
        some = evidence.take(senders).add(here, threshold, needed, everybody=everybody)
        kept[EVIDENCE] = np.stack(list(evidence.put(senders, some))).astype(np.float64)
        rejected = server.limit_rejected(settings, some.rejected, here.scores())
        decision = Decision(rejected, threshold)
    last = arrays.get(DECISION, np.zeros((2, clients))).copy()
    last[:, senders] = decision.rejected, here.scores()
    return VoteResult(decision, here, {**kept, DECISION: last})


def find_rejected(settings: plan.Filter, arrays: Arrays, cohort: Names) -> NDArray[np.bool_] | None:
    """Which clients of a cohort the last decision rejects; None if there is no decision yet."""
    last = arrays.get(DECISION)
    if last is None:
        return None
    return server.limit_rejected(settings, last[0, cohort] > 0, last[1, cohort])


def take_ballots(ballots: Ballots, names: Names) -> Ballots:
    """The votes on some clients."""
    return _unpack_ballots(_pack_ballots(ballots)[:, names], len(names))


def _pack_ballots(ballots: Ballots) -> NDArray[np.float64]:
    noise = np.broadcast_to(ballots.noise, ballots.votes.shape)
    return np.stack([ballots.votes, ballots.squares, ballots.fourths, ballots.count, noise])


def _unpack_ballots(array: NDArray[np.float64] | None, clients: int) -> Ballots:
    if array is None:
        return Ballots.none(clients)
    return Ballots(
        votes=array[0], squares=array[1], fourths=array[2], count=array[3], noise=array[4]
    )


def _unpack_evidence(array: NDArray[np.float64] | None, clients: int) -> Evidence:
    return Evidence.none(clients) if array is None else Evidence(array[0], array[1] > 0)
