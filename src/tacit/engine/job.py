"""A whole run: the plan's arms one after the other, from the last checkpoint on."""

from __future__ import annotations

from pathlib import Path

from tacit import plan as plans
from tacit import record
from tacit.draws import Draws
from tacit.engine import checkpoint, run_folder
from tacit.engine.arm import Arm, Desk
from tacit.engine.arms import arms_of
from tacit.engine.checkpoint import Checkpoint
from tacit.engine.prepare import prepare
from tacit.engine.watch import Silence, Watch
from tacit.errors import RunError, TacitError
from tacit.plan import GIVEN, Plan


def start(
    plan: Plan, root: Path = Path("runs"), watch: Watch | None = None, given: object | None = None, module: object | None = None
) -> Path:
    """Run a plan to its end in a new folder and return the folder."""
    plans.check(plan)
    place = run_folder.create(plan, root)
    watch = watch or Silence()
    watch.opened(place)
    try:
        return Job(place, plan, watch, given, module).run()
    except TacitError:
        if not (place / checkpoint.NAME).exists():  # nothing was trained: the folder would only be in the way
            run_folder.remove(place)
        raise


def resume(place: Path, watch: Watch | None = None, given: object | None = None, module: object | None = None) -> Path:
    """Take a run up where its last checkpoint left it and run it to its end; a finished run is left as it is."""
    plan = run_folder.plan_of(place)
    if plan.data.source == GIVEN and given is None:
        raise RunError(f"{place}: its rows were handed over in Python; resume it there with tacit.resume(folder, rows=…)")
    watch = watch or Silence()
    watch.opened(place)
    return Job(place, plan, watch, given, module).run()


class Job:
    """One run in one folder."""

    def __init__(self, place: Path, plan: Plan, watch: Watch, given: object | None, module: object | None) -> None:
        self.place, self.plan, self.watch = place, plan, watch
        self.given, self.module = given, module
        self.draws = Draws.seeded(plan.seed)
        self.arms = arms_of(plan)

    def run(self) -> Path:
        """Run what is left of every arm."""
        checkpointed = self._recover()
        if checkpointed and checkpointed.place.arm == _ALL_DONE:
            return self.place
        writer = record.Writer(self.place / run_folder.RECORD)
        desk = Desk(place=self.place, plan=self.plan, draws=self.draws, writer=writer, watch=self.watch, module=self.module)
        try:
            ground = prepare(self.plan, self.draws, self.given, self.watch.fetched)
            names = list(self.arms)
            left = names[names.index(checkpointed.place.arm) :] if checkpointed else names
            for name in left:
                begun = checkpointed if checkpointed and checkpointed.place.arm == name else None
                following = names[names.index(name) + 1] if name != names[-1] else _ALL_DONE
                Arm(desk, name, self.arms[name], ground).run(begun, following)
        finally:
            writer.close()
        return self.place

    def _recover(self) -> Checkpoint | None:
        """Cut the record back to the last checkpoint and return it; None if no round was ever begun."""
        path = self.place / run_folder.RECORD
        if not (self.place / checkpoint.NAME).exists():
            path.unlink(missing_ok=True)
            return None
        last = checkpoint.read(self.place)
        record.cut(path, last.place.record_length)
        return last


_ALL_DONE = "(all done)"
"""Where a checkpoint points when no arm is left."""
