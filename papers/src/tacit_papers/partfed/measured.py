"""Running times of PartFed's plans, measured side by side and reported as ratios: no machine is
compared with another.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from tacit import plan as plans
from tacit import training
from tacit.client import ClientRandomness, ClientSlot
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import prepare
from tacit_papers.partfed import printed
from tacit_papers.published import Figures

Tree = dict[str, Any]

ONE_PLACE, AVERAGING = "one place", "averaging"
_LINK_BYTES_PER_SECOND = 500_000
_SERVER_POWER = 10
_PRINTED_LINK = printed.TIMES["k_anonymity", 1][2] / printed.TIMES["k_anonymity", 1][0]
"""Time of the transfer over time of training, for central training in the paper's Table 1."""


def times(trees: dict[str, Tree], measured_rounds: int, seed: int) -> Figures:
    """Times of plans by name, relative to central training and to federated averaging.

    Training is measured in CPU seconds of one thread, one round of every plan in turn, so that all
    plans see the same machine load; the median round counts. The link is modelled: the largest
    message of rows at 500 KB/s, since clients send in parallel.
    """
    desks = {name: _Desk.of(tree, seed) for name, tree in trees.items()}
    turns = [
        {name: desk.seconds(Draws.seeded(seed).at(turn)) for name, desk in desks.items()}
        for turn in range(measured_rounds + 1)
    ]
    spent = {
        name: desks[name].spent([turn[name] for turn in turns[1:]]) for name in desks
    }  # the first turn compiles
    one, averaging = spent[ONE_PLACE], spent[AVERAGING]
    figures = dict[str, float]()
    for name, mine in spent.items():
        shares = {
            "server": mine.server / one.server,
            "client": mine.client / averaging.client,
            "transfer": mine.transfer / one.transfer,
            "total": mine.total() / one.total(),
            "overlapped": mine.overlapped() / one.overlapped(),
            "transfer_share": mine.transfer / mine.total(),
            "strong_total": mine.total(_SERVER_POWER) / one.total(_SERVER_POWER),
            "strong_overlapped": mine.overlapped(_SERVER_POWER) / one.overlapped(_SERVER_POWER),
            "strong_transfer_share": mine.transfer / mine.total(_SERVER_POWER),
            "strong_total_slow": (
                mine.over_printed_link(one).total(_SERVER_POWER)
                / one.over_printed_link(one).total(_SERVER_POWER)
            ),
        }
        figures |= {f"{name}: {metric}": value for metric, value in shares.items()}
    return {"last": figures}


@dataclass(frozen=True, kw_only=True)
class _Spent:
    """Seconds of all rounds at the server and at the slowest client, and of the transfer of rows to
    the server.
    """

    server: float
    client: float
    transfer: float

    def total(self, power: int = 1) -> float:
        """The sum, as in the paper, for a server this many times as fast."""
        return self.server / power + self.client + self.transfer

    def over_printed_link(self, central: _Spent) -> _Spent:
        """The same training over a link that is as slow, relative to central training, as the
        paper's.
        """
        longest = central.server * _PRINTED_LINK
        return replace(self, transfer=self.transfer / central.transfer * longest)

    def overlapped(self, power: int = 1) -> float:
        """The time if server and clients work in parallel."""
        return max(self.server / power, self.client) + self.transfer


@dataclass(frozen=True, kw_only=True)
class _Desk:
    """A plan ready to train: its holders, the last of which is the server, and its initial model."""

    worker: training.Worker
    model: Any
    busy: list[int]  # who has no rows is not asked
    server: int
    rounds: int
    transfer: float

    @classmethod
    def of(cls, tree: Tree, seed: int) -> _Desk:
        """Prepare a plan."""
        job = plans.parse({**tree, "seed": seed})
        shared = prepare(job, Draws.seeded(job.seed)).disclosure
        assert shared is not None
        learner = training.build(job.model, job.local, shared.train, shared.holders)
        return cls(
            worker=learner.worker(),
            model=learner.initial(Draws.seeded(seed)),
            busy=np.flatnonzero(shared.holders.sizes()).tolist(),
            server=len(shared.holders) - 1,
            rounds=job.server.rounds,
            transfer=(
                max(shared.facts.bytes_per_client) / _LINK_BYTES_PER_SECOND
                if shared.facts.rows
                else 0.0
            ),
        )

    def seconds(self, draws: Draws) -> dict[int, float]:
        """CPU seconds of one round at each holder."""
        took = {}
        for holder in self.busy:
            begun = time.thread_time()
            self.worker.train(
                self.model,
                ClientSlot(holder, holder, ClientRandomness(draws, holder)),
                draws.at(holder),
            )
            took[holder] = time.thread_time() - begun
        return took

    def spent(self, turns: list[dict[int, float]]) -> _Spent:
        """Seconds of all rounds, from the median of the measured ones."""
        each = {
            holder: median(turn[holder] for turn in turns) * self.rounds for holder in self.busy
        }
        server = each.pop(self.server, 0.0)
        return _Spent(server=server, client=max(each.values(), default=0.0), transfer=self.transfer)
