"""Errors that Tacit raises on purpose. A message says what is wrong, then what to do."""

from __future__ import annotations

from typing import Literal


class TacitError(Exception):
    """Base class of these errors; the command line prints one as a paragraph."""

    exit_code = 1


class PlanError(TacitError):
    """The plan asks for something unknown, impossible or contradictory; nothing was read or run."""

    exit_code = 2


class VersionError(PlanError):
    """Server and site run versions of Tacit that cannot work together on a plan. `versions` names
    both, for the other side.
    """

    def __init__(self, message: str, versions: str) -> None:
        super().__init__(message)
        self.versions = versions


class DataError(TacitError):
    """A data set is missing, damaged or not shaped as the plan says."""

    exit_code = 2


class MisfitError(DataError):
    """Rows are not as the plan says. `public` names columns and kinds of misfit, never a cell or a
    count: a site sends it to the server.
    """

    def __init__(self, message: str, public: str = "") -> None:
        super().__init__(message)
        self.public = public


class ChainError(TacitError):
    """A codec was combined with stages in a way that is meaningless or has no guarantee."""

    exit_code = 2


class WireError(TacitError):
    """A message is malformed, too large, or not the requested one."""

    exit_code = 5


RequestStatus = Literal["answered", "model", "order", "terms", "ended", "negotiation", "approval"]
"""Words that a server learns about a request that a site does not answer."""


class RequestError(WireError):
    """A request that a site must not answer; `status` is the word that its server learns."""

    def __init__(self, status: RequestStatus, text: str):
        super().__init__(text)
        self.status = status


class AccusationError(RequestError):
    """A site stops a negotiation because of another one, `site`, which its server learns."""

    def __init__(self, site: str, text: str) -> None:
        super().__init__("negotiation", text)
        self.site = site


class PeerError(TacitError):
    """The other side cannot be reached, has the wrong identity, or does not admit us."""

    exit_code = 5


class AccessError(PeerError):
    """The server does not allow it to this person: not in their role, not their run, or their access
    is revoked.
    """


class PolicyError(TacitError):
    """A data owner's policy does not allow it; nothing left."""

    exit_code = 3


class BudgetError(TacitError):
    """An operation would exceed the agreed privacy budget."""

    exit_code = 4


class RunError(TacitError):
    """A run could not continue, or its folder is not in a state to be read or resumed."""

    exit_code = 6


class UndecidedError(RunError):
    """The owners of too many sites have not decided about a run; it can be resumed."""


class DiskError(TacitError):
    """A folder or a disk cannot be written to, or disappeared."""

    exit_code = 7


class LedgerError(TacitError):
    """A data owner's ledger is damaged, older than it was, or cannot be written; nothing leaves."""

    exit_code = 6


def did_you_mean(word: str, known: list[str]) -> str:
    """A ' Did you mean …?' ending for the closest known word, or an empty string."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
