"""Robust rules: hand-worked cases, what a permutation, a shift and a scale do to them, and how many bad rows they bear."""

import numpy as np
import pytest

from tacit import plan, server
from tacit.server.rules import matrix
from tacit.server.rules.clean import fltrust, zeno
from tacit.server.rules.clipping import centred_clipping, norm_bound
from tacit.server.rules.coordinates import median, trimmed_mean
from tacit.server.rules.foolsgold import compute_client_weights, foolsgold
from tacit.server.rules.geometric import geometric_median
from tacit.server.rules.neighbours import mix_neighbours, multi_krum

RULES = {
    "median": median,
    "trimmed_mean": lambda rows: trimmed_mean(rows, 4),
    "multi_krum": lambda rows: multi_krum(rows, 4),
    "nnm_trimmed_mean": lambda rows: trimmed_mean(mix_neighbours(rows, 4), 4),
    "geometric_median": geometric_median,
    "norm_bound": norm_bound,
    "centred_clipping": lambda rows: centred_clipping(rows, np.zeros(rows.shape[1], np.float32)),
}
SHIFTS_ALONG = ["median", "trimmed_mean", "multi_krum", "nnm_trimmed_mean", "geometric_median"]


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float32)[:, None]


@pytest.fixture
def honest() -> np.ndarray:
    return (1 + np.random.default_rng(0).standard_normal((11, 30))).astype(np.float32)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_order_of_clients_does_not_matter(rule, honest) -> None:
    order = np.random.default_rng(1).permutation(len(honest))
    np.testing.assert_allclose(rule(honest[order]), rule(honest), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_result_scales_with_the_updates(rule, honest) -> None:
    for scale in (1e-6, 1e6):
        np.testing.assert_allclose(
            rule(np.float32(scale) * honest) / scale, rule(honest), rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("name", SHIFTS_ALONG)
def test_the_result_moves_with_a_shift(name, honest) -> None:
    shift = np.linspace(-5, 5, 30, dtype=np.float32)
    np.testing.assert_allclose(RULES[name](honest + shift), RULES[name](honest) + shift, atol=1e-4)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_equal_updates_give_that_update(rule) -> None:
    row = np.array([0.5, 0.0, -2.0], np.float32)
    np.testing.assert_allclose(rule(np.tile(row, (11, 1))), row, rtol=1e-6)
    assert rule(np.zeros((11, 3), np.float32)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("far", [1e3, 1e30])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_four_bad_of_eleven_cannot_lead_it_away(rule, far, honest) -> None:
    bad = honest.copy()
    bad[:4] = np.float32(far) * np.random.default_rng(2).choice([-1.0, 1.0], (1, 30))
    reach = np.linalg.norm(honest, axis=1).max()
    assert np.linalg.norm(rule(bad) - honest[4:].mean(axis=0)) < 2 * reach


@pytest.mark.parametrize("name", ["median", "geometric_median", "multi_krum", "trimmed_mean"])
def test_a_bad_majority_can(name) -> None:
    rows = np.zeros((11, 3), np.float32)
    rows[:7] = 1e3
    assert np.linalg.norm(RULES[name](rows)) > 400


def test_median_and_trimmed_mean_by_hand() -> None:
    rows = np.array([[1, 10], [2, -10], [3, 0], [9, 4]], np.float32)
    assert median(rows).tolist() == [2.5, 2.0]
    assert trimmed_mean(rows, 1).tolist() == [2.5, 2.0]
    assert trimmed_mean(rows, 0).tolist() == [3.75, 1.0]
    assert median(rows[:3]).tolist() == [2.0, 0.0]


def test_multi_krum_by_hand() -> None:
    # Six rows, one bad: three neighbours. Sums of squares: 0: 1+4+9, 1: 1+1+4, 2: 1+1+4, 3: 1+4+9, 10: far, 20: farther.
    rows = column(0, 1, 2, 3, 10, 20)
    assert multi_krum(rows, 1, keep=1).tolist() == [1.0], "of two equals the first"
    assert multi_krum(rows, 1, keep=2).tolist() == [1.5]
    assert multi_krum(rows, 1).tolist() == [np.float32(16 / 5)]


def test_mixing_by_hand() -> None:
    assert mix_neighbours(column(0, 1, 3, 10), 1)[:, 0].tolist() == pytest.approx(
        [4 / 3, 4 / 3, 4 / 3, 14 / 3]
    )
    # From 1, the rows 0 and 2 are equally near: the first one counts.
    assert mix_neighbours(column(0, 1, 2), 1)[:, 0].tolist() == pytest.approx([0.5, 0.5, 1.5])


def test_geometric_median_by_hand() -> None:
    square = np.array([[0, 0], [2, 0], [0, 2], [2, 2], [1, 1]], np.float32)
    np.testing.assert_allclose(geometric_median(square), [1, 1], atol=1e-5)
    # The Fermat point of a triangle with an angle above 120 degrees is that corner.
    np.testing.assert_allclose(
        geometric_median(np.array([[-5, 0], [0, 0.1], [5, 0]], np.float32)), [0, 0.1], atol=1e-3
    )
    heavy = np.array([1.0, 1.0, 1.0, 1.0, 9.0])
    np.testing.assert_allclose(
        geometric_median(square + np.array([[0]] * 4 + [[7]]), heavy), [8, 8], atol=1e-3
    )


def test_clipping_by_hand() -> None:
    rows = np.array([[3, 4], [0, 1], [0, -3]], np.float32)
    np.testing.assert_allclose(norm_bound(rows, bound=1.0), [0.2, 0.8 / 3], rtol=1e-6)
    np.testing.assert_allclose(norm_bound(rows), [1.8 / 3, (2.4 + 1 - 3) / 3], rtol=1e-6)
    np.testing.assert_allclose(
        norm_bound(rows, np.array([2.0, 1, 1]), bound=1.0), [1.2 / 4, 1.6 / 4], rtol=1e-6
    )
    np.testing.assert_allclose(
        centred_clipping(rows, np.array([0, 1], np.float32), 2.0, steps=1),
        [2**0.5 / 3, (2**0.5 + 1) / 3],
        rtol=1e-6,
    )


def test_foolsgold_silences_doubles_and_hears_the_others() -> None:
    random = np.random.default_rng(3)
    good, bad = random.standard_normal((5, 200)), np.tile(random.standard_normal(200), (3, 1))
    history = np.concatenate([good, bad]).astype(np.float32)
    heard = compute_client_weights(history)
    assert (heard[:5] > 0.9).all()
    assert (heard[5:] == 0).all()
    rows = np.concatenate([np.ones((5, 2)), np.full((3, 2), -50)]).astype(np.float32)
    assert foolsgold(rows, history).tolist() == [1.0, 1.0]
    assert foolsgold(rows[5:], history[5:]).tolist() == [0.0, 0.0], "all alike"
    assert foolsgold(rows[:1], history[:1]).tolist() == [1.0, 1.0]


def test_foolsgold_pardons_whoever_resembles_a_double_only_a_little() -> None:
    history = np.array([[1, 0, 0], [1, 0, 0], [0.8, 0.6, 0], [0, 0, 1]], np.float32)
    # v = (1, 1, .8, 0). Client 2: .8 x .8/1 = .64, so 1 - .64 = .36 of the most; ln(.36/.64) + .5 < 0. Client 3 has it all.
    assert compute_client_weights(history).tolist() == [0, 0, 0, 1]
    milder = np.array([[1, 0, 0], [1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]], np.float32)
    assert compute_client_weights(milder)[2] == pytest.approx(
        min(1, np.log(0.64 / 0.36) + 0.5), abs=1e-6
    )


def test_fltrust_by_hand() -> None:
    own = np.array([0, 2], np.float32)
    rows = np.array([[0, 100], [3, 3], [0, -1], [0, 0]], np.float32)
    side = 2 / np.sqrt(2)
    trust = np.array([1, np.sqrt(0.5)])
    expected = (trust[0] * np.array([0, 2]) + trust[1] * np.array([side, side])) / trust.sum()
    np.testing.assert_allclose(fltrust(rows, own), expected, rtol=1e-6)
    assert fltrust(-rows[:1], own).tolist() == [0, 0]
    assert fltrust(rows, 0 * own).tolist() == [0, 0]


def test_fltrust_bears_any_number_of_bad_rows(honest) -> None:
    own = honest.mean(axis=0)
    rows = np.concatenate([-1e6 * honest, honest[:1]])
    assert np.linalg.norm(fltrust(rows, own)) <= np.linalg.norm(own) * (1 + 1e-6)
    assert fltrust(rows, own) @ own > 0


def test_zeno_keeps_what_helps() -> None:
    rows, asked = column(1, 2, -5, 1), []

    def gains(given: np.ndarray) -> np.ndarray:
        asked.append(given)
        return given[:, 0].astype(np.float64)

    assert zeno(rows, gains, 1, penalty=0.0).tolist() == [np.float32(4 / 3)]
    assert zeno(rows, gains, 2, penalty=0.0).tolist() == [1.5], "of two equals the first"
    assert zeno(rows, gains, 2, penalty=1.0).tolist() == [1.0], "2 - 4 is below 1 - 1"
    assert asked[0] is rows


@pytest.mark.parametrize(
    ("clients", "share", "bad"),
    [(10, 0.3, 3), (10, 0.31, 4), (10, 0.49, 4), (3, 0.4, 1), (2, 0.4, 0), (1, 0.4, 0)],
)
def test_how_many_are_taken_for_bad(clients, share, bad) -> None:
    assert matrix.count_bad(clients, share) == bad


def test_blocks_do_not_change_anything(monkeypatch, honest) -> None:
    whole = {name: rule(honest) for name, rule in RULES.items()}
    monkeypatch.setattr(matrix, "_BLOCK", 33)
    for name, rule in RULES.items():
        np.testing.assert_allclose(rule(honest), whole[name], rtol=1e-5, atol=1e-6)


def combined(settings: plan.Server, names: list[int], rows: np.ndarray, memory: dict) -> tuple:
    given = server.Updates(
        names=np.array(names), rows=rows.astype(np.float32), weights=np.ones(len(names), np.int64)
    )
    return server.combine(settings, given, memory)


@pytest.mark.parametrize(
    "name", ["median", "trimmed_mean", "multi_krum", "geometric_median", "norm_bound", "foolsgold"]
)
@pytest.mark.parametrize("clients", [1, 2, 3])
def test_the_plans_rule_takes_any_cohort(name, clients) -> None:
    bad = 0.4 if name in ("trimmed_mean", "multi_krum") else None
    rows = np.arange(clients * 5.0).reshape(clients, 5) - 1
    mean, _ = combined(plan.Server(rule=name, assumed_bad=bad), list(range(clients)), rows, {})
    assert mean.dtype == np.float32
    assert mean.shape == (5,)
    assert np.isfinite(mean).all()


def test_foolsgold_remembers_who_sent_what() -> None:
    settings = plan.Server(rule="foolsgold")
    rows = np.eye(3)
    _, memory = combined(settings, [2, 5, 9], rows, {})
    _, memory = combined(settings, [3, 5], rows[:2], memory)
    assert memory["rule.names"].tolist() == [2, 3, 5, 9]
    assert memory["rule.history"].tolist() == [[1, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 1]]


def test_centred_clipping_begins_where_it_ended() -> None:
    settings = plan.Server(rule="centred_clipping", bound=1.0)
    rows = np.full((3, 1), 10.0)
    first, memory = combined(settings, [0, 1, 2], rows, {})
    again, _ = combined(settings, [0, 1, 2], rows, memory)
    assert (first.tolist(), again.tolist()) == ([3.0], [6.0])
