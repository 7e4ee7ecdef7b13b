"""Tacit: rounds of 1,000 clients with 20,000 parameters, added up by the server or under a secure
sum.

`work` is what clients do before they answer: nothing, or the local training of examples/imdb.toml
on 25 reviews. `way` is how answers are added up: by so many helpers, by the server ("server"), or
by the server without the simulator's shortcut, from messages that are made and read one by one
("messages").
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.clock import measure
from bench.lines import serve
from bench.rows import CLASSES, DRAWS, even_clients
from bench.sides.ours_overhead import Idle
from tacit import codecs, plan, server, training
from tacit.assembly.agreement import RunFacts
from tacit.assembly.exchanges import build_exchanges, build_train
from tacit.protocol.agreement import Agreement
from tacit.protocol.round import Exchange, State
from tacit.protocol.site import Site
from tacit.rows import Rows, Sparse
from tacit.simulation.carrier import Simulation, simulation
from tacit.simulation.helpers import build_simulated_helpers, draw_public_keys

CLIENTS, REVIEWS, WORDS, INPUTS = 1000, 25, 125, 5000
PARAMETERS = 20_000


def learner(work: str) -> training.Learner:
    """The clients' part of a round."""
    if work == "nothing":
        return Idle(PARAMETERS)
    random = DRAWS.at("reviews").generator()
    count = CLIENTS * REVIEWS
    columns = np.sort(random.integers(0, INPUTS, (count, WORDS), np.int32), axis=1).ravel()
    inputs = Sparse(starts=np.arange(count + 1) * WORDS, columns=columns, values=None, width=INPUTS)
    rows = Rows(inputs=inputs, labels=random.integers(0, 2, count, np.int32), classes=CLASSES)
    settings = plan.Local(optimizer="adam", lr=0.001, epochs=3, batches=5)
    return training.build(plan.MLP(hidden=(4,)), settings, rows, even_clients(count, CLIENTS))


def rounds(
    made: training.Learner, carrier: Simulation, exchanges: tuple[Exchange, ...]
) -> Callable[[], None]:
    """A function that runs one more round: all its exchanges."""
    first = made.initial(DRAWS)
    optimizer = server.build_optimizer(plan.Server()).init(first)
    now = [State(round_no=0, cohort=np.arange(CLIENTS), model=first, optimizer=optimizer)]

    def one() -> None:
        state = replace(now[0], round_no=now[0].round_no + 1)
        for exchange in exchanges:
            state = exchange.close(
                state,
                carrier.carry(exchange, exchange.build_request(state), lambda done: None).total,
            ).state
        now[0] = state

    return one


def main(work: str, way: str, workers: str) -> None:
    """Serve the harness."""
    secure = plan.SecureAggregation(helpers=int(way)) if way.isdigit() else None
    job = plan.Plan(
        codec=plan.DPSum(epsilon=8.0, delta=1e-5, clip=1.0),
        secure_aggregation=secure,
        server=plan.Server(rounds=1000),
    )
    made = learner(work)
    extent = codecs.Extent.of(job, CLIENTS)
    coded = codecs.build(job.codec, extent)
    if way == "messages":
        coded = replace(coded, takes_updates=False)
    agreement = Agreement(
        run="bench",
        identity="bench",
        dim=made.size,
        codec=coded,
        public=DRAWS.publish("public"),
        server=job.server,
    )
    site = Site(agreement, range(CLIENTS), DRAWS, np.ones(CLIENTS, np.int64), made)
    facts = RunFacts(
        run="bench",
        identity="bench",
        clients=CLIENTS,
        public=agreement.public,
        largest_weight=1,
        helpers=draw_public_keys(job, DRAWS) if secure else (),
    )
    exchanges = build_exchanges(job, facts, build_train(job, facts, agreement, DRAWS))
    with TemporaryDirectory() as folder:
        parties = (
            build_simulated_helpers(job, site, exchanges, DRAWS, Path(folder)) if secure else ()
        )
        with simulation(site, exchanges, int(workers), parties) as carrier:
            one = rounds(made, carrier, exchanges)
            one()  # compiles, and makes the sites' keys
            serve(lambda request: measure(one).as_dict())


if __name__ == "__main__":
    main(*sys.argv[1:])
