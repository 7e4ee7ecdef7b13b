"""Laws of every exchange: what its `receive` refuses while a round runs, and what it states."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit import plan, simulation
from tacit.errors import WireError
from tacit.protocol import exchanges, messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.messages import Frame
from tacit.protocol.round import Exchange
from tests.laws.coupling_cases import KINDS, tree_of, write_world
from tests.laws.exchange_cases import CASES

TABLE = KINDS["a table"]
KIND = {**TABLE, "columns": {**TABLE["columns"], "quasi": ["ward"]}}
RR = {"name": "rr", "epsilon": 2.0, "clip": 0.02}


def classes() -> dict[str, type[Any]]:
    """Every exchange that a round can contain, by the name of its class."""
    found = dict[str, type[Any]]()
    for module in pkgutil.iter_modules(exchanges.__path__, f"{exchanges.__name__}."):
        for name, one in inspect.getmembers(import_module(module.name), inspect.isclass):
            is_exchange = Exchange in one.__mro__ and one is not Exchange
            if is_exchange and one.receive is not Exchange.receive:
                found[name] = one
    return found


def damaged(frame: Frame) -> Iterator[tuple[str, Frame]]:
    """The same message with one thing wrong."""
    header, payload = messages.parse(*frame).header, np.frombuffer(frame[1], np.uint8)
    others: dict[str, dict[str, Any]] = {
        "another run": {"run": "another"},
        "another round": {"round_no": header.round_no + 1},
        "another codec": {"codec": "another"},
        "a sender that was not asked": {"sender": 1000},
        "another number of parameters": {"dim": header.dim + 1},
    }
    for what, change in others.items():
        yield what, messages.frame(msgspec.structs.replace(header, **change), payload)
    if len(payload):
        short = msgspec.structs.replace(header, payload_size=len(payload) - 1)
        yield "a byte less", messages.frame(short, payload[:-1].copy())
    more = msgspec.structs.replace(header, payload_size=len(payload) + 1)
    yield "a byte more", messages.frame(more, np.append(payload, np.uint8(0)))


def test_every_exchange_is_under_these_laws() -> None:
    assert set(CASES) == set(classes())


@pytest.mark.parametrize("name", CASES)
def test_damaged_and_repeated_responses_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, taken, received = classes()[name], list[str](), list[int]()
    receive = kind.receive

    def strict(self: Any, intake: Intake, total: Any, frame: Frame) -> None:
        for what, wrong in damaged(frame):
            with suppress(WireError):
                receive(self, intake, total, wrong)
                taken.append(what)
        receive(self, intake, total, frame)
        received.append(messages.parse(*frame).header.sender)
        with suppress(WireError):
            receive(self, intake, total, frame)
            taken.append("the same again")

    monkeypatch.setattr(kind, "receive", strict)
    source = str(write_world(tmp_path, 0))
    tree = tree_of(KIND, RR, source, **CASES[name])
    tree = {**tree, "baselines": [], "engine": {"workers": 1}}
    simulation.start(plan.parse(tree), tmp_path / "runs")
    assert received, "a round with these tables contains the exchange"
    assert taken == []
