"""Which systems go together in one plan: what is allowed parses, what has no meaning is refused with the sentence."""

import pytest

from tacit import plan
from tacit.errors import PlanError

RUN = {"epsilon": 8.0, "delta": 1e-5, "clip": 1.0}
VOCABULARY = {
    "features": {"text": "words"}, "model": {"name": "bilstm", "hidden": [8]}, "private": {"words": "all", "start": "random"},
}  # fmt: skip
VOTES = {"data": {"source": "adult", "local_test": 0.3}, "filter": {"vote_epsilon": 0.5}}
SUMMED_VOTES = {"data": {"source": "adult", "local_test": 0.3}, "filter": {"votes_epsilon": 2.0}}
SHARED_ROWS = {
    "data": {"source": "adult", "columns": {"quasi": ["age"]}, "share": {"k": 10}}, "server": {"weights": "rows"},
}  # fmt: skip
SHARED_ROWS_ALIKE = {
    "data": {
        "source": "adult", "columns": {"quasi": ["age"]},
        "share": {"k": 10, "rows_per_client": 3, "generalise": {"capital-gain": "suppress"}},
    },
}  # fmt: skip
CHANNELS = {
    "features": {"quantise": {"levels": 4, "trained_on": "tokens", "columns": ["capital-gain"]}}
}
LIES = {"corrupt": {"kind": "sign_flip"}}
ALIKE = {"server": {"weights": "equal"}}
SECURE = {"secure_aggregation": {"helpers": 2}}
BITS = {"codec": {"name": "rr", "epsilon": 1.0, "clip": 1e-3}}
NOISE_ON_SUM = {"codec": {"name": "dp_sum", **RUN}}
ONE_BIT, SKELLAM = (
    {"codec": {"name": name, "reporters": 0.5, **RUN}} for name in ("onebit", "skellam")
)
TOKENS = {"codec": {"name": "hashcomb", "x_min": -0.1, "x_max": 0.1}}
TOKENS_ON_LEVELS = {"codec": {"name": "rqm", "clip": 0.1, "margin": 0.1, "tokens": True}}
PLAIN = {"codec": {"name": "plain"}}
PRESET = {"privacy": {"preset": "private"}, "data": {"source": "imdb", "clients": 5000}}


def joined(*parts):
    tree = {}
    for part in parts:
        for name, table in part.items():
            tree[name] = {**tree.get(name, {}), **table}
    return tree


ALLOWED = {
    "private words, bits": (VOCABULARY, BITS),
    "private words, noise on the sum": (VOCABULARY, NOISE_ON_SUM),
    "private words, one bit, secure sum": (VOCABULARY, ONE_BIT, SECURE),
    "private words, tokens": (VOCABULARY, TOKENS),
    "private words, preset": (PRESET, VOCABULARY),
    "votes on last layers, bits": (VOTES, BITS),
    "votes before a secure sum": (VOTES, NOISE_ON_SUM, SECURE),
    "votes before a secure sum of bits": (VOTES, ONE_BIT, SECURE),
    "votes under a secure sum": (SUMMED_VOTES, SKELLAM, SECURE),
    "votes, preset": (PRESET, VOTES),
    "shared rows, bits": (SHARED_ROWS, BITS),
    "shared rows, noise on the sum": (SHARED_ROWS_ALIKE, NOISE_ON_SUM),
    "shared rows, one bit, secure sum": (SHARED_ROWS_ALIKE, ONE_BIT, SECURE),
    "votes, shared rows": (VOTES, SHARED_ROWS, PLAIN),
    "votes with words that stay": (VOTES, VOCABULARY, PLAIN),
    "votes under a secure sum with words that stay": (SUMMED_VOTES, VOCABULARY, ONE_BIT, SECURE),
    "shared rows beside words that stay": (SHARED_ROWS_ALIKE, VOCABULARY, PLAIN),
    "columns as tokens, private words": (CHANNELS, VOCABULARY, PLAIN),
    "columns as tokens, one bit, secure sum": (CHANNELS, ONE_BIT, SECURE),
    "columns as tokens, votes": (CHANNELS, VOTES, PLAIN),
    "columns as tokens that shared rows leave out": (CHANNELS, SHARED_ROWS_ALIKE, PLAIN),
    "clients that lie, votes, shared rows": (LIES, VOTES, SHARED_ROWS_ALIKE, PLAIN),
    "all five": (VOCABULARY, CHANNELS, SUMMED_VOTES, SHARED_ROWS_ALIKE, ONE_BIT, SECURE),
    "all five, among clients that lie": (
        VOCABULARY,
        CHANNELS,
        SUMMED_VOTES,
        SHARED_ROWS_ALIKE,
        ONE_BIT,
        SECURE,
        LIES,
    ),
    "tokens on random levels": (TOKENS_ON_LEVELS,),
    "preset, one bit, secure sum": (PRESET, ONE_BIT, SECURE),
    "preset, skellam, secure sum": (PRESET, SKELLAM, SECURE),
}

REFUSED = {
    "tokens do not add up": (
        (TOKENS, SECURE),
        "requires a codec whose messages are integers that can be added",
    ),
    "tokens on levels do not add up": (
        (TOKENS_ON_LEVELS, SECURE),
        "requires a codec whose messages are integers that can be added",
    ),
    "plain floats do not add up": (
        (PLAIN, SECURE),
        "requires a codec whose messages are integers that can be added",
    ),
    "nobody reads single updates": (
        (NOISE_ON_SUM, SECURE, {"server": {"rule": "median"}}),
        "no party sees a single update",
    ),
    "the server must read tokens to train": (
        (SHARED_ROWS, TOKENS),
        "requires a codec that the server can decode",
    ),
    "testers must read the model": ((VOTES, TOKENS), "must be a codec that the server can decode"),
    "summed votes need helpers": ((SUMMED_VOTES, NOISE_ON_SUM), "requires [secure_aggregation]"),
    "noise covers clients of weight 1": ((SHARED_ROWS, NOISE_ON_SUM), "must be 'equal'"),
    "the server counts by rows": (
        (SHARED_ROWS, ALIKE),
        "data.share.rows_per_client is required with server.weights = 'equal'",
    ),
    "noise of clients that votes may reject": (
        (VOTES, ONE_BIT, SECURE, {"codec": {"reporters": 1.0}}),
        "must be at most 0.5, since votes may reject",
    ),
    "who only votes on words that stay never trains them": (
        (VOTES, VOCABULARY, PLAIN, {"filter": {"aggregate": "heads"}}),
        "with private parameters, which 'heads' never trains",
    ),
    "shared rows show what tokens hide": (
        (SHARED_ROWS, CHANNELS),
        "must be suppressed in disclosed rows",
    ),
    "shared rows are as they are": (
        (SHARED_ROWS, {"corrupt": {"kind": "random_labels"}}),
        "discloses unmodified rows",
    ),
}


@pytest.mark.parametrize("parts", ALLOWED.values(), ids=ALLOWED)
def test_what_goes_together(parts):
    plan.parse(joined(*parts))


@pytest.mark.parametrize(("parts", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_does_not(parts, sentence):
    with pytest.raises(PlanError) as refusal:
        plan.parse(joined(*parts))
    assert sentence in str(refusal.value)
