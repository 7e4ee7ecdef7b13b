import json

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.decomposition import PCA

from tacit.errors import DataError
from tacit.features import Projection, fit_class_projection, fit_projection
from tacit.features.row_norm import scale_to_norm
from tacit.rows import Dense

ROWS = (np.random.default_rng(0).normal(size=(40, 6)) * [9, 5, 3, 1, 0.5, 0.1] + 2).astype(
    np.float32
)


def test_the_strongest_directions_are_those_of_principal_components():
    ours, theirs = fit_projection(ROWS, 3), PCA(3).fit(ROWS)
    np.testing.assert_allclose(np.abs(ours.directions @ theirs.components_.T), np.eye(3), atol=1e-4)
    np.testing.assert_allclose(np.abs(ours(ROWS)), np.abs(theirs.transform(ROWS)), atol=1e-3)
    assert ours(ROWS).dtype == np.float32
    assert ours.width == 3


def test_a_direction_has_one_sign_whatever_the_order_of_rows():
    np.testing.assert_allclose(
        fit_projection(ROWS[::-1], 4).directions, fit_projection(ROWS, 4).directions, atol=1e-4
    )


def test_standardised_numbers_spread_by_one_on_the_rows_they_were_fitted_on():
    projected = fit_projection(ROWS, 4, standardise=True)(ROWS)
    np.testing.assert_allclose(np.cov(projected.T), np.eye(4), atol=1e-3)


def test_it_is_kept_to_the_bit():
    fitted = fit_projection(ROWS, 4)
    assert Projection.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted
    assert fitted != fit_projection(ROWS, 3)


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (
            ROWS[:3],
            r"features\.project = 3 requires more than 3 public rows of at least 3 numbers, got 3 of 6",
        ),
        (
            ROWS[:, :2],
            r"features\.project = 3 requires more than 3 public rows of at least 3 numbers, got 40 of 2",
        ),
        (
            np.repeat(ROWS[:2], 20, axis=0),
            r"features\.project = 3: the public rows vary in fewer than 3 directions",
        ),
    ],
)
def test_rows_that_say_too_little_are_refused(rows, error):
    with pytest.raises(DataError, match=error):
        fit_projection(rows, 3)


def test_directions_that_tell_classes_apart_ignore_what_is_merely_strong():
    labels = np.arange(60, dtype=np.int32) % 3
    rows = np.random.default_rng(1).normal(size=(60, 5)) * [9, 1, 1, 1, 1]
    rows[:, 1] += 6.0 * (labels == 1)
    rows[:, 2] += 6.0 * (labels == 2)
    fitted = fit_class_projection(rows.astype(np.float32), labels, 2)
    assert np.abs(fitted.directions[:, 0]).max() < 0.3 * np.abs(fitted.directions[:, 1:3]).max()
    projected = fitted(rows.astype(np.float32))
    means = np.stack([projected[labels == one].mean(axis=0) for one in range(3)])
    nearest = np.linalg.norm(projected[:, None] - means, axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.95
    scaled = fit_class_projection(rows.astype(np.float32), labels, 2, standardise=True)(
        rows.astype(np.float32)
    )
    np.testing.assert_allclose(scaled.std(axis=0, ddof=1), 1, atol=1e-3)


@pytest.mark.parametrize("width", [5, 90])
def test_they_solve_the_generalised_eigenproblem_also_where_rows_have_more_numbers_than_there_are_rows(
    width,
):
    random, labels = np.random.default_rng(2), np.arange(60, dtype=np.int32) % 3
    rows = (
        random.normal(size=(60, width)) * random.uniform(0.5, 3, width)
        + random.normal(size=(3, width))[labels]
    ).astype(np.float32)
    ours = fit_class_projection(rows, labels, 2).directions
    means = np.stack([rows[labels == one].mean(axis=0) for one in range(3)])
    within, between = np.cov((rows - means[labels]).T, ddof=3), np.cov(means.T, ddof=0)
    shrunk = 0.5 * within + 0.5 * np.trace(within) / width * np.eye(width)
    theirs = eigh(between, shrunk)[1][:, ::-1][:, :2].T
    cosines = (
        (ours * theirs).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    )
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-5)


def test_there_are_fewer_such_directions_than_classes():
    with pytest.raises(DataError, match="at most 2 directions"):
        fit_class_projection(ROWS, np.arange(40, dtype=np.int32) % 3, 3)


def test_rows_of_one_length_but_for_zeros():
    rows = np.vstack([ROWS, np.zeros((1, 6), np.float32)])
    scaled = scale_to_norm(Dense(matrix=rows, width=rows.shape[1]), 3.0)
    np.testing.assert_allclose(np.linalg.norm(scaled.matrix, axis=1), [3.0] * 40 + [0.0], atol=1e-5)
