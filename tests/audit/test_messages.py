"""The attack on messages: it reads a message in the clear, finds nothing in noise, and says whose
sum it sees.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit import features, plan
from tacit.audit.messages import views
from tacit.audit.messages.attack import LABELS, AttackResult, Reading, attack_messages
from tacit.audit.messages.audit import MessageAudit, read_messages, write_sentences
from tacit.audit.messages.grids import build_example_grids, build_grids, write_heading
from tacit.audit.messages.page import render_page
from tacit.audit.messages.scoring import (
    choose_rules,
    compute_auc,
    count_ordered_pairs,
    precision_at_true_count,
)
from tacit.audit.messages.views import BEFORE_NOISE, CONTROL, NO_MESSAGE
from tacit.audit.messages.words import group_by_bucket
from tacit.errors import PlanError
from tacit.plan import parse

WORDS = [
    first + second
    for first in "bdfgklmnprst"
    for second in ("abba", "edde", "iggi", "orro", "ummu")
]
COLOURS, SIZES = ("red", "green", "blue", "grey", "black", "white"), ("s", "m", "l", "xl")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 160 texts of eight different words, none more frequent than another, and the labels in
    turn.
    """
    random, path = np.random.default_rng(5), tmp_path_factory.mktemp("rows") / "texts.csv"
    lines = [
        f"{' '.join(random.choice(WORDS, 8, replace=False))},{'up' if row % 2 else 'down'}"
        for row in range(160)
    ]
    path.write_text("\n".join(["words,label", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 160 rows of two categories and a number."""
    random, path = np.random.default_rng(6), tmp_path_factory.mktemp("rows") / "table.csv"
    lines = [
        f"{random.choice(COLOURS)},{random.choice(SIZES)},{random.random():.3f},{row % 2}"
        for row in range(160)
    ]
    path.write_text("\n".join(["colour,size,weight,label", *lines]) + "\n")
    return path


def job(source: Path, clients: int = 128, **tables: Mapping[str, object]) -> plan.Plan:
    columns: dict[str, object] = {"text": ["words"], "label": "label"}
    if source.stem == "table":
        columns = {"categorical": ["colour", "size"], "numeric": ["weight"], "label": "label"}
    tree: dict[str, object] = {
        "name": "small",
        "seed": 3,
        "data": {"source": str(source), "clients": clients, "columns": columns, "test": 0.2},
        "features": {"buckets": 4000, "words": "unicode"} if source.stem == "texts" else {},
        "codec": {"name": "plain"},
        "server": {"rounds": 2},
    }
    for name, settings in tables.items():
        tree[name] = settings
    return parse(tree)


def of(found: AttackResult, what: str, who: str) -> Reading:
    (one,) = [reading for reading in found.readings if (reading.what, reading.who) == (what, who)]
    return one


ONE_MESSAGE = "the server: one message"


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [{"name": "logistic"}, {"name": "mlp", "hidden": [32]}], ids=["logistic", "mlp"]
)
def test_one_row_in_the_clear_is_read(texts: Path, model: Mapping[str, object]) -> None:
    """The positive control: an attack that fails here would prove nothing elsewhere."""
    found = attack_messages(job(texts, model=model), 12)
    for who in (CONTROL, ONE_MESSAGE):
        words = of(found, "words", who)
        assert words.auc > 0.99
        assert words.found is not None
        assert words.found > 0.97
        assert words.named is not None
        assert words.named > 0.9, "few public words share a bucket"
        assert words.auc_without is not None
        assert words.auc_without < 0.7, "another client's message says little"
    assert of(found, LABELS, CONTROL).auc > 0.95
    guessed = of(found, "words", NO_MESSAGE).found
    assert guessed is not None
    assert guessed < 0.3, "no word is more frequent than another"


def test_noise_in_place_of_a_message_is_at_chance(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin: what is seen is noise that has nothing to do with the client. Intervals of
    95 % cover .5 at fixed seeds.
    """

    def noise(observed: views.Observed, victim: views.MessageVictim) -> np.ndarray:
        return (
            np.random.default_rng(victim.name)
            .standard_normal(len(victim.update))
            .astype(np.float32)
        )

    monkeypatch.setattr(views.Observed, "_decode_alone", noise)
    audit = read_messages(job(texts), 12, (1, 2, 3, 4))
    for line in audit.lines:
        if line.who == ONE_MESSAGE:
            assert line.auc.low is not None
            assert line.auc.high is not None
            assert line.auc.low <= 0.5 <= line.auc.high
            assert line.told is False


CODECS: dict[str, dict[str, object]] = {
    "rr": {"name": "rr", "epsilon": 8.0, "clip": 0.001},
    "rr_sampled": {"name": "rr_sampled", "epsilon": 8.0, "clip": 0.01},
    "rqm": {"name": "rqm", "clip": 0.01, "margin": 0.01},
    "projunit": {"name": "projunit", "epsilon": 8.0, "clip": 1.0},
    "gaussian": {"name": "gaussian", "epsilon": 50.0, "delta": 1e-5, "clip": 0.01},
    "qsgd": {"name": "qsgd"},
    "tokens": {"name": "rqm", "clip": 0.01, "margin": 0.01, "tokens": True},
    "onebit": {"name": "onebit", "epsilon": 1.0, "delta": 1e-5, "clip": 0.01},
    "skellam": {"name": "skellam", "epsilon": 8.0, "delta": 1e-5, "clip": 0.01},
}


def test_one_bit_per_parameter_still_tells_words(texts: Path) -> None:
    found = of(
        attack_messages(job(texts, codec=CODECS["rr"], model={"name": "mlp", "hidden": [64]}), 12),
        "words",
        ONE_MESSAGE,
    )
    assert found.auc > 0.9
    assert found.auc_without is not None
    assert found.auc > found.auc_without + 0.2


def test_the_server_sees_what_noise_on_the_sum_hides(texts: Path) -> None:
    codec = {"name": "dp_sum", "epsilon": 1.0, "delta": 1e-5, "clip": 0.01}
    audit = read_messages(job(texts, codec=codec), 12, (3, 4))
    lines = {line.who: line for line in audit.of("words")}
    assert lines[BEFORE_NOISE].auc.mean > 0.99
    (summed,) = [line for who, line in lines.items() if "noisy sum of 128 clients" in who]
    assert summed.auc_without is not None
    assert abs(summed.auc.mean - summed.auc_without.mean) < 0.1
    assert lines["… and knows the update of every other client"].auc.mean < 0.65
    assert any("[secure_aggregation] it sees only the sum" in note for note in audit.notes)


def test_little_noise_on_the_sum_hides_less_from_who_knows_the_others(texts: Path) -> None:
    """The twin of the one before: the same view with the least noise a plan can ask for."""
    codec = {"name": "dp_sum", "epsilon": 50.0, "delta": 1e-2, "clip": 1.0}
    found = attack_messages(
        job(texts, codec=codec, local={"normalise": True}, server={"rounds": 1}), 12
    )
    assert of(found, "words", "… and knows the update of every other client").auc > 0.75


def test_under_a_secure_aggregation_no_single_message_is_seen(texts: Path) -> None:
    codec = {"name": "dp_sum", "epsilon": 50.0, "delta": 1e-5, "clip": 0.01}
    found = attack_messages(
        job(texts, clients=40, codec=codec, secure_aggregation={"helpers": 2, "min_clients": 10}), 6
    )
    parties = {reading.who for reading in found.readings}
    assert not parties & {BEFORE_NOISE, ONE_MESSAGE}
    (who,) = [one for one in parties if "the securely aggregated sum of 40 clients" in one]
    assert of(found, "words", who).auc > 0.5


def test_equal_tokens_tell_who_changed_nothing(texts: Path) -> None:
    """Most clients leave most words as they are, so a token unlike theirs gives a word away: no
    secret is needed for that.
    """
    codec = {"name": "hashcomb", "x_min": -0.05, "x_max": 0.05, "levels": 8}
    found = attack_messages(job(texts, codec=codec), 8)
    (who,) = [reading.who for reading in found.readings if "without the secret" in reading.who]
    assert of(found, "words", who).auc > 0.9
    assert of(found, "words", "the server together with one client, who has the secret").auc > 0.9
    assert not [
        reading for reading in found.readings if reading.what == LABELS and reading.who == who
    ]


def test_categories_of_each_column_are_read(table: Path) -> None:
    found = attack_messages(job(table), 12)
    for what in ("categories", "colour", "size"):
        assert of(found, what, ONE_MESSAGE).auc > 0.99
    assert found.sizes["categories"] == (10, 2.0), "a row has one of each column"


@pytest.mark.parametrize("name", [name for name in CODECS if name != "rr"])
def test_every_codec_can_be_audited(table: Path, name: str) -> None:
    found = attack_messages(job(table, codec=CODECS[name]), 4)
    parties = {reading.who for reading in found.readings if reading.what == "categories"} - {
        CONTROL,
        NO_MESSAGE,
    }
    assert parties
    assert all(0 <= of(found, "categories", who).auc <= 1 for who in parties)
    summed = name in ("onebit", "skellam")
    assert any("sum of 128 clients" in who for who in parties) == summed


def test_words_of_a_list_and_sequences_are_read_too(texts: Path) -> None:
    listed = texts.with_name("list.txt")
    listed.write_text("\n".join(WORDS))
    for settings, model in (
        ({"text": "listed", "list": str(listed), "buckets": 60}, {"name": "logistic"}),
        ({"text": "sequence", "buckets": 4000, "length": 8}, {"name": "embedding", "embedding": 6}),
        (
            {
                "text": "binary",
                "buckets": 4000,
                "words": "unicode",
                "ngrams": 2,
                "counts": "counts",
            },
            {"name": "logistic"},
        ),
    ):
        words = of(
            attack_messages(job(texts, features=settings, model=model), 8), "words", ONE_MESSAGE
        )
        assert words.auc > 0.99
        assert words.named is not None
        assert words.named > 0.3


def test_words_beside_categories_and_tokens_of_a_column(table: Path) -> None:
    columns = {"text": ["colour"], "categorical": ["size"], "numeric": ["weight"], "label": "label"}
    mixed = job(
        table,
        data={"source": str(table), "clients": 128, "columns": columns},
        features={"buckets": 500},
    )
    found = attack_messages(mixed, 8)
    assert of(found, "words", ONE_MESSAGE).auc > 0.99
    assert of(found, "categories", ONE_MESSAGE).auc > 0.99
    tokens = job(table, features={"quantise": {"levels": 3, "trained_on": "tokens"}})
    found = attack_messages(tokens, 8)
    assert of(found, "weight", ONE_MESSAGE).auc > 0.99
    assert found.sizes["weight"] == (8, 1.0)


def test_numbers_alone_leave_the_labels(table: Path) -> None:
    columns = {"numeric": ["weight"], "label": "label"}
    numbers = job(table, data={"source": str(table), "clients": 128, "columns": columns})
    audit = read_messages(numbers, 12, (3,))
    assert audit.things == [LABELS]
    assert any("No layer that is sent has inputs" in note for note in audit.notes)
    assert any("values of numeric columns" in note for note in audit.notes)


def test_a_plan_that_sends_nothing_is_refused(texts: Path) -> None:
    with pytest.raises(PlanError, match="sends no messages"):
        attack_messages(job(texts, regime="local_only"), 4)  # type: ignore[arg-type]


def test_words_of_clients_are_there_only_where_they_are_asked_for(texts: Path) -> None:
    silent = read_messages(job(texts), 4, (3,))
    assert silent.examples == ()
    figures = (
        json.dumps(silent.as_json(), allow_nan=False)
        + render_page(silent)
        + write_heading(silent)
        + "".join(write_sentences(silent))
    )
    assert not [word for word in WORDS if f" {word} " in figures]
    told = read_messages(job(texts), 4, (3,), rows=True)
    guesses = [guess for example in told.examples for guess in example.guesses]
    assert all(guess.true and guess.sharing >= len(guess.candidates) > 0 for guess in guesses), (
        "a message in the clear"
    )
    assert "public words there" in render_page(told)
    assert (
        len(list(build_example_grids(told))) == len(told.examples) == 4
    )  # two clients, in a message and in the control


def test_figures_stand_in_tables_and_on_a_page(table: Path) -> None:
    audit: MessageAudit = read_messages(job(table), 6, (3, 4))
    titles = [title for title, _, _ in build_grids(audit)]
    assert titles[-1] == "AUC by column"
    assert any(title.startswith("Categories: which of 10 inputs") for title in titles)
    for text in (render_page(audit), write_heading(audit)):
        assert "seeds 3, 4" in text
    assert "<script" not in render_page(audit)


def test_what_is_found_counts_ties_as_a_fair_draw() -> None:
    truth = np.array([True, True, False, False])
    assert precision_at_true_count(np.zeros(4), truth) == 0.5
    assert precision_at_true_count(np.array([3.0, 1.0, 1.0, 0.0]), truth) == 0.75
    assert compute_auc(np.zeros(4), truth) == 0.5
    assert compute_auc(np.array([3.0, 2.0, 1.0, 0.0]), truth) == 1.0
    assert np.isnan(compute_auc(np.zeros(2), np.array([True, True])))


def test_pairs_with_equal_shares_say_nothing() -> None:
    assert count_ordered_pairs(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 1.0])) == (2.0, 2)
    assert count_ordered_pairs(np.array([1.0, 1.0]), np.array([0.0, 1.0])) == (0.5, 1)


def test_a_rule_is_chosen_on_other_clients_alone() -> None:
    figures = np.array([[0.9, 0.5], [0.4, 0.6], [0.4, 0.6]])
    assert choose_rules(figures).tolist() == [
        1,
        0,
        0,
    ], "its own 0.9 does not choose the first client's rule"


def test_public_words_stand_in_their_buckets_most_frequent_first() -> None:
    settings = plan.Features(buckets=2, words="unicode")
    counts = features.count_words(
        pl.DataFrame({"text": ["b a a c", "c c d"]}), plan.Columns(text=("text",)), settings
    )
    assert counts == {"a": 2, "b": 1, "c": 3, "d": 1}
    shelves = group_by_bucket(counts, settings)
    assert sorted(word for words in shelves.values() for word in words) == ["a", "b", "c", "d"]
    assert all(words == sorted(words, key=lambda word: -counts[word]) for words in shelves.values())
