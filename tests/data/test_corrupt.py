"""Rows corrupted on purpose: as much as was asked for, at the clients that were chosen, and nowhere else."""

import numpy as np
import pytest

from tacit.data.clients.corrupt import apply_patch, choose_corrupted, corrupt_rows, patch_test_rows
from tacit.errors import DataError
from tacit.plan import Backdoor, FeatureNoise, FlippedLabels, RandomLabels, SignFlip
from tacit.rows import Clients, Dense, Mixed, Rows, Sparse
from tests import seeds

DRAWS = seeds.draws(5)
CLIENTS = Clients(order=np.arange(4000), starts=np.arange(0, 4001, 100))
CORRUPTED = choose_corrupted(0.3, 40, DRAWS)
TOUCHED = np.repeat(CORRUPTED, 100)


def rows(inputs=None) -> Rows:
    random = np.random.default_rng(0)
    inputs = inputs or Dense(matrix=random.random((4000, 20), np.float32), width=20)
    return Rows(
        inputs=inputs,
        labels=random.integers(0, 10, 4000).astype(np.int32),
        classes=tuple("0123456789"),
    )


def sparse(values: bool = False) -> Sparse:
    random = np.random.default_rng(1)
    columns = np.concatenate([np.sort(random.permutation(20)[:4]) for _ in range(4000)]).astype(
        np.int32
    )
    some = random.random(16000, np.float32) if values else None
    return Sparse(starts=np.arange(0, 16001, 4), columns=columns, values=some, width=20)


def full(inputs) -> np.ndarray:
    if isinstance(inputs, Dense):
        return inputs.matrix
    found = np.zeros((len(inputs), inputs.width), np.float32)
    where = np.repeat(np.arange(len(inputs)), np.diff(inputs.starts))
    np.add.at(found, (where, inputs.columns), 1.0 if inputs.values is None else inputs.values)
    return found


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.3, 12), (0.6, 24), (1.0, 40)])
def test_a_share_of_the_clients_is_chosen(share, count) -> None:
    assert choose_corrupted(share, 40, DRAWS).sum() == count


@pytest.mark.statistical
def test_random_labels_leave_about_19_of_100_right_and_other_clients_alone() -> None:
    before = rows()
    after = corrupt_rows(before, CLIENTS, CORRUPTED, RandomLabels(), DRAWS)
    wrong = after.labels != before.labels
    assert not wrong[~TOUCHED].any()
    # 12 clients × 90 labels, each wrong with probability 0.9: 972 ± 9.9.
    assert abs(wrong[TOUCHED].sum() - 972) < seeds.deviations() * 9.9
    assert wrong.reshape(40, 100).sum(axis=1).max() <= 90
    assert after.inputs is before.inputs


def test_flipped_labels_count_from_the_other_end() -> None:
    before = rows()
    after = corrupt_rows(before, CLIENTS, CORRUPTED, FlippedLabels(), DRAWS)
    np.testing.assert_array_equal(after.labels, np.where(TOUCHED, 9 - before.labels, before.labels))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "inputs", [rows().inputs, sparse(), sparse(values=True)], ids=["dense", "ones", "sparse"]
)
def test_feature_noise_has_its_scale_and_stays_at_its_clients(inputs) -> None:
    """Its spread is off by more with a probability of 5e-7."""
    before = rows(inputs)
    after = corrupt_rows(before, CLIENTS, CORRUPTED, FeatureNoise(scale=0.5), DRAWS)
    change = full(after.inputs) - full(before.inputs)
    assert not change[~TOUCHED].any()
    moved = change[TOUCHED][full(before.inputs)[TOUCHED] != 0]
    assert moved.std() == pytest.approx(0.5, rel=seeds.deviations() / np.sqrt(2 * moved.size))
    np.testing.assert_array_equal(after.labels, before.labels)
    only_last = np.arange(40) == np.flatnonzero(CORRUPTED)[-1]
    alone = corrupt_rows(before, CLIENTS, only_last, FeatureNoise(scale=0.5), DRAWS)
    last = np.flatnonzero(TOUCHED)[-100:]
    np.testing.assert_array_equal(full(alone.inputs)[last], full(after.inputs)[last])


@pytest.mark.parametrize(
    "inputs", [rows().inputs, sparse(), sparse(values=True)], ids=["dense", "ones", "sparse"]
)
@pytest.mark.parametrize("value", [1.0, 0.25])
def test_a_patch_sets_its_inputs_and_the_label(inputs, value) -> None:
    before, settings = rows(inputs), Backdoor(share=0.5, target=7, columns=(3, 1), value=value)
    after = corrupt_rows(before, CLIENTS, CORRUPTED, settings, DRAWS)
    wanted = full(before.inputs).copy()
    hit = (after.labels != before.labels) | (full(after.inputs) != wanted).any(axis=1)
    assert not hit[~TOUCHED].any()
    assert 500 < hit.sum() <= 600
    wanted[np.ix_(hit, [1, 3])] = value
    np.testing.assert_array_equal(full(after.inputs), wanted)
    assert (after.labels[hit] == 7).all()
    tests = patch_test_rows(before, settings)
    assert (full(tests.inputs)[:, [1, 3]] == value).all()
    assert len(tests) == (before.labels != 7).sum()


def test_without_columns_the_patch_is_at_the_end_and_beside_words_it_is_in_the_numbers() -> None:
    words = Dense(matrix=np.zeros((4, 3), np.int32), width=50, tokens=True)
    numbers = Dense(matrix=np.zeros((4, 12), np.float32), width=12)
    found = apply_patch(Mixed(tokens=words, dense=numbers), np.array([1]), Backdoor())
    assert found.tokens is words
    np.testing.assert_array_equal(np.flatnonzero(found.dense.matrix), 12 + np.arange(3, 12))


def test_attacks_on_updates_leave_rows_alone_and_what_cannot_be_is_refused() -> None:
    before = rows()
    assert corrupt_rows(before, CLIENTS, CORRUPTED, SignFlip(), DRAWS) is before
    words = rows(Dense(matrix=np.zeros((4000, 3), np.int32), width=50, tokens=True))
    for settings in (FeatureNoise(), Backdoor()):
        with pytest.raises(DataError, match="changes numeric inputs"):
            corrupt_rows(words, CLIENTS, CORRUPTED, settings, DRAWS)
    with pytest.raises(DataError, match=r"corrupt\.columns must be below 20"):
        corrupt_rows(before, CLIENTS, CORRUPTED, Backdoor(columns=(20,)), DRAWS)
    with pytest.raises(DataError, match=r"corrupt\.target must be below 10"):
        patch_test_rows(before, Backdoor(target=10))
