"""Requests that an absent site missed and must receive, in order, before it is asked again.

Every site needs the beginning of the run. Where only clients decode the model, a site also needs
the sum of every round: without one of them its model would silently differ from the others'.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tacit.files import replace_file
from tacit.protocol.messages.signed_message import Kind

FOLDER = "missed"


@dataclass(frozen=True)
class MissedRequest:
    """One request that a site has not acknowledged; `file` holds it across a resume."""

    kind: Kind
    round_no: int
    exchange: str
    body: bytes
    file: Path | None = None


class MissedRequests:
    """The missed requests of each site. Those with the sum of a round are stored in the folder of
    the run; the beginning is sent anew at every start.
    """

    def __init__(self, folder: Path, exchange: str = "train") -> None:
        self._folder = folder / FOLDER
        self._known: dict[str, list[MissedRequest]] = {}
        for file in sorted(self._folder.glob("*/*.bin"), key=lambda file: int(file.stem)):
            stored = MissedRequest("ask", int(file.stem), exchange, file.read_bytes(), file)
            self._known.setdefault(file.parent.name, []).append(stored)

    def add_beginning(self, site: str, body: bytes) -> None:
        """A site did not hear that the run begins."""
        known = [one for one in self._known.get(site, []) if one.kind != "begin"]
        self._known[site] = [MissedRequest("begin", 0, "begin", body), *known]

    def add_sum(self, site: str, round_no: int, exchange: str, body: bytes) -> None:
        """A site did not receive the sum that a round begins with; stored until it does."""
        file = self._folder / site / f"{round_no}.bin"
        known = self._known.setdefault(site, [])
        if any(one.round_no == round_no and one.kind == "ask" for one in known):
            return  # a repeated round: the request that the site may have seen stays
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, body)
        known.append(MissedRequest("ask", round_no, exchange, body, file))

    def list_for(self, site: str, before: int) -> list[MissedRequest]:
        """What a site must receive before it is asked in round `before`, in order."""
        return [one for one in self._known.get(site, []) if one.round_no < before]

    def settle(self, site: str, request: MissedRequest) -> None:
        """A site has replied to a missed request."""
        self._known[site].remove(request)
        if request.file is not None:
            request.file.unlink(missing_ok=True)

    def drop_round(self, site: str, round_no: int) -> None:
        """A site has received the request of a round after all, as the run repeated it."""
        for one in [one for one in self._known.get(site, []) if one.round_no == round_no]:
            self.settle(site, one)

    def clear(self) -> None:
        """Forget everything: the run has ended."""
        self._known.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
