"""Why a negotiation ended without a result: which party, what happened, and what to do."""

from __future__ import annotations

from enum import IntEnum

from tacit.errors import WireError


class Reason(IntEnum):
    """What went wrong at a party."""

    GONE = 1
    LATE = 2
    DISAGREES = 3
    GARBAGE = 4
    TWICE = 5
    OTHER_RESULT = 6
    BROKE = 7


_WHAT = {
    Reason.GONE: "dropped out",
    Reason.LATE: "did not respond in time",
    Reason.DISAGREES: "has other public parameters",
    Reason.GARBAGE: "sent malformed data",
    Reason.TWICE: "connected twice, so one of the two is somebody else",
    Reason.OTHER_RESULT: "computed another result",
    Reason.BROKE: "could not compute with the shares it was sent",
}
_DO = {
    Reason.GONE: "see the output of that party, then start all parties again",
    Reason.LATE: (
        "check that it runs at its address, then start all parties again, with a longer --deadline"
        " if necessary"
    ),
    Reason.DISAGREES: (
        "give all parties the same --run, --parties, --levels and --enlargement, and the same"
        " version of Tacit"
    ),
    Reason.GARBAGE: "check what listens at its address, then start all parties again",
    Reason.TWICE: "check which program uses these ports, then start all parties again on other ports",
    Reason.OTHER_RESULT: (
        "one of the parties does not compute what it should; start all parties again"
    ),
    Reason.BROKE: "one of the parties does not compute what it should; start all parties again",
}


def failure(
    me: int, party: int, reason: Reason, *, told_by: int | None = None, detail: str = ""
) -> WireError:
    """Build the error as seen by party `me`: which party, what happened, and what to do."""
    who = "it" if party == told_by else "this party" if party == me else f"party {party}"
    heard = f"party {told_by} reports that " if told_by is not None else ""
    return WireError(
        f"negotiate(party={me}): {heard}{who} {_WHAT[reason]}{f' ({detail})' if detail else ''};"
        f" nothing was agreed; {_DO[reason]}"
    )
