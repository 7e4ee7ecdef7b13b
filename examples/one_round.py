"""One round of private federated learning, from a client's text to the next model, in one file.

Every run calls the functions below; here their loops are unrolled.
Run it: python examples/one_round.py
"""

import numpy as np
import polars as pl

from tacit import codecs, data, features, plan, server, training
from tacit.privacy import ledger
from tacit.protocol import aggregation, messages
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.train import Train
from tacit.protocol.round import State
from tacit.protocol.site import Client, Site
from tacit.randomness import Draws
from tacit.rows import Clients

# The plan defines the job. Here it is built in Python instead of read from a file.
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
draws = Draws.seeded(job.seed)  # a real site uses Draws.from_system(), which nobody can repeat

# At the clients: rows, divided among their owners. No client sees the text of another.
reviews = [
    {"review": f"{word} film number {n}", "opinion": word}
    for n in range(20)
    for word in ("good", "bad")
]
table = data.load(job.data, draws.at("data"), pl.DataFrame(reviews))
clients = data.divide(table, job.data, draws.at("partition"))

# Features: a rolling hash turns words into bucket numbers. There is no vocabulary that could leak.
fitted = features.fit(table.train, table.columns, job.features)
train = features.encode(table.train, table.columns, job.features, fitted).take(clients.order)
test = features.encode(table.test, table.columns, job.features, fitted)
clients = Clients(order=np.arange(len(train)), starts=clients.starts)

# The agreement: model size, codec with its claims, public randomness. It holds no secret.
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

# The server chooses a cohort and sends it a request with the model.
first = learner.initial(draws.at("initial"))
cohort = server.choose_cohort(job.server, len(clients), draws.at("cohort", 1))
optimizer = agreement.optimizer.init(first)
state = State(round_no=1, cohort=cohort, model=first, optimizer=optimizer)
request = exchange.build_request(state)

# Every client of the cohort is charged for its update before the update leaves.
account = ledger.charge(ledger.Account(), exchange.claims(len(cohort)), busiest=1)

# Each client has its rows and its own randomness. It trains, randomises every bit, and sends one message.
# The server checks the message and adds its bits to the sum. It keeps no single message.
site = Site(agreement, range(len(clients)), draws, clients.sizes(), learner)
worker = learner.worker()
intake = aggregation.Intake(cohort.tolist(), 1, agreement.largest_weight)
total, received = exchange.empty(), 0
for name in cohort.tolist():
    message = exchange.respond(Client(site, site.slot(name), worker), request)
    assert message is not None
    received = messages.size(message)
    exchange.receive(intake, total, message)

# The server decodes the sum into the mean update and takes a step.
state = exchange.close(state, total).state
assert state.model is not None
figures = server.measure(learner.predict(state.model, test.inputs), test.labels)

if __name__ == "__main__":
    down = messages.size(request.frame)
    print(f"{len(cohort)} clients, {agreement.dim} parameters")
    print(f"{down} bytes down and {received} bytes up per client")
    print(ledger.write_statement(account, ledger.compute_totals(account, delta=1e-5)))
    print(f"accuracy after one round: {figures['accuracy']:.0%}")
