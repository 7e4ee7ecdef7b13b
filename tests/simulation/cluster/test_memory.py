"""Clients' memory: each actor receives what it lacks, and the run's folder has everything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.errors import WireError
from tacit.simulation.cluster.bodies import MemoryFile
from tacit.simulation.cluster.memory import (
    MemoryOnCluster,
    collect_files,
    find_stores,
    write_files,
)
from tacit.training.private.store import PrivateStore

Stores = dict[str, PrivateStore]


def stores(folder: Path) -> Stores:
    return find_stores({"model": folder})


def train(there: Stores, client: int, round_no: int) -> None:
    """Write a client's memory at an actor, from its memory before the round."""
    before = there["model"].read(client, round_no)
    value = np.zeros(1, np.float32) if before is None else before["x"]
    there["model"].write(client, round_no, {"x": value + 1})


def ask(driver: MemoryOnCluster, actor: int, there: Stores, client: int, round_no: int) -> int:
    """One task at an actor; the number of files that it received."""
    memory, blobs = driver.pack_for(actor, [client], round_no)
    write_files(there, memory, blobs)
    train(there, client, round_no)
    driver.take(actor, *collect_files(there, [client], round_no))
    return len(memory)


def test_memory_stays_with_its_actor_and_follows_its_client(tmp_path: Path) -> None:
    run, one, two = (stores(tmp_path / name) for name in ("run", "one", "two"))
    driver = MemoryOnCluster(run, decodes=False)
    received = [
        ask(driver, 1, one, 7, 1),  # nobody has any memory yet
        ask(driver, 1, one, 7, 2),  # it is there
        ask(driver, 2, two, 7, 3),  # moved
        ask(driver, 1, one, 7, 4),  # and back: what is there is too old
        ask(driver, 1, one, 7, 5),
    ]
    assert received == [0, 0, 1, 1, 0]
    found = run["model"].read(7, 6)
    assert found is not None
    assert found["x"] == [5]


def test_an_answer_that_was_lost_leaves_no_trace(tmp_path: Path) -> None:
    run, one, two = (stores(tmp_path / name) for name in ("run", "one", "two"))
    driver = MemoryOnCluster(run, decodes=False)
    ask(driver, 1, one, 7, 1)
    write_files(one, *driver.pack_for(1, [7], 2))
    train(one, 7, 2)  # its answer is lost; another actor repeats the task
    assert ask(driver, 2, two, 7, 2) == 1
    assert run["model"].read_file(7, 2) == one["model"].read_file(7, 2)


@pytest.mark.parametrize("one", [MemoryFile("other", "1", 1), MemoryFile("model", "../x", 1)])
def test_files_that_no_client_has_are_refused(tmp_path: Path, one: MemoryFile) -> None:
    with pytest.raises(WireError, match="packet refused"):
        write_files(stores(tmp_path), [one], [np.zeros(1, np.uint8)])
    with pytest.raises(WireError, match="packet refused"):
        write_files(stores(tmp_path), [one], [])
