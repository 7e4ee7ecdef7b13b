"""A carrier for tests: sites in processes of their own, at the other end of pipes."""

from __future__ import annotations

from typing import Any

from tacit.aggregate import Intake, parts_of
from tacit.engine.agreement import Agreement
from tacit.engine.exchanges import HelperSums
from tacit.engine.exchanges.site_sums import receive_site_sum
from tacit.engine.round import Exchange, Gathered, Names, Request, Tick, gather
from tacit.engine.simulate import Helpers, helped
from tacit.wire import Frame, parse, size


class FakeCarrier:
    """Asks every site about its own clients and adds up what comes back, in the order of the clients' names."""

    def __init__(
        self, pipes: list[Any], agreement: Agreement, clients: int, with_rows: set[int], helpers: Helpers | None = None
    ) -> None:
        self.pipes, self.agreement, self.clients, self.with_rows = pipes, agreement, clients, with_rows
        self.helpers = helpers or {}

    def willing(self, cohort: Names) -> Names:
        return cohort[[name in self.with_rows for name in cohort.tolist()]]

    def carry(self, exchange: Exchange, request: Request, tick: Tick) -> Gathered:
        if isinstance(exchange, HelperSums):
            return helped(exchange, request, self.helpers[exchange.name], self.clients)
        head, payload = bytes(request.frame[0]), bytes(request.frame[1])
        asked = {"round_no": request.round_no, "to": request.to.tolist(), "head": head, "payload": payload}
        frames = [(head, memoryview(body)) for answers in _each(self.pipes, "answer", asked) for head, body in answers]
        intake = Intake(request.to.tolist(), request.round_no, self.agreement.largest_weight)
        found = Gathered(total=exchange.empty(), clients=0, bytes_up=0)
        if self.agreement.sum_at_site:
            count = sum(receive_site_sum(self.agreement, intake, found.total, frame) for frame in frames)
            return Gathered(total=found.total, clients=count, bytes_up=sum(map(size, frames)))
        by_name: dict[int, Frame] = {parse(*frame).header.sender: frame for frame in frames}
        for part in parts_of(request.to):
            found = found.merged(gather(exchange, intake, [by_name[name] for name in part.tolist()]))
        return found

    def read(self, request: Request) -> None:
        return None


def _each(pipes: list[Any], command: str, given: dict[str, Any]) -> list[Any]:
    for pipe in pipes:
        pipe.send((command, given))
    return [pipe.recv() for pipe in pipes]
