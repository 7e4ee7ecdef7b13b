"""Attacks on tokens: each succeeds on what is known to be broken, and fails where nothing is to be
had.
"""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tacit import plan, simulation
from tacit.audit.tokens import brute_force
from tacit.audit.tokens import collisions as counting
from tacit.audit.tokens.audit import audit_tokens, follow
from tacit.audit.tokens.brute_force import search_ranges, size_spaces
from tacit.audit.tokens.false_histograms import HONEST, LIES, falsify_histograms
from tacit.audit.tokens.finished_run import FinishedRun, load_finished_run
from tacit.audit.tokens.insider import attack_as_insider
from tacit.audit.tokens.seriation import score_seriation
from tacit.codecs.hashcomb import (
    KeyedTokens,
    PaperTokens,
    Quantiser,
    build_quantiser,
    derive_round_key,
)
from tacit.errors import RunError
from tacit.randomness import Draws
from tacit.runs import record, run_folder
from tests import seeds
from tests.simulation.small import small_plan

RANGE = Quantiser(-0.525, 0.525, 8)
FINEST = np.full(6571, 8, np.uint8)
SECRET = b"s" * 16


def drifting(rounds: int = 2) -> list[np.ndarray]:
    """Return Gaussian weights that drift a little from round to round."""
    random = seeds.generator(5)
    first = random.normal(0, 0.1, len(FINEST))
    steps = random.normal(0, 0.005, (rounds - 1, len(FINEST)))
    return [(first + steps[:number].sum(axis=0)).astype(np.float32) for number in range(rounds)]


def permuted(channels: np.ndarray, key: int) -> np.ndarray:
    """Return tokens of a broken scheme: one permutation for all parameters."""
    return np.random.default_rng(key).permutation(256).astype(np.uint32)[channels]


SCHEMES = {
    "static, under a secret": (
        lambda channels, number: PaperTokens(RANGE, SECRET).hide(channels, FINEST)
    ),
    "one permutation for all": lambda channels, number: permuted(channels, 0),
    "one permutation a round": lambda channels, number: permuted(channels, number),
    "keyed": (
        lambda channels, number: KeyedTokens(derive_round_key(SECRET, number), 8).hide(
            channels, FINEST
        )
    ),
}


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("scheme", "rounds"),
    [*((scheme, 2) for scheme in SCHEMES), ("static, under a secret", 6), ("keyed", 6)],
)
def test_the_order_shows_wherever_parameters_share_tokens_and_not_with_keyed_ones(
    scheme: str, rounds: int
) -> None:
    """Under the keyed scheme 0.1 is eight standard deviations of a correlation by chance, twice
    tried.
    """
    values = drifting(rounds)
    seen = [
        SCHEMES[scheme](RANGE.channels(one, FINEST), number) for number, one in enumerate(values)
    ]
    score, found = score_seriation(scheme, seen, values[0])
    if scheme == "keyed":
        assert score.correlation < 0.1
        assert score.spearman < 0.1
    else:
        assert score.correlation > 0.97
        assert score.spearman > 0.99
        assert np.corrcoef(found.values, values[0])[0, 1] > 0.97, "turned the right way"


def test_values_that_never_move_have_no_order() -> None:
    seen = [SCHEMES["static, under a secret"](RANGE.channels(drifting()[0], FINEST), 0)] * 2
    score, found = score_seriation("static", seen, drifting()[0])
    assert score.correlation < 0.1
    assert np.isfinite(found.values).all()


def test_a_long_chain_is_ordered_by_the_sparse_solver() -> None:
    places = np.random.default_rng(0).permutation(5000).astype(np.uint32)
    score, _ = score_seriation(
        "chain", [places[:-1], places[1:]], np.arange(4999, dtype=np.float32)
    )
    assert score.spearman > 0.999


