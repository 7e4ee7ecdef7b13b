"""The few kinds of error a user can meet. Each message reads: who(with=value) needs X, got
Y; do Z.
"""

from __future__ import annotations


class TacitError(Exception):
    """Root of every error Tacit raises on purpose; the command line prints it as one paragraph."""

    exit_code = 1


class PlanError(TacitError):
    """The plan asks for something unknown, impossible or contradictory; nothing was read or run."""

    exit_code = 2


class DataError(TacitError):
    """A data set is missing, damaged or not shaped as the plan says."""

    exit_code = 2


class ChainError(TacitError):
    """A codec was put together in a way that has no meaning or no guarantee."""

    exit_code = 2


class WireError(TacitError):
    """A message is malformed, too large, or not the one that was asked for."""

    exit_code = 5


class PeerError(TacitError):
    """The other side cannot be reached, is not who it should be, or does not let us in."""

    exit_code = 5


class PolicyError(TacitError):
    """A data owner's policy does not allow it; nothing left."""

    exit_code = 3


class BudgetError(TacitError):
    """An operation would spend privacy nobody agreed to."""

    exit_code = 4


class RunError(TacitError):
    """A run could not go on, or its folder is not in a state to be read or resumed."""

    exit_code = 6


class DiskError(TacitError):
    """A folder or a disk cannot be written to, or went away."""

    exit_code = 7


class LedgerError(TacitError):
    """A data owner's ledger is damaged, older than it was, or cannot be written; nothing leaves."""

    exit_code = 6


def did_you_mean(word: str, known: list[str]) -> str:
    """Return a ' Did you mean …?' ending for the closest known word, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
