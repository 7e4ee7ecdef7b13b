"""One round of private federated learning, from a client's text to the next model, in one file.

This is the engine's own path with its loops unrolled: the functions called here are the ones every run calls.
Run it: python examples/one_round.py
"""

import numpy as np
import polars as pl

from tacit import codecs, data, features, plan, server, training
from tacit.privacy import ledger
from tacit.protocol import aggregation, messages
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges import Train
from tacit.protocol.round import State
from tacit.protocol.site import Client, Site
from tacit.randomness import Draws
from tacit.rows import Clients

# The plan says everything that matters; here it is built in Python instead of read from a file.
job = plan.Plan(
    data=plan.Data(
        source=plan.GIVEN,
        clients=4,
        test=0.25,
        columns=plan.Columns(text=("review",), label="opinion"),
    ),
    features=plan.Features(buckets=64),
    model=plan.Logistic(),
    local=plan.Local(optimizer="adam", lr=0.1, epochs=3, batch=2),
    codec=plan.RR(epsilon=2.0, clip=0.3),  # epsilon per bit
)
draws = Draws.seeded(job.seed)  # a real site would say Draws.from_system(): noise nobody can repeat

# At the clients: rows, and who holds them. Nothing below this line sees the text of another client.
reviews = [
    {"review": f"{word} film number {n}", "opinion": word}
    for n in range(20)
    for word in ("good", "bad")
]
table = data.load(job.data, draws.at("data"), pl.DataFrame(reviews))
clients = data.divide(table, job.data, draws.at("partition"))

# Features: words become bucket numbers by a rolling hash; no vocabulary exists, so none can leak.
fitted = features.fit(table.train, table.columns, job.features)
train = features.encode(table.train, table.columns, job.features, fitted).take(clients.order)
test = features.encode(table.test, table.columns, job.features, fitted)
clients = Clients(order=np.arange(len(train)), starts=clients.starts)

# What both sides agree on: the model's size, the codec with its claims, and randomness everyone may know. No secret.
learner = training.build(job.model, job.local, train, clients)
agreement = Agreement(
    run="one-round",
    identity="one-round",
    dim=learner.size,
    codec=codecs.build(job.codec),
    public=draws.publish("public"),
    server=job.server,
)
exchange = Train(agreement, draws)

# The server picks a cohort and asks it: the question is the model.
first = learner.initial(draws.at("initial"))
cohort = server.choose(job.server, len(clients), draws.at("cohort", 1))
optimizer = server.initial_state(job.server, first)
state = State(round_no=1, cohort=cohort, model=first, optimizer=optimizer)
request = exchange.ask(state)

# Every client of the cohort is charged for its update before the update leaves.
account = ledger.charge(ledger.Account(), exchange.claims(len(cohort)), busiest=1)

# Each client sits at a site with its rows and its own randomness. It trains, randomises every bit, and sends one message.
# The server checks the message and adds its bits to the sum; it never needs to keep a single client's.
site = Site(agreement, range(len(clients)), draws, clients.sizes(), learner)
worker = learner.worker()
intake = aggregation.Intake(cohort.tolist(), 1, agreement.largest_weight)
total, received = exchange.empty(), 0
for name in cohort.tolist():
    message = exchange.answer(Client(site, site.slot(name), worker), request)
    assert message is not None
    received = messages.size(message)
    exchange.receive(intake, total, message)

# The sum becomes the mean update, the mean update the next model.
state = exchange.close(state, total).state
assert state.model is not None
figures = server.measure(learner.predict(state.model, test.inputs), test.labels)

if __name__ == "__main__":
    down = messages.size(request.frame)
    print(f"{len(cohort)} clients, {agreement.dim} parameters")
    print(f"{down} bytes down and {received} bytes up per client")
    print(ledger.write_statement(account, ledger.compute_totals(account, delta=1e-5)))
    print(f"accuracy after one round: {figures['accuracy']:.0%}")
