"""A limit on failed log-ins, per network and in total, with bounded memory."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable

WINDOW_SECONDS = 60.0
MAX_FAILURES = 5
"""Failed log-ins of one network per window."""
MAX_ALL_FAILURES = 60
"""Failed log-ins of all networks per window."""
_MAX_NETWORKS = 1024


class LoginLimit:
    """Counts failed log-ins of the last minute. A success does not reset the count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._all: deque[float] = deque(maxlen=MAX_ALL_FAILURES)

    def seconds_to_wait(self, address: str) -> float:
        """How long a caller must wait before its next attempt; 0 if it may try now."""
        now = self._clock()
        own = self._failures.get(_network(address), deque())
        waits = [_wait(own, MAX_FAILURES, now), _wait(self._all, MAX_ALL_FAILURES, now)]
        return max(waits)

    def count_failure(self, address: str) -> None:
        """Count a failed log-in."""
        now, network = self._clock(), _network(address)
        own = self._failures.setdefault(network, deque(maxlen=MAX_FAILURES))
        own.append(now)
        self._all.append(now)
        self._failures.move_to_end(network)
        while len(self._failures) > _MAX_NETWORKS:
            self._failures.popitem(last=False)


def _wait(failures: deque[float], most: int, now: float) -> float:
    """Seconds until fewer than `most` failures are in the window."""
    if len(failures) < most:
        return 0.0
    return max(0.0, failures[-most] + WINDOW_SECONDS - now)


def _network(address: str) -> str:
    """The address, or its /64 network for IPv6, of which one machine has all addresses."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
