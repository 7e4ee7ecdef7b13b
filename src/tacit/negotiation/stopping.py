"""Why a negotiation ends without a result: who, what, and what to do."""

from __future__ import annotations

from enum import IntEnum

from tacit.errors import WireError


class Reason(IntEnum):
    """What a party did wrong."""

    GONE = 1
    LATE = 2
    DISAGREES = 3
    GARBAGE = 4
    TWICE = 5
    OTHER_RESULT = 6
    BROKE = 7


_WHAT = {
    Reason.GONE: "dropped out",
    Reason.LATE: "did not answer in time",
    Reason.DISAGREES: "has other public parameters",
    Reason.GARBAGE: "sent bytes that make no sense here",
    Reason.TWICE: "connected twice, so one of the two is somebody else",
    Reason.OTHER_RESULT: "came to another result",
    Reason.BROKE: "could not compute with the shares it was sent",
}
_DO = {
    Reason.GONE: "see what that party says, then start all parties again",
    Reason.LATE: (
        "see whether it runs at its address, then start all parties again, with a longer --deadline"
        " if need be"
    ),
    Reason.DISAGREES: (
        "give all parties the same --run, --parties, --levels and --enlargement, and the same"
        " version of Tacit"
    ),
    Reason.GARBAGE: "see what listens at its address, then start all parties again",
    Reason.TWICE: "see who else uses these ports, then start all parties again on other ones",
    Reason.OTHER_RESULT: (
        "one of the parties does not compute what it should; start all parties again"
    ),
    Reason.BROKE: "one of the parties does not compute what it should; start all parties again",
}


def failure(
    me: int, party: int, reason: Reason, *, told_by: int | None = None, detail: str = ""
) -> WireError:
    """Return the error that says who did what, as seen by party `me`, and what to do."""
    who = "it" if party == told_by else "this party" if party == me else f"party {party}"
    heard = f"party {told_by} reports that " if told_by is not None else ""
    return WireError(
        f"negotiate(party={me}): {heard}{who} {_WHAT[reason]}{f' ({detail})' if detail else ''};"
        f" nothing was agreed; {_DO[reason]}"
    )
