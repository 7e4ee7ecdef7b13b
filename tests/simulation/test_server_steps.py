"""The server's training on disclosed rows takes as many steps as a client, if the plan says so."""

from __future__ import annotations

import pytest

from tacit import training
from tacit.assembly.server_side import choose_member_pace
from tacit.plan import Local, RowSharing

AS_CLIENT = RowSharing(k=2, server_steps="as_client")


@pytest.mark.parametrize(
    "local",
    [
        Local(epochs=2, batch=16),
        Local(epochs=3),
        Local(epochs=2, batches=5),
        Local(steps=7, batch=8),
        Local(),
    ],
)
@pytest.mark.parametrize("rows", [10, 404, 10_000])
def test_as_many_steps_as_a_client(local: Local, rows: int) -> None:
    server = choose_member_pace(AS_CLIENT, local, rows, clients=10)
    client_steps = training.local_steps(local, -(-rows // 10))
    assert training.local_steps(server, 100_000) == client_steps


def test_by_default_the_server_trains_on_all_its_rows() -> None:
    local = Local(epochs=2, batch=16)
    assert choose_member_pace(RowSharing(k=2), local, 400, clients=10) is local
    assert training.local_steps(local, 100_000) == 12_500
