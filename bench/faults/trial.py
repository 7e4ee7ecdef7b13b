"""Runs under faults: who is killed where, started again, and what came of it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.faults import field as fields
from bench.faults.dying import DEPLOY_POINTS, FIRST_SITE_POINTS, SITE_POINTS
from bench.faults.field import Field, Mortal
from bench.faults.ledgers import Totals, Verdict, judged, totals
from tacit.api import Run
from tacit.deployment.server.job import DEPLOYMENT

POINTS: dict[str, tuple[str, ...]] = {
    "none": (),
    "site": SITE_POINTS,
    "deploy": DEPLOY_POINTS,
    "server": (),
}
_FIRST, _BY_ITS_OWN_HAND = 0.5, 0.7
"""How often a site dies before round one, and how often at a point rather than at some moment."""
_KILLS_PER_RUN = 4
_RUN_SECONDS = 600.0
_POINT_SECONDS = 30.0


@dataclass
class FaultTrial:
    """One run: how it ended, its model, where somebody was killed in it, and what ledgers say."""

    kind: str
    code: int | None
    model: str
    verdict: Verdict
    run: str
    seconds: float
    kills: list[str] = dataclasses.field(default_factory=list)


@dataclass
class Trials:
    """Runs on one field, all with the same plan and noise. The first, without faults, says what
    ledgers must say.
    """

    field: Field
    random: np.random.Generator
    tell: Callable[[str], None]
    expected: dict[str, Totals] = dataclasses.field(default_factory=dict)

    def undisturbed(self) -> FaultTrial:
        """Make the run that others are compared with."""
        made = self._run("none", 0)
        self.expected = {
            name: totals(one.folder, made.run) for name, one in self.field.sites.items()
        }
        return made

    def under(self, kind: str, kills: int) -> list[FaultTrial]:
        """Make as many runs as it takes to kill a kind of process so often."""
        made: list[FaultTrial] = []
        while (left := kills - sum(len(one.kills) for one in made)) > 0:
            made.append(self._run(kind, min(left, _KILLS_PER_RUN)))
            if made[-1].code != 0 or len(made) > 3 * kills:
                break
        return made

    def _run(self, kind: str, kills: int) -> FaultTrial:
        place, deploy = self.field.begin_run()
        run, began = run_of(place), time.monotonic()
        made = FaultTrial(kind, None, "", Verdict(0, 0, 0, 0, 0, 0), run, 0.0)
        first = kind == "site" and kills > 0 and self.random.random() < _FIRST
        deploy.start()
        try:
            if first:
                self._note(made, self._fault(kind, deploy, began, FIRST_SITE_POINTS))
            while self._going(deploy, began) and not fields.arrived(deploy).exists():
                time.sleep(0.05)
            while len(made.kills) < kills and self._going(deploy, began):
                time.sleep(float(self.random.uniform(0.0, 2.5)))
                self._note(made, self._fault(kind, deploy, began, POINTS[kind]))
            while self._going(deploy, began):
                time.sleep(0.1)
            made.code = deploy.code
        finally:
            deploy.kill()
        made.seconds = time.monotonic() - began
        made.model = Run(place).parameters_sha256 if made.code == 0 else ""
        made.verdict = judged(
            [one.folder for one in self.field.sites.values()],
            run,
            fields.arrived(deploy),
            self.expected,
        )
        self.tell(
            f"{run}: {len(made.kills)} kills ({kind}), exit code {made.code}, {made.seconds:.0f} s,"
            f" {made.verdict}"
        )
        return made

    def _going(self, deploy: Mortal, began: float) -> bool:
        return deploy.code is None and time.monotonic() - began < _RUN_SECONDS

    def _note(self, made: FaultTrial, where: str) -> None:
        if where:
            made.kills.append(where)
            self.tell(f"  {made.run}: {where}")

    def _fault(self, kind: str, deploy: Mortal, began: float, points: tuple[str, ...]) -> str:
        """Kill a process of a kind, by its own hand at a random point or from outside now, and
        start it again; say where.
        """
        if deploy.code is not None:
            return ""
        name = str(self.random.choice(sorted(self.field.sites)))
        one = {"site": self.field.sites[name], "deploy": deploy, "server": self.field.link}[kind]
        who = f"site {name}" if kind == "site" else kind
        if points and (points == FIRST_SITE_POINTS or self.random.random() < _BY_ITS_OWN_HAND):
            where = str(self.random.choice(points))
            one.tell(where)
            if not one.died_there(
                _POINT_SECONDS, lambda: kind == "deploy" or self._going(deploy, began)
            ):
                return ""
        else:
            where = "at some moment"
            one.kill()
            if kind == "deploy" and one.code == 0:
                return ""
        time.sleep(float(self.random.uniform(0.0, 1.0)))
        one.start()
        if kind == "server":
            fields.until(self.field.link_is_up, "the server is up again")
        return f"{who} killed {where}"


def run_of(place: Path) -> str:
    """Name of a run in ledgers."""
    return str(json.loads((place / DEPLOYMENT).read_bytes())["run"])
