"""One round of private federated learning, from a client's text to the next model, in one file.

This is the engine's own path with its loops unrolled: the functions called here are the ones every run calls.
Run it: python examples/one_round.py
"""

import numpy as np
import polars as pl

from tacit import aggregate, codec, data, features, ledger, local, plan, server, wire
from tacit.draws import Draws
from tacit.engine.round import Terms, client_half, model_message, receive, server_half
from tacit.rows import Clients

# The plan says everything that matters; here it is built in Python instead of read from a file.
job = plan.Plan(
    data=plan.Data(source=plan.GIVEN, clients=4, test=0.25, columns=plan.Columns(text=("review",), label="opinion")),
    features=plan.Features(buckets=64),
    model=plan.Model(name="logistic"),
    local=plan.Local(optimizer="adam", lr=0.1, epochs=3, batch=2),
    codec=plan.Codec(name="rr", epsilon=2.0, clip=0.3),  # epsilon per bit
)
draws = Draws.seeded(job.seed)  # a real site would say Draws.from_system(): noise nobody can repeat

# At the clients: rows, and who holds them. Nothing below this line sees the text of another client.
reviews = [{"review": f"{word} film number {n}", "opinion": word} for n in range(20) for word in ("good", "bad")]
table = data.load(job.data, draws.at("data"), pl.DataFrame(reviews))
clients = data.divide(table, job.data, draws.at("partition"))

# Features: words become bucket numbers by a rolling hash; no vocabulary exists, so none can leak.
fitted = features.fit(table.train, table.columns, job.features)
train = features.encode(table.train, table.columns, job.features, fitted).take(clients.order)
test = features.encode(table.test, table.columns, job.features, fitted)
clients = Clients(order=np.arange(len(train)), starts=clients.starts)

# What both sides agree on: the model's size and the codec, which carries its claim.
learner = local.build(job.model, job.local, train, clients)
terms = Terms(run="one-round", dim=learner.size, codec=codec.build(job.codec), draws=draws.at("rounds"), public=draws.at("public"))
claim = terms.codec.claim(learner.size)
totals = ledger.totals(claim, updates=1, delta=1e-5)

# The server picks a cohort and sends it the model.
model, state = learner.initial(draws.at("initial")), server.initial_state(job.server, learner.size)
cohort = server.choose(job.server, len(clients), draws.at("cohort", 1))
weights = server.weights_for(job.server, clients.sizes())
sent = wire.size(model_message(terms, 1, model))

# Each client trains on its own rows, randomises every bit of its update, and sends one message.
# The server checks the message and adds its bits to the sum; it never needs to keep a single client's.
total, worker, received = aggregate.empty(terms.codec.adds_as, terms.dim), learner.worker(), 0
for client in cohort.tolist():
    message = client_half(terms, worker, model, 1, client, int(weights[client]))
    received = wire.size(message)
    receive(terms, total, message, 1)

# The sum becomes the mean update, the mean update the next model.
model, state = server_half(job.server, terms, model, total, state)
figures = server.measure(learner.predict(model, test.inputs), test.labels)

if __name__ == "__main__":
    print(f"{len(cohort)} clients, {terms.dim} parameters, {sent} bytes down and {received} bytes up per client")
    print(ledger.statement(claim, totals, updates=1))
    print(f"accuracy after one round: {figures['accuracy']:.0%}")
