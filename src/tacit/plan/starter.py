"""Plans to start from, as commented TOML for people who will change them."""

from __future__ import annotations

import json
from collections.abc import Mapping

EXAMPLE = """\
# A plan: one job, one table per room. `tacit check plan.toml` says whether it can run; `tacit run plan.toml` runs it.
# A setting that is left out has its default; an unknown one is refused. Change one for a single run with
#   tacit run plan.toml -o codec.epsilon=1

name = "newsgroups"                   # the run's folder is runs/newsgroups-1, -2, …
seed = 0                              # same seed, same model, to the bit
baselines = ["central", "fedavg"]     # trained beside it to compare with; they protect nothing. Also: "local_only"

[data]
source = "newsgroups20"               # a name from `tacit data list`, or a file: .csv .tsv .jsonl .parquet .arrow
clients = 100                         # how many hold the rows
partition = "dirichlet"               # who holds what: iid, dirichlet (by label), client (a column), quantile, interval (of `by`)
alpha = 1.0                           # dirichlet: the smaller, the more one-sided each client's labels
test = 0.2                            # share of rows held out to measure on, if the set has no test rows of its own

# [data.columns]                      # a file needs to be told what its columns are for; `tacit init --from my.csv` guesses
# text = ["post"]
# label = "topic"
# numeric = ["age"]
# categorical = ["country"]
# client = "user_id"                  # with partition = "client"

[features]
text = "binary"                       # which hashed words occur; or "sequence" for embedding and lstm
buckets = 20000                       # how many numbers words are hashed to

[model]
name = "logistic"                     # or "mlp", "embedding", "lstm", or your own nn.Module as "package.module:Class"
# hidden = [100, 50, 25]              # widths of the layers of an mlp

[local]                               # what a client does with its rows in one round
method = "fedavg"                     # or "fedprox"
optimizer = "adam"                    # or "sgd", "adamw"
lr = 0.01
epochs = 3
batches = 5                           # per epoch, whatever a client holds; or batch = 32 rows each

[codec]                               # what happens to an update before it leaves the client
name = "rr"                           # one random bit per parameter: clip, quantise, randomised response; "plain" protects nothing
epsilon = 1.0                         # per bit, not per update: `tacit privacy RUN` says what it adds up to
clip = 0.05                           # largest change of one parameter in one round

[server]
rounds = 60
cohort = "all"                        # or "count", "poisson" with cohort_size
weights = "equal"                     # or "rows", "capped"; a client's number of rows is information too
optimizer = "sgd"                     # with lr = 1.0: plain averaging; or "momentum", "adam", "yogi"

[ledger]
delta = 1e-5                          # for the (epsilon, delta) form of the total per run

[engine]
workers = 2                           # changes how fast, never what comes out
"""

_OWN = """\
# A plan for {source}, guessed from its columns. Roles are in [data.columns]; change them there.
# `tacit check {file}` says whether it can run; `tacit run {file}` runs it and writes a report.

name = {name}
seed = 0
baselines = ["central", "fedavg"]     # trained beside it to compare with; they protect nothing

[data]
source = {source_text}
{holders}
test = 0.2                            # share of rows held out to measure on

[data.columns]
{columns}

[features]
{features}

[model]
name = "logistic"                     # or "mlp" with hidden = [32], or your own nn.Module as "package.module:Class"

[local]                               # what a client does with its rows in one round
optimizer = "adam"
lr = {lr}
epochs = 5
batch = 16

[codec]                               # what happens to an update before it leaves the client
name = "rr"                           # one random bit per parameter; "plain" protects nothing
epsilon = 1.0                         # per bit, not per update: `tacit privacy RUN` says what it adds up to
clip = {clip:<31}# largest change of one parameter in one round

[server]
rounds = {rounds}
"""

_ROLES = {
    "label": "what to predict",
    "client": "who owns the row",
    "split": "which rows are for training, which for testing",
    "text": "",
    "numeric": "",
    "categorical": "",
}


def quoted(text: str) -> str:
    """Return a text as a TOML string."""
    # JSON's escapes are TOML's, but for one: TOML allows no bare delete character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def starter_text(roles: Mapping[str, str], source: str, rows: int, name: str, file: str) -> str:
    """Return the plan for a table whose columns have these roles; `file` is where the plan will be kept."""
    texts = "text" in roles.values()
    text = 'text = "binary"                       # which hashed words occur\nbuckets = 5000'
    table = 'numeric = "minmax"                    # from 0 to 1; or "raw"\ncategorical = "onehot"                # or "codes"'
    others = {"numeric", "categorical"} & set(roles.values())
    return _OWN.format(
        source=_one_line(source),
        source_text=quoted(source),
        file=_one_line(file),
        name=quoted(name),
        holders=_holders(roles, rows),
        columns="\n".join(_columns(roles)),
        # Hashed text has many parameters that each move little; a table has few that must move far.
        lr=0.02 if texts else 0.05,
        clip=0.05 if texts else 0.2,
        rounds=20 if texts else 30,
        features="\n".join(part for part, wanted in ((text, texts), (table, others)) if wanted),
    )


def _one_line(text: str) -> str:
    """Return a text that can stand in a comment: TOML allows no line ends or control characters there."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))


def _holders(roles: Mapping[str, str], rows: int) -> str:
    if "client" in roles.values():
        return 'partition = "client"                  # each owner in the client column is a client'
    lines = [
        f"clients = {clients_for(rows):<28}# no column says who owns a row, so rows are dealt out",
        'partition = "iid"                     # at random; or "dirichlet" (by label), or "client" with a client column below',
    ]
    return "\n".join(lines)


def clients_for(rows: int) -> int:
    """Return how many clients a table of so many rows is dealt to: 20 training rows each at least, 100 clients at most."""
    return max(2, min(100, int(0.8 * rows) // 20))


def _columns(roles: Mapping[str, str]) -> list[str]:
    lines = []
    for role, note in _ROLES.items():
        names = [quoted(column) for column, its in roles.items() if its == role]
        if names and note:
            lines.append(f"{role} = {names[0]}  # {note}")
        elif names:
            lines.append(f"{role} = [{', '.join(names)}]")
    left = [quoted(column) for column, its in roles.items() if its == "left out"]
    return [*lines, *([f"# left out: {', '.join(left)}"] if left else [])]
