import json

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tacit.errors import DataError
from tacit.features import Projection, fit_projection

ROWS = (np.random.default_rng(0).normal(size=(40, 6)) * [9, 5, 3, 1, 0.5, 0.1] + 2).astype(np.float32)


def test_the_strongest_directions_are_those_of_principal_components():
    ours, theirs = fit_projection(ROWS, 3), PCA(3).fit(ROWS)
    np.testing.assert_allclose(np.abs(ours.directions @ theirs.components_.T), np.eye(3), atol=1e-4)
    np.testing.assert_allclose(np.abs(ours(ROWS)), np.abs(theirs.transform(ROWS)), atol=1e-3)
    assert ours(ROWS).dtype == np.float32
    assert ours.width == 3


def test_a_direction_has_one_sign_whatever_the_order_of_rows():
    np.testing.assert_allclose(fit_projection(ROWS[::-1], 4).directions, fit_projection(ROWS, 4).directions, atol=1e-4)


def test_standardised_numbers_spread_by_one_on_the_rows_they_were_fitted_on():
    projected = fit_projection(ROWS, 4, standardise=True)(ROWS)
    np.testing.assert_allclose(np.cov(projected.T), np.eye(4), atol=1e-3)


def test_it_is_kept_to_the_bit():
    fitted = fit_projection(ROWS, 4)
    assert Projection.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted
    assert fitted != fit_projection(ROWS, 3)


@pytest.mark.parametrize("rows", [ROWS[:3], ROWS[:, :2], np.repeat(ROWS[:2], 20, axis=0)])
def test_rows_that_say_too_little_are_refused(rows):
    with pytest.raises(DataError, match=r"features\.project = 3 needs"):
        fit_projection(rows, 3)
