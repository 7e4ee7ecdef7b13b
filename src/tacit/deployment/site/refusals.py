"""What a site says about a request that it refuses: everything in the owner's log; one word and the
policy keys in its reply to the server.
"""

from __future__ import annotations

from tacit.deployment.agenda import COUNTS
from tacit.deployment.site.rows.changed_rows import ChangedRowsError
from tacit.errors import (
    AccusationError,
    BudgetError,
    DataError,
    LedgerError,
    MisfitError,
    PlanError,
    PolicyError,
    RequestError,
    RunError,
    TacitError,
    VersionError,
    WireError,
)
from tacit.printable import printable
from tacit.privacy.policy import Receipt
from tacit.protocol.exchanges.disclose_rows import DiscloseRows
from tacit.protocol.messages.signed_message import MessageSubject, Status

_MAX_LINES, _MAX_LINE_LENGTH = 20, 1000
"""Limits on what one request writes into the owner's log."""
_NAMES = {
    "open": "open",
    "begin": "begin",
    "counts": COUNTS,
    "tally": COUNTS,
    "rows": DiscloseRows.name,
    "model": "model",
    "end": "end",
}
"""Fixed names of requests outside rounds; their round is 0."""


def check_request_name(subject: MessageSubject) -> None:
    """Raise WireError unless a request outside rounds has its fixed name: under another name it
    could be sent again.
    """
    name = _NAMES.get(subject.kind)
    if name is not None and (subject.exchange, subject.round_no) != (name, 0):
        raise WireError(
            f"a request of kind {subject.kind!r} must name exchange {name!r} in round 0, got"
            f" {subject.exchange!r} in round"
            f" {subject.round_no:,}"
        )


def format_for_log(sentence: str) -> str:
    """Format a sentence that quotes the server for the log: no line of it can pass for a log entry
    of its own.

    A plan can have a problem in every line, so one request writes a limited number of lines.
    """
    lines = printable(sentence).splitlines()
    shown = [
        line if len(line) <= _MAX_LINE_LENGTH else f"{line[:_MAX_LINE_LENGTH]}…"
        for line in lines[:_MAX_LINES]
    ]
    more = [f"and {len(lines) - _MAX_LINES:,} more lines"] if len(lines) > _MAX_LINES else []
    return "\n    ".join([*shown, *more])


def find_status(error: TacitError) -> Status:
    """The status word for an error, as it stands in the reply."""
    if isinstance(error, RequestError):
        return error.status
    kinds: tuple[tuple[type[TacitError], Status], ...] = (
        (PolicyError, "policy"),
        (BudgetError, "budget"),
        (ChangedRowsError, "rows changed"),
        (DataError, "data"),
        (PlanError, "plan"),
        (WireError, "question"),
        (LedgerError, "ledger"),
        (RunError, "unknown run"),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), "failed")


def find_refusing_rules(error: TacitError) -> str:
    """The policy keys by which a request was refused, without their values; the versions that
    cannot work together; of rows that do not fit the plan, the columns and kinds of misfit; or the
    site that made a negotiation stop.
    """
    if isinstance(error, VersionError):
        return error.versions[:200]
    if isinstance(error, MisfitError):
        return error.public[:200]
    if isinstance(error, AccusationError):
        return f"because of site {error.site}"[:200]
    return extract_rules(str(error)) if isinstance(error, PolicyError | BudgetError) else ""


def extract_rules(why: str) -> str:
    """The policy keys at the beginning of the lines of a refusal."""
    heads = [line.strip().partition(":")[0].partition(" ")[0] for line in why.splitlines()]
    return ", ".join(dict.fromkeys(head for head in heads if "." in head or head == "policy"))[:200]


def build_reply_subject(
    subject: MessageSubject, status: Status, rule: str, receipt: Receipt
) -> MessageSubject:
    """The subject of the reply to a request."""
    return MessageSubject(
        kind=subject.kind,
        run=subject.run,
        plan=subject.plan,
        site=subject.site,
        round_no=subject.round_no,
        exchange=subject.exchange,
        nonce=subject.nonce,
        status=status,
        rule=rule,
        entries=receipt.counter,
        head=receipt.head,
    )
