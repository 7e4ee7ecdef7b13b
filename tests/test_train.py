"""A module in two lines: columns guessed, clients named or dealt, promises kept, and refusals in
our words.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tacit

torch = pytest.importorskip("torch")
ROWS = [
    {
        "age": 20 + n % 50,
        "income": n * 10.0,
        "owner": f"p{n % 12}",
        "bought": ("no", "yes")[n % 50 > 25],
    }
    for n in range(96)
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_module_is_trained_and_its_clients_are_promised_something() -> None:
    run = tacit.train(
        torch.nn.Linear(2, 1), ROWS, label="bought", clients="owner", privacy=4.0, rounds=2
    )
    assert "4 per run" in run.privacy
    assert run.plan.privacy == tacit.Privacy(preset="private", epsilon=4.0, delta=1e-5, clients=12)
    assert run.model["weight"].shape == (1, 2)
    assert run.folder == Path("runs/Linear-1")


def test_two_logits_for_two_classes_will_do_and_rows_may_be_read_once() -> None:
    run = tacit.train(torch.nn.Linear(2, 2), iter([{k: v for k, v in row.items() if k != "owner"} for row in ROWS]),
                      label="bought", clients=6, privacy="none", rounds=2)  # fmt: skip
    assert run.model["weight"].shape == (2, 2)
    assert 0 <= run.metrics["accuracy"][-1] <= 1
    assert set(run.predict(ROWS)) <= {"no", "yes"}
    assert np.allclose(run.predict_proba(ROWS).sum(axis=1), 1)
    with pytest.raises(tacit.RunError, match=r"pass the module itself, as module="):
        tacit.Run("Linear-1").predict(ROWS)
    with pytest.raises(tacit.PlanError, match=r"pass the module itself in Python, as module="):
        tacit.Run("Linear-1", allow_code=True).predict(ROWS)


class Talkative(torch.nn.Linear):
    def forward(self, rows):
        return {"logits": super().forward(rows)}


@pytest.mark.parametrize(("module", "said"), [
    (lambda: torch.nn.Linear(7, 1), r"read rows as a tensor of shape \(2, 2\).*make its first layer fit 2 inputs"),
    (lambda: torch.nn.Linear(2, 3), r"return 1 or 2 logits for each row, got shape \(2, 3\)"),
    (lambda: Talkative(2, 1), "a tensor of logits, but it returns a dict"),
    (lambda: torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)), "GroupNorm"),
    (lambda: torch.nn.LSTM(2, 1), "a tensor of logits, but it returns a tuple"),
])  # fmt: skip
def test_what_cannot_be_trained_is_refused_in_words(module, said) -> None:
    with pytest.raises(tacit.PlanError, match=said):
        tacit.train(module(), ROWS, label="bought", clients="owner", privacy="none", rounds=1)
    assert not list(Path("runs").glob("*-1"))


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(tacit.DataError, match=r"clients='holder'.*age, income, owner, bought"):
        tacit.train(torch.nn.Linear(2, 1), ROWS, label="bought", clients="holder")


def test_a_plan_finds_a_module_by_the_path_and_not_in_the_working_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [place for place in __import__("sys").path if place])
    (here / "my_own_net.py").write_text(
        "import torch\n\n\nclass Net(torch.nn.Linear):\n"
        "    def __init__(self, inputs, outputs):\n        super().__init__(inputs, outputs)\n"
    )
    columns = tacit.Columns(numeric=["age", "income"], label="bought")
    plan = tacit.Plan(
        data=tacit.Data(source="given", clients=4, columns=columns), model=tacit.OwnModule(name="my_own_net:Net"),
        codec=tacit.Plain(), server=tacit.Server(rounds=1),
    )  # fmt: skip
    with pytest.raises(tacit.PlanError, match=r"my_own_net:Net.*PYTHONPATH"):
        tacit.run(plan, rows=ROWS)
    monkeypatch.syspath_prepend(str(here))
    run = tacit.run(plan, rows=ROWS)
    assert np.isfinite(run.model["weight"]).all()


class Squashed(torch.nn.Linear):
    def forward(self, rows):
        return torch.sigmoid(super().forward(rows))


@pytest.mark.parametrize("module", [
    lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Softmax(1)),
    lambda: torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Sigmoid()),
    lambda: Squashed(2, 2),
])  # fmt: skip
def test_probabilities_in_place_of_logits_are_refused(module) -> None:
    with pytest.raises(
        tacit.PlanError,
        match=(
            r"must return logits, but it returns probabilities.*remove the softmax or sigmoid at "
            r"its end"
        ),
    ):
        tacit.train(module(), ROWS, label="bought", clients="owner", privacy="none", rounds=1)
    assert not list(Path("runs").glob("*-1"))


def test_logits_that_happen_to_lie_between_0_and_1_are_no_probabilities() -> None:
    module = torch.nn.Linear(2, 1)
    torch.nn.init.zeros_(module.weight)
    torch.nn.init.constant_(module.bias, 0.5)
    assert tacit.train(
        module, ROWS, label="bought", clients="owner", privacy="none", rounds=1
    ).model["bias"].shape == (1,)


def test_log_probabilities_train_the_model_that_logits_do() -> None:
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(2, 2))
    logged = torch.nn.Sequential(plain[0], torch.nn.LogSoftmax(1))
    settings = {"label": "bought", "clients": "owner", "privacy": "none", "rounds": 2}
    one, other = (
        tacit.train(module, ROWS, **settings).predict_proba(ROWS) for module in (plain, logged)
    )  # type: ignore[arg-type]
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_transformer_of_hugging_face_is_told_how_it_can_be_trained() -> None:
    transformers = pytest.importorskip("transformers")
    small = {
        "hidden_size": 8,
        "num_attention_heads": 1,
        "num_hidden_layers": 1,
        "intermediate_size": 8,
        "vocab_size": 20,
    }
    module = transformers.BertForSequenceClassification(transformers.BertConfig(**small))
    texts = [
        {"review": f"{word} film number {n}", "opinion": word}
        for n in range(20)
        for word in ("good", "bad")
    ]
    with pytest.raises(
        tacit.PlanError, match=r"save_pretrained.*tacit\.Encoder\(checkpoint=FOLDER\)"
    ):
        tacit.train(module, texts, label="opinion", clients=4, privacy="none", rounds=1)


def test_named_parts_of_a_data_set_stay_apart() -> None:
    datasets = pytest.importorskip("datasets")
    parts = {
        "train": datasets.Dataset.from_list(ROWS),
        "test": datasets.Dataset.from_list(ROWS[:10]),
    }
    run = tacit.train(
        torch.nn.Linear(2, 1),
        datasets.DatasetDict(parts),
        label="bought",
        clients=6,
        privacy="none",
        rounds=1,
    )
    prepared = next(entry for entry in run.entries if type(entry).__name__ == "Prepared")
    assert (prepared.rows_train, prepared.rows_test) == (96, 10)
