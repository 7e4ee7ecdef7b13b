"""The classifier keeps its promise, knows its clients, and fits into pipelines and searches."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import tacit
from tacit.models.estimators.matrices import assign_rows
from tacit.randomness import Draws

X, y = make_blobs(n_samples=200, centers=3, random_state=1)
TEXTS = [f"{word} film number {n}" for n in range(60) for word in ("good", "bad")]
OPINIONS = ["good", "bad"] * 60


def test_a_private_fit_learns_and_says_what_it_promised() -> None:
    fitted = tacit.FederatedClassifier(epsilon=4.0).fit(X, y)
    assert fitted.score(X, y) > 0.9
    assert "4 per run" in fitted.privacy_
    assert "add or remove one client" in fitted.privacy_
    assert fitted.n_clients_ == len(X)  # without clients, each row is one


def test_without_privacy_it_says_so() -> None:
    assert (
        "There is no protection" in tacit.FederatedClassifier("none", rounds=2).fit(X, y).privacy_
    )


def test_the_same_seed_gives_the_same_model_and_another_one_another() -> None:
    model = tacit.FederatedClassifier(rounds=2, random_state=3)
    first = model.fit(X, y).predict_proba(X)
    assert np.array_equal(first, clone(model).fit(X, y).predict_proba(X))
    assert not np.array_equal(
        first, clone(model).set_params(random_state=4).fit(X, y).predict_proba(X)
    )
    fresh = tacit.FederatedClassifier(rounds=2, random_state=None)
    assert not np.array_equal(fresh.fit(X, y).predict_proba(X), fresh.fit(X, y).predict_proba(X))


def test_less_epsilon_is_more_noise() -> None:
    exact = tacit.FederatedClassifier("none").fit(X, y).predict_proba(X)
    far = [
        np.abs(tacit.FederatedClassifier(epsilon=e).fit(X, y).predict_proba(X) - exact).mean()
        for e in (0.05, 50.0)
    ]
    assert far[0] > 2 * far[1]


def test_rows_of_one_owner_are_one_client() -> None:
    owners = np.array(["ann", "bob", "ann", "cy", "bob"])
    held = assign_rows(owners, 5, Draws.seeded(0))
    parts = [held.order[held.starts[c] : held.starts[c + 1]].tolist() for c in range(len(held))]
    assert parts == [[0, 2], [1, 4], [3]]


def test_a_number_of_clients_deals_rows_evenly() -> None:
    held = assign_rows(7, 100, Draws.seeded(0))
    assert sorted(held.order) == list(range(100))
    assert sorted(held.sizes().tolist()) == [14] * 5 + [15] * 2


@pytest.mark.parametrize("clients", [[1, 2], 0, 201])
def test_clients_that_do_not_fit_the_rows_are_refused(clients) -> None:
    with pytest.raises(ValueError, match=r"clients|inconsistent"):
        tacit.FederatedClassifier().fit(X, y, clients=clients)


@pytest.mark.parametrize(("parameters", "said"), [
    ({"privacy": "secret"}, "privacy.preset"), ({"codec": "morse"}, "codec"), ({"epsilon": -1.0}, "privacy.epsilon"),
    ({"privacy": "none", "epsilon": 1.0}, "guarantees no epsilon per run"), ({"model": "mlp"}, "model.hidden"),
    ({"rounds": 0}, "server.rounds"),
])  # fmt: skip
def test_parameters_without_meaning_are_refused_before_training(parameters, said) -> None:
    with pytest.raises(tacit.PlanError, match=said) as caught:
        tacit.FederatedClassifier(**parameters).fit(X, y)
    assert isinstance(caught.value, ValueError)  # which scikit-learn expects


def test_a_model_or_codec_may_be_a_table() -> None:
    model = tacit.FederatedClassifier(
        "none", codec=tacit.RR(epsilon=5.0, clip=0.5), model=tacit.MLP(hidden=[8]), rounds=3
    ).fit(X, y)  # fmt: skip
    assert (model.plan_.codec.name, model.plan_.model.hidden) == ("rr", (8,))
    assert "per bit" in model.privacy_
    with pytest.raises(ValueError, match="3 is neither a name such as"):
        tacit.FederatedClassifier(model=3).fit(X, y)


def test_a_module_of_ones_own() -> None:
    torch = pytest.importorskip("torch")
    flowers, kinds = load_iris(return_X_y=True)
    model = tacit.FederatedClassifier("none", model=torch.nn.Linear(4, 3), rounds=3).fit(
        flowers, kinds, clients=5
    )
    assert model.predict_proba(flowers).shape == (150, 3)


def test_text_in_a_pipeline_without_a_vocabulary() -> None:
    pipeline = make_pipeline(tacit.HashedText(500), tacit.FederatedClassifier("none"))
    assert pipeline.fit(TEXTS, OPINIONS).score(TEXTS, OPINIONS) == 1.0
    private = make_pipeline(tacit.HashedText(500), tacit.FederatedClassifier(epsilon=50.0))
    assert private.fit(TEXTS, OPINIONS, federatedclassifier__clients=40)[-1].n_clients_ == 40


def test_a_search_hands_each_fold_its_own_clients() -> None:
    owners = np.repeat(np.arange(50), 4)
    search = GridSearchCV(
        tacit.FederatedClassifier(rounds=2),
        {"epsilon": [1.0, 8.0]},
        cv=GroupKFold(2),
        error_score="raise",
    )
    search.fit(X, y, groups=owners, clients=owners)
    assert search.best_estimator_.n_clients_ == 50
    assert set(search.best_params_) == {"epsilon"}


def test_clients_are_routed_as_metadata() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = tacit.FederatedClassifier("none", rounds=2).set_fit_request(clients=True)
        pipeline = make_pipeline(MinMaxScaler(), model)
        assert pipeline.fit(X, y, clients=10)[-1].n_clients_ == 10
        owners = np.arange(len(X)) % 20
        assert (
            len(
                cross_val_score(
                    pipeline, X, y, params={"clients": owners}, cv=2, error_score="raise"
                )
            )
            == 2
        )


def test_a_row_is_judged_by_itself_and_no_row_is_kept() -> None:
    model = tacit.FederatedClassifier(rounds=2).fit(X, y)
    assert np.array_equal(model.predict_proba(X)[5:6], model.predict_proba(X[5:6]))
    assert model._trained_.vector.size == 9
    assert {type(value).__name__ for value in vars(model._trained_).values()} == {
        "Plan",
        "NoneType",
        "ndarray",
        "tuple",
    }
