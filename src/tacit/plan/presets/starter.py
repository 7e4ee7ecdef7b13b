"""Starter plans as commented TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple

from tacit.plan.presets.one_bit import OneBitRule, choose_one_bit_rule

EXAMPLE = """\
# A plan describes one job; each table configures one part of it. `tacit check plan.toml` checks it,
# `tacit run plan.toml` runs it. Unset settings have their defaults; unknown settings are refused.
# To change a setting for a single run:   tacit run plan.toml -o privacy.epsilon=2

name = "newsgroups"                   # the run's folder is runs/newsgroups-1, -2, …
seed = 0                              # the same seed gives the same model, to the bit
# Trained without protection, for comparison, so that the verdict can name the cause of a gap. Also: "local_only"
baselines = ["central", "fedavg", "noiseless", "same_features"]

[privacy]                             # the privacy guarantee of each person; unset settings are computed from it
preset = "private"                    # or "no_trust", "none", or a published system: "paper:rr-ldp"; see docs/concepts/privacy.md
epsilon = 8.0                         # per run: maximum privacy loss of a person over all rounds,
delta = 1e-5                          # except with this probability

[data]
source = "newsgroups20"               # a name from `tacit data list`, or a file: .csv .jsonl .xlsx .parquet …
clients = 5657                        # number of people who hold the rows: here two posts each
partition = "iid"                     # division of rows: iid, dirichlet (by label), client (a column), quantile, interval (of `by`)
test = 0.2                            # share of held-out test rows, if the data set defines none

# [data.columns]                      # required for a file; `tacit init --from my.csv` guesses the roles
# text = ["post"]
# label = "topic"
# numeric = ["age"]
# categorical = ["country"]
# client = "user_id"                  # with partition = "client" and privacy.clients

# Settings that the preset computes can be set here instead. `tacit check` shows the others.
# [features]
# words = "unicode"                   # words of any script, numbers, hashtags and emoji; or "letters": a-z only
# text = "listed"                     # which words of a public list occur; or "binary": hashed words
# list = "en"                         # the language, or a file with one word per line, the most frequent first
# [codec]
# name = "dp_sum"                     # noise on the sum; or "onebit", "skellam": noise by clients, for [secure_aggregation]
# [server]
# rounds = 40

[engine]
workers = 2                           # changes the speed, never the result
"""

TEST_SHARE = 0.2
"""Share of test rows that plans for a table hold out."""

_OWN = """\
# A plan for {source}, guessed from its columns. Roles are in [data.columns]; change them there.
# `tacit check {file}` checks it; `tacit run {file}` runs it and writes a report.

name = {name}
seed = 0
baselines = ["central", "fedavg", "noiseless", "same_features"]     # without protection; they show the cause of a gap
{promise}
[data]
source = {source_text}
{holders}
{test}

[data.columns]
{columns}
{features}"""

_OWN_BASELINES = """\
baseline_settings = "own"             # "central" and "fedavg" have their own learning rates and features; or "plan"
"""

_PRIVATE = """
[privacy]                             # the privacy guarantee of each client; unset settings are computed from it
preset = "private"                    # noise on sums over all clients; `tacit check` warns if too few; see docs/concepts/privacy.md
epsilon = {epsilon:<28}# per run: maximum privacy loss of a client over all rounds,
delta = 1e-5                          # except with this probability
"""

_ONE_BIT = """
[model]
name = "logistic"                     # or "mlp", or your own nn.Module as "package.module:name"

[local]                               # training of a client in one round
optimizer = "adam"
lr = {rate:g}
epochs = {epochs}
batches = {batches}                           # per epoch, for every client

[codec]
name = "rr"                           # one randomised bit per weight, randomised by each client
epsilon = 1.0                         # per bit, not per update or run; `tacit runs privacy RUN` states the totals
clip = {clip:<31g}# largest change of one weight in one round

