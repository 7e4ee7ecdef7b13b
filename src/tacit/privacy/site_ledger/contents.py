"""What a site's ledger contains: numbers of entries by kind, and the owner's decisions."""

from __future__ import annotations

from typing import Any

from tacit.privacy.site_ledger.decisions import DECISION_KINDS
from tacit.privacy.site_ledger.site_ledger import SiteLedger


def summarise_contents(book: SiteLedger) -> dict[str, Any]:
    """Numbers of entries, exchanges, rows and events, and all decisions, as JSON values."""
    entries = list(book.entries())
    kinds = [entry.kind for entry in entries]
    counter, head = book.receipt()
    charged = kinds.count("reserved")
    rows = [entry.body["rows_of_all_runs"] for entry in entries if entry.kind == "disclosed"]
    return {
        "entries": counter,
        "head": head.hex(),
        "exchanges": charged,
        "unanswered": charged - kinds.count("stored"),
        "rows_disclosed": rows[-1] if rows else 0,
        "losses_accepted": kinds.count("loss accepted"),
        "clients_erased": kinds.count("erased"),
        "restores": kinds.count("restored"),
        "decisions": [
            {
                "run": entry.body["run"],
                "verdict": entry.kind,
                "day": entry.body["day"],
                "by": entry.body["by"],
                "reason": entry.body["reason"],
            }
            for entry in entries
            if entry.kind in DECISION_KINDS
        ],
    }
