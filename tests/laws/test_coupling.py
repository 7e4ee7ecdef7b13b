"""The law of no coupling: changing one client's rows leaves all other clients' messages the same to the bit.

Without it the stated sensitivity is false: a client's rows would move the sum by more than that client's own message. Between the two
worlds everything is held that is told in the clear before round one, since it is told and stated, and so is the identity of the run,
which chooses the addresses of noise: noise at another address is as good, but no longer the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import data as data_room
from tacit import plan as plans
from tacit.data import clean
from tacit.draws import Draws
from tacit.engine import first_round as first_round_module
from tacit.engine.fingerprint import Fingerprints
from tacit.engine.first_round import FirstRound, first_round
from tacit.engine.round import Request
from tacit.engine.simulate import updates_of
from tacit.engine.simulated_arm import Setting, SimulatedArm
from tacit.engine.site import Client
from tacit.plan.kinds import tables_in
from tacit.record import RUN
from tests.laws.coupling_cases import CHANGED, CODECS, KINDS, MODULES, OTHERS, tree_of, write_world

Frames = dict[str, bytes]
"""What each client sends, by its owner."""

TRAINED_ALONE = {name: kind for name, kind in KINDS.items() if name != "pixels"}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worlds")
    for world in (0, 1):
        for ending in (".csv", ".parquet"):
            write_world(folder, world, ending)
    return folder


@pytest.fixture
def same_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the identity of a simulation, which is made of its plan and its rows."""
    monkeypatch.setattr(first_round_module, "fingerprints_of", lambda plan, data: Fingerprints(identity="law"))


def source_of(worlds: Path, kind: dict[str, Any], world: int) -> str:
    return str(worlds / f"world-{world}{'.parquet' if 'image' in kind['columns'] else '.csv'}")


def owners_of(begun: FirstRound) -> list[str]:
    return sorted([CHANGED, *OTHERS])[: len(begun.arm.site.names)]


def answers_of(begun: FirstRound, arm: SimulatedArm, exchange: str, request: Request) -> Frames:
    """Return what each client answers, one by one."""
    site, made = arm.site, {one.name: one for one in arm.exchanges}[exchange]
    worker = arm.learner.worker()
    frames = [made.answer(Client(site, site.seat(name), worker), request) for name in site.names]
    return {who: bytes(frame[0]) + bytes(frame[1]) for who, frame in zip(owners_of(begun), frames, strict=True) if frame}


def updates_together(begun: FirstRound, arm: SimulatedArm, request: Request) -> Frames:
    """Return each client's update where all are trained in one call, as far as the learner does so."""
    site = arm.site
    seats = [site.seat(name) for name in site.names]
    found = updates_of(site, arm.learner.worker(), site.model(request), seats, 1)
    return {who: update.row.tobytes() for who, update in zip(owners_of(begun), found, strict=True)}


def moved(one: Frames, other: Frames) -> list[str]:
    """Return whose messages differ between two worlds."""
    assert set(one) == set(other) == {CHANGED, *OTHERS}
    return [who for who in one if one[who] != other[who]]


def test_no_codec_is_left_out() -> None:
    assert set(CODECS) == set(tables_in(plans.Codec))


@pytest.mark.usefixtures("same_identity")
@pytest.mark.parametrize("kind", [*KINDS, *MODULES])
def test_a_client_s_rows_move_no_other_update_in_a_simulation(worlds: Path, kind: str) -> None:
    """Every codec for every kind of features; clients train one by one, and many in one call."""
    chosen = KINDS.get(kind) or MODULES[kind]
    codecs = CODECS if kind in KINDS else {name: CODECS[name] for name in ("plain", "rr")}
    with ExitStack() as stack:
        begun = [
            stack.enter_context(first_round(plans.parse(tree_of(chosen, CODECS["plain"], source_of(worlds, chosen, world)))))
            for world in (0, 1)
        ]
        assert begun[0].data.fitted == begun[1].data.fitted, "what is told is held"
        together = [updates_together(one, one.arm, one.request) for one in begun]
        assert moved(*together) == [CHANGED]
        for name, codec in codecs.items():
            frames = []
            for world, one in enumerate(begun):
                job = plans.parse(tree_of(chosen, codec, source_of(worlds, chosen, world)))
                arm = SimulatedArm(replace(one.arm.setting, data=one.data), RUN, job)
                model = arm.arm.first()
                request = arm.exchanges[0].ask(replace(one.state, model=model))
                frames.append(answers_of(one, arm, "train", request))
            assert moved(*frames) in ([CHANGED], []), name
