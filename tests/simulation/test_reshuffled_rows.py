"""Rows that are dealt anew before each round: other clients each time, the same ones whatever the workers and after a stop."""

import numpy as np

from tacit import plan as plans
from tacit import simulation
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Rows
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.reshuffled_rows import ReshuffledRows
from tests.simulation.small import small_plan, write_csv


def test_each_round_every_row_is_held_once_by_somebody_else() -> None:
    rows = Rows(
        inputs=Dense(matrix=np.arange(9, dtype=np.float32)[:, None], width=1),
        labels=np.zeros(9, np.int32),
        classes=("a", "b"),
    )
    seen = []

    class Learner:
        size, layers, parallel, head = 1, (1,), "threads", None

    def build(held: Rows, clients: Clients) -> Learner:
        seen.append(held.inputs.matrix[:, 0].tolist())
        return Learner()

    learner = ReshuffledRows(
        build, rows, Clients(order=np.arange(9), starts=np.array([0, 4, 9])), Draws.seeded(1)
    )
    for round_no in (1, 1, 2, 1):
        learner.in_round(round_no)
    assert [sorted(held) for held in seen] == [list(range(9))] * 4
    assert seen[1] == seen[3] != seen[2]


def test_workers_do_not_matter_and_dealing_does(tmp_path) -> None:
    source = write_csv(tmp_path / "reviews.csv")

    def model(where: str, **changes: object) -> str:
        job = small_plan(source, codec={"name": "plain"}, server={"rounds": 3}, **changes)
        folder = simulation.start(plans.parse(plans.dump(job)), tmp_path / where)
        return record.select_entries(list(record.read(folder / RECORD)), record.Finished)[
            -1
        ].parameters_sha256

    once = model("once", data__clients=4)
    anew = [
        model(
            f"anew{workers}", data__clients=4, data__deal="every_round", engine={"workers": workers}
        )
        for workers in (1, 2)
    ]
    assert anew[0] == anew[1] != once