@pytest.mark.parametrize("centred", [False, True])
def test_trying_ranges_reads_tokens_without_a_secret_and_none_with_one(
    centred: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    settings = plan.HashComb(
        of="updates" if centred else "weights",
        x_min=-0.35,
        x_max=0.35,
        hash="sha3" if centred else "sha256",
    )
    quantiser = build_quantiser(settings)
    channels = quantiser.channels(drifting()[0], FINEST)
    seen = {
        key: PaperTokens(quantiser, key, kind=settings.hash).hide(channels, FINEST)
        for key in (b"", SECRET)
    }
    bare, secret = (search_ranges(tokens, settings, bool(key)) for key, tokens in seen.items())
    assert bare.found == pytest.approx((-0.525, 0.525))
    assert bare.decoded == 1.0
    assert secret.found is None
    assert secret.tried > bare.tried


def test_search_spaces_are_those_of_the_paper_and_what_is_plausible() -> None:
    sizes = [space.log2 for space in size_spaces(1e-6)]
    assert sizes[-3:] == [104.0, 106.0, 128.0]
    assert sizes[0] < 20
    assert sizes == sorted(sizes)


def test_an_insider_knows_what_all_others_agree_on_and_nothing_of_scattered_channels() -> None:
    draws = Draws.seeded(1)
    same = attack_as_insider(np.full((10, 500), 7, np.uint32), draws)
    assert (same.certain, same.guessed, same.by_weight, same.bits_left, same.equal) == (
        1,
        1,
        1,
        0,
        1,
    )
    apart = attack_as_insider(
        np.random.default_rng(0).integers(0, 1 << 16, (10, 500), dtype=np.uint32), draws
    )
    assert apart.certain == apart.equal == 0
    assert apart.bits_left == pytest.approx(np.log2(9), abs=0.01)
    assert apart.guessed < 0.2


def test_counts_name_the_victim_where_weights_differ() -> None:
    scattered = np.random.default_rng(0).integers(0, 8, (4, 500), dtype=np.uint32)
    found = attack_as_insider(scattered, Draws.seeded(1))
    assert found.certain < 0.1
    assert found.by_weight == 1, "of three unequal weights, no two sums are alike"


def test_short_tokens_collide_as_often_as_expected_and_spoil_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The expected number of pairs at 12 bits is 511; five standard deviations are 113."""
    monkeypatch.setattr(counting, "LEVELS", (8, 10))
    honest = counting.count_collisions(RANGE, SECRET, drifting()[0])
    assert [(one.channels, one.observed, one.wide, one.misread) for one in honest] == [
        (511, 0, 0, 0),
        (2047, 0, 0, 0),
    ]
    full = counting.hash_name
    monkeypatch.setattr(
        counting, "hash_name", lambda secret, name, bits=12: full(secret, name, bits)
    )
    monkeypatch.setattr(counting, "PAPER_BITS", 12)
    found = counting.count_collisions(RANGE, SECRET, drifting()[0])[-1]
    assert found.expected == pytest.approx(511, abs=1)
    assert abs(found.observed - found.expected) < 113
    assert found.misread > 0.02
    assert found.wide == 0


def write_numbers(path: Path, rows: int = 300) -> Path:
    """Write ten numbers a row and a label that depends on them: every weight of a net moves in
    every round.
    """
    random = np.random.default_rng(0)
    table = random.random((rows, 10))
    labels = ["up" if row.sum() + 0.3 * random.normal() > 5 else "down" for row in table]
    lines = [
        ",".join([*(f"{value:.3f}" for value in row), label])
        for row, label in zip(table, labels, strict=True)
    ]
    path.write_text(
        "\n".join([",".join([*(f"x{number}" for number in range(10)), "label"]), *lines]) + "\n"
    )
    return path


WEIGHTS = {"name": "hashcomb", "of": "weights", "x_min": -0.35, "x_max": 0.35, "levels": 6}


def small_run(place: Path, codec: dict[str, object] = WEIGHTS) -> Path:
    """Return the folder of a run of six clients, by default one that sends weights."""
    job = small_plan(
        write_numbers(place / "numbers.csv"),
        codec=codec,
        data={
            "source": str(place / "numbers.csv"), "clients": 6,
            "columns": {"numeric": [f"x{number}" for number in range(10)], "label": "label"},
        },
        model={"name": "mlp", "hidden": [40, 40]},
        features={},
        server={"rounds": 8},
    )  # fmt: skip
    return simulation.start(job, place / "runs")


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Leave out most of the slow part: levels whose channels are counted, and ranges to try."""
    patch.setattr(counting, "LEVELS", (8, 9))
    every = brute_force.list_ranges
    patch.setattr(brute_force, "list_ranges", lambda *kind: islice(every(*kind), 2500))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def run(folder: Path) -> FinishedRun:
    return load_finished_run(folder)


CAUGHT = {"one parameter too few", "counts that do not add up"}
FOREIGN = "random tokens at a tenth of the parameters"


@pytest.mark.parametrize(
    ("tokens", "selection", "refused"),
    [
        ("paper", "finest", {*CAUGHT, FOREIGN}),
        ("keyed", "finest", CAUGHT),  # all 2^L numbers are tokens then
        (
            "keyed",
            "subset",
            {
                *CAUGHT,
                FOREIGN,
                "the histogram of the previous round",
                "tokens moved to the next parameter",
            },
        ),
    ],
)
def test_false_histograms_are_refused_where_they_can_be(
    run: FinishedRun, tokens, selection, refused: set[str]
) -> None:
    settings = replace(
        run.settings, selection=selection, mean_level=None if selection == "finest" else 4.0
    )
    other = replace(run, settings=settings)
    after = follow(other, 2)
    found = {
        one.what: one for one in falsify_histograms(other, after.sent, after.models[1], tokens)
    }
    assert set(found) == set(LIES)
    assert {what for what, one in found.items() if one.detected} == refused
    assert found[HONEST].off == 0
    assert not found[HONEST].owner_notices
    for what, one in found.items():
        if what != HONEST and not one.detected:
            assert one.off > 0.01
            assert one.owner_notices


def test_the_last_model_is_the_runs_own_and_another_one_is_refused(
    folder: Path, run: FinishedRun
) -> None:
    ended = record.select_entries(list(run_folder.entries(folder)), record.Finished)[-1]
    assert run.figures(run.model)["accuracy"] == ended.metrics["accuracy"]
    path = folder / run_folder.MODEL
    stored = path.read_bytes()
    path.write_bytes(stored[:-1] + bytes([stored[-1] ^ 1]))
    with pytest.raises(
        RunError, match=r"model\.safetensors: does not match its hash in the record"
    ):
        load_finished_run(folder)
    path.write_bytes(stored)


def test_a_whole_audit_of_a_trained_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    found = audit_tokens(folder)
    score = {(one.tokens, one.transitions): one.correlation for one in found.seriation}
    assert score["static", 1] > 0.9
    assert score["static", 5] > 0.9
    assert score["keyed", 1] < 0.1
    assert score["keyed", 5] < 0.1
    assert [one.found is None for one in found.searches] == [False, True]
    assert [one.clients for one in found.insiders] == [4, 10, 50]
    assert len(found.points["true"]) == len(found.points["static"]) == len(found.points["keyed"])
    assert len(found.as_json()["sentences"]) == 6
