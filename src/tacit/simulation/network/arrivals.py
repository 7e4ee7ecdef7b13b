"""Times at which responses arrive over a simulated network, drawn by address."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.plan import Network
from tacit.randomness import Draws

Floats = NDArray[np.float64]
_MEGABIT = 1e6 / 8


@dataclass(frozen=True, kw_only=True)
class Load:
    """What one exchange sends to each client and back, in bytes, and the seconds that the median
    client computes.
    """

    down: int
    up: int
    compute: Floats


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """The clients of a request by what happens to their responses; masks over the asked clients.

    `times` are seconds from the request to each response; `seconds` is when the server has them all
    or stops waiting.
    """

    unreachable: NDArray[np.bool_]
    dropped: NDArray[np.bool_]
    late: NDArray[np.bool_]
    times: Floats
    seconds: float

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Clients whose responses count."""
        return ~(self.unreachable | self.dropped | self.late)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Clients that were reached, and whose responses do not count."""
        return self.dropped | self.late

    @property
    def median_seconds(self) -> float:
        """Median time of the responses that count; 0 without any."""
        counted = self.times[self.counted]
        return float(np.median(counted)) if len(counted) else 0.0


class NetworkModel:
    """Draws availability, drop-outs and times of clients.

    Everything is drawn at an address of round, exchange and client. So the same clients are missing
    with any number of workers and after a resume. Whether a client's response counts depends on no
    other client: a server that closes with the first n responses would let one person's rows decide
    who else counts, and no sensitivity covers that.
    """

    def __init__(self, settings: Network, draws: Draws, clients: int) -> None:
        self.settings, self.draws, self.clients = settings, draws, clients
        own = draws.at("clients").generator().standard_normal((2, clients))
        self._link, self._pace = np.exp(settings.spread * own)

    def draw(self, round_no: int, exchange: str, names: NDArray[np.int64], load: Load) -> Arrivals:
        """What happens to the responses of the named clients to one request."""
        settings, at = self.settings, self.draws.at(round_no)
        reached = at.at("reached").generator().random(self.clients)[names] < settings.available
        answers = at.at(exchange, "answers").generator().random(self.clients)[names]
        jitter = at.at(exchange, "jitter").generator().standard_normal(self.clients)[names]
        dropped = reached & (answers < settings.drop_out)
        seconds = self._measure(names, load, jitter, int(reached.sum()))
        late = np.zeros(len(names), bool)
        if settings.deadline is not None:
            late = reached & ~dropped & (seconds > settings.deadline)
        counted = reached & ~dropped & ~late
        waited = float(seconds[counted].max(initial=0.0))
        if settings.deadline is not None and (dropped | late).any():
            waited = settings.deadline
        return Arrivals(
            unreachable=~reached, dropped=dropped, late=late, times=seconds, seconds=waited
        )

    def _measure(
        self, names: NDArray[np.int64], load: Load, jitter: Floats, reached: int
    ) -> Floats:
        """Seconds from the request to each client's response."""
        settings = self.settings
        link, pace = self._link[names], self._pace[names]
        travel = load.down / (settings.download * _MEGABIT) + load.up / (settings.upload * _MEGABIT)
        varied = (travel * link + load.compute * pace) * np.exp(settings.jitter * jitter)
        queue = 0.0
        if settings.server is not None:
            queue = reached * (load.down + load.up) / (settings.server * _MEGABIT)
        fastest = varied + 2 * settings.latency
        return np.asarray(np.maximum(fastest, queue), np.float64)
