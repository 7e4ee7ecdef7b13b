"""The page of record kinds, written from the types of entries."""

from __future__ import annotations

from tacit.runs.record import KINDS, VERSION
from tests.docs.reference.markdown import describe, list_fields

HEAD = f"""\
# The record of a run

`record.jsonl` in a run's folder is an append-only list of entries, one JSON object per line. Reports and pages read nothing else.
`kind` names the kind of an entry; this page lists the fields of each kind. The format has version {VERSION}.

Each line ends with `checksum`, a SHA-256 over the line and the checksum of the line before. A reader ignores unknown fields and kinds.
`tacit runs verify RUN` checks the chain, the signatures and the files. In Python, `tacit.Run("my-1").entries` lists the entries.
"""


def write_pages() -> dict[str, str]:
    """The page by its file name."""
    sections = [
        f"## `{kind}`\n\n{describe(entry)}\n\n{list_fields(entry)}\n"
        for kind, entry in KINDS.items()
    ]
    return {"record.md": "\n".join([HEAD, *sections])}
