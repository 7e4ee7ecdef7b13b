"""Calls that a new user gets wrong: each ends at once in an error of Tacit's own that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tacit

ROWS = [
    {"age": 20 + n % 60, "pulse": 60 + n % 40, "risk": "high" if n % 60 > 30 else "low"}
    for n in range(300)
]
FRAME = pl.DataFrame(ROWS)
X, Y = np.arange(150.0).reshape(50, 3), np.arange(50) % 2


def plan() -> tacit.Plan:
    return tacit.starter_plan(ROWS, label="risk")


def fit(*rows: Any, clients: Any = None, **settings: Any) -> object:
    return tacit.FederatedClassifier(**settings).fit(*(rows or (X, Y)), clients=clients)


def hashed(texts: Any, **settings: Any) -> object:
    return tacit.HashedText(**settings).transform(texts)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    # tables of a plan
    "a negative epsilon": (lambda: tacit.Privacy(epsilon=-1), r"epsilon must be at least 0\.001 \(per run\)"),
    "an epsilon in words": (lambda: tacit.Privacy(epsilon="eight"), "epsilon must be a number, got 'eight'"),  # type: ignore[arg-type]
    "a preset misspelt": (lambda: tacit.Privacy(preset="privat"), "Did you mean 'private'"),  # type: ignore[arg-type]
    "a setting misspelt": (lambda: tacit.Privacy(eps=1), "eps: unknown key.*Did you mean 'epsilon'"),  # type: ignore[call-arg]
    "a setting without its name": (lambda: tacit.Privacy("private"), "settings must be keyword arguments, such as preset"),  # type: ignore[misc]
    "no rounds": (lambda: tacit.Server(rounds=0), r"tacit\.Server.*\n  rounds must be at least 1, got 0"),
    "a table by its file": (lambda: tacit.Plan(data="my.csv"), r"data must be a table.*tacit\.Data\("),  # type: ignore[arg-type]
    "a network by its name": (lambda: tacit.Plan(model="mlp"), r"model must be a table.*tacit\.Logistic\("),  # type: ignore[arg-type]
    "a network without widths": (lambda: tacit.MLP(), "hidden is required: the widths"),  # type: ignore[call-arg]
    "one width": (lambda: tacit.MLP(hidden=50), "hidden must be a list, got 50"),  # type: ignore[arg-type]
    # runs
    "rows in place of a plan": (lambda: tacit.run(FRAME), r"got DataFrame; tacit\.run\(tacit\.starter_plan\(rows"),  # type: ignore[arg-type]
    "a dict in place of a plan": (lambda: tacit.run({"name": "x"}), r"must be a tacit\.Plan or the path.*got dict"),  # type: ignore[arg-type]
    "no plan": (lambda: tacit.run(None), "got NoneType"),  # type: ignore[arg-type]
    "a plan that is not there": (lambda: tacit.run("missing.toml"), "`tacit init` writes a plan"),
    "no rows": (lambda: tacit.run(plan()), "pass the rows"),
    "a list without rows": (lambda: tacit.run(plan(), rows=[]), "rows is empty; pass at least a few"),
    "rows of other columns": (lambda: tacit.run(plan(), rows=[{"a": 1}] * 30), "the columns are a"),
    "a path in place of rows": (lambda: tacit.run(plan(), rows="my.csv"), r"got a text.*starter_plan\(path\)"),
    "labels that are all missing": (lambda: tacit.run(plan(), rows=FRAME.with_columns(risk=None)), "the column is empty"),
    "a module by its name": (lambda: tacit.run(plan(), rows=ROWS, module="mlp"), "got the text 'mlp'"),
    "an observer that observes nothing": (lambda: tacit.run(plan(), rows=ROWS, observer=3), r"tacit\.Silence\(\)"),  # type: ignore[arg-type]
    "a callback that cannot be called": (lambda: tacit.run(plan(), rows=ROWS, on_entry="print"), "on_entry=str must be a function of an entry"),  # type: ignore[arg-type]
    "a callback of one argument": (lambda: tacit.run(plan(), rows=ROWS, on_entry=lambda entry: None), r"as in on_entry\(entry, folder\)"),  # type: ignore[arg-type,misc]
    "a run by a number": (lambda: tacit.load(3), "must be the name of a run"),  # type: ignore[arg-type]
    "a run that is not there": (lambda: tacit.Run("nope"), "start one with `tacit run PLAN`"),
    # modules
    "a built-in model to train": (lambda: tacit.train("logistic"), "got the text 'logistic'; for a built-in model leave it out"),
    "rows before the module": (lambda: tacit.train(ROWS, "logistic"), "got list"),
    # plans from tables
    "a table of nothing": (lambda: tacit.starter_plan(None), "got NoneType; pass the rows"),
    "a table without rows": (lambda: tacit.starter_plan(FRAME[:0]), "0 rows and 3 columns; pass"),
    "a label misspelt": (lambda: tacit.starter_plan(ROWS, label="riks"), "Did you mean 'risk'"),
    "a label without values": (lambda: tacit.starter_plan(FRAME.with_columns(risk=None), label="risk"), "no value in any"),
    "a label that is NaN": (lambda: tacit.starter_plan(FRAME.with_columns(risk=float("nan")), label="risk"), "no value in any"),
    "a label of one class": (lambda: tacit.starter_plan(FRAME.with_columns(risk=pl.lit("a")), label="risk"), "nothing to predict"),
    "a label by its place": (lambda: tacit.starter_plan(ROWS, label=2), "must be the name of a column, got int"),  # type: ignore[arg-type]
    "rows without names": (lambda: tacit.starter_plan(X), "ndarray and has no column names.*dicts or a DataFrame"),
    "one column": (lambda: tacit.starter_plan(FRAME["age"]), "got Series; pass the rows"),
    "a file that is not there": (lambda: tacit.starter_plan("missing.csv"), "there is no file"),
    # estimators
    "an unknown model": (lambda: fit(model="forest"), r"model\.name must be one of logistic"),
    "a model that is none": (lambda: fit(model=3), r"tacit\.MLP\(hidden"),
    "no rows to fit": (lambda: fit(X[:0], Y[:0]), "0 sample"),
    "labels that are NaN": (lambda: fit(X, np.full(50, np.nan)), "Input y contains NaN"),
    "numbers that are NaN": (lambda: fit(X * np.nan, Y), "Input X contains NaN"),
    "fewer labels than rows": (lambda: fit(X, Y[:20]), "inconsistent numbers"),
    "one class": (lambda: fit(X, Y * 0), "y must have at least two classes"),
    "texts in place of numbers": (lambda: fit([["secret"], ["b"]], [0, 1]), "X must be numeric: tacit.HashedText"),
    "amounts in place of classes": (lambda: fit(X, X[:, 0] / 7), "classifier"),
    "more clients than rows": (lambda: fit(clients=1000), "from 1 to 50"),
    "predictions before fit": (lambda: tacit.FederatedClassifier().predict(X), "not fitted yet"),
    "one text": (lambda: hashed("a"), "put it into a list"),
    "no texts": (lambda: hashed(None), "got NoneType"),
    "numbers in place of texts": (lambda: hashed([1, 2]), "X must contain only texts, got int"),
    "two columns of texts": (lambda: hashed(FRAME[["age", "risk"]]), "got 2 columns; select one"),
    "too few buckets": (lambda: hashed(["a"], buckets=-1), r"tacit\.HashedText.*\n  buckets must be at least 2"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_call_ends_in_a_sentence_of_ours(call: Callable[[], object], said: str) -> None:
    with pytest.raises(tacit.TacitError, match=said) as raised:
        call()
    assert "pydantic" not in str(raised.value)
    assert "secret" not in str(raised.value)  # a cell of the data
    assert not list(Path().glob("runs/*"))


def test_what_scikit_learn_expects_of_errors_still_holds() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(ValueError):
        fit(X, Y * 0)
    with pytest.raises(TypeError):
        hashed(None)
    with pytest.raises(NotFittedError):
        tacit.FederatedClassifier().predict(X)


def test_a_name_in_place_of_a_module_is_refused_before_pytorch_is_loaded() -> None:
    import subprocess
    import sys

    asked = (
        "import sys, tacit\ntry:\n    tacit.train('logistic')\nexcept tacit.PlanError:\n    assert"
        " 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", asked], check=True)