[server]
rounds = {rounds}
optimizer = "momentum"
momentum = {momentum:g}
lr = {server_rate:g}
evaluate_every = 5
"""

_ROLES = {
    "label": "the column to predict",
    "client": "identifies the client of a row",
    "split": "which rows are for training, which for testing",
    "text": "",
    "numeric": "",
    "categorical": "",
}


class TextReading(NamedTuple):
    """How texts are read: hashed words, or the words of a public list; and why, in a few words."""

    text: Literal["binary", "listed"] = "listed"
    list: str = "en"
    why: str = ""


def quoted(text: str) -> str:
    """Quote a text as a TOML string."""
    # JSON's escapes are valid in TOML, except that TOML allows no bare delete character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def starter_text(
    roles: Mapping[str, str],
    source: str,
    rows: int,
    owners: int,
    name: str,
    file: str,
    *,
    reading: TextReading | None = None,
    one_bit: int | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    epsilon: float | None = None,
    test_source: str | None = None,
) -> str:
    """The plan for a table whose columns have these roles; `file` is the path where it will be
    stored.

    `rows` and `owners` are those that remain for training, after all steps that remove rows.
    `reading` says how texts are read; by default, as words of the English list. With `one_bit`,
    each parameter is sent as one randomised bit instead of adding noise to sums (`epsilon`), and
    rows without an owner are divided among `one_bit` clients. `encoding` and `header` say how the
    file is read, where that must be stated; `test_source` is a file of test rows.
    """
    holds = set(roles.values())
    rule = choose_one_bit_rule(text="text" in holds, clients=owners or one_bit) if one_bit else None
    return _OWN.format(
        source=_fit_comment(source),
        source_text=quoted(source) + _read_as(encoding, header),
        file=_fit_comment(file),
        name=quoted(name),
        promise=(
            _OWN_BASELINES
            if rule
            else _PRIVATE.format(epsilon=float(epsilon or 8.0)) + _write_client_count(roles, owners)
        ),
        holders=_holders(roles, min(one_bit, rows) if one_bit else choose_clients(rows)),
        test=_test_rows(test_source),
        columns="\n".join(_columns(roles)),
        features=_features(holds, reading or TextReading(), rule)
        + (_ONE_BIT.format(**vars(rule)) if rule else ""),
    )


def _test_rows(test_source: str | None) -> str:
    """The setting for held-out test rows."""
    if test_source:
        return f"test_source = {quoted(test_source)}  # a file of test rows"
    return f"test = {TEST_SHARE:<31g}# share of held-out test rows"


def _features(roles: set[str], reading: TextReading, rule: OneBitRule | None) -> str:
    """The settings for text and numbers."""
    lines = []
    if "text" in roles:
        lines.append(
            'words = "unicode"                     # any script, numbers, hashtags, emoji; or'
            ' "letters": a-z only'
        )
    if "text" in roles and rule:
        lines.append('text = "binary"                       # which hashed words occur')
        lines.append(f"buckets = {rule.buckets:<28}# number of hash buckets for words")
        lines.append(
            "row_norm = 1.0                      # long texts have the same weight as short ones"
        )
    elif "text" in roles and reading.text == "binary":
        lines.append(
            f'text = "binary"                       # hashed words: {_fit_comment(reading.why)}'
        )
    elif "text" in roles and reading.why:
        lines.append(
            'text = "listed"                       # words of a public list:'
            f" {_fit_comment(reading.why)}"
        )
        lines.append(f"list = {quoted(reading.list)}")
    if roles & {"numeric", "categorical"}:
        lines.append(
            'numeric = "robust"                    # scaled by the 1st and 99th percentiles;'
            ' or "minmax", "raw"'
        )
        lines.append('categorical = "onehot"                # or "codes"')
    return "\n".join(["", "[features]", *lines, ""]) if lines else ""


def _read_as(encoding: str | None, header: bool | None) -> str:
    """The settings for reading a file, where they were given or detected."""
    encoding_line = f"\nencoding = {quoted(encoding)}" if encoding else ""
    if header is False:
        return (
            f"{encoding_line}\nheader = false                        # its first line is a row, so columns"
            " are column_1, column_2, …"
        )
    return encoding_line + (
        "\nheader = true                         # its first line holds names" if header else ""
    )


def _write_client_count(roles: Mapping[str, str], owners: int) -> str:
    """The number of clients, where only the rows determine it."""
    if "client" not in roles.values():
        return ""
    return (
        f"clients = {owners:<28}# number of owners; should be known without looking at the rows\n"
    )


def _fit_comment(text: str) -> str:
    """Make a text fit for a comment: TOML allows no line ends or control characters there."""
    return "".join(
        letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split())
    )


def _holders(roles: Mapping[str, str], clients: int) -> str:
    if "client" in roles.values():
        return 'partition = "client"                  # each owner in the client column is a client'
    lines = [
        f"clients = {clients:<28}# no column says who owns a row, so rows are divided among them",
        (
            'partition = "iid"                     # at random; or "dirichlet" (by label), or'
            ' "client" with a client column below'
        ),
    ]
    return "\n".join(lines)


def choose_clients(rows: int) -> int:
    """The number of clients among which training rows are divided: one for each row, at most 5,000."""
    return min(5000, rows)


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
