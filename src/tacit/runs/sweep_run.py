"""The process that carries out runs of a sweep: each plan comes as a line of JSON, and so does what
is told of it.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from tacit import plan as plans
from tacit import simulation
from tacit.errors import TacitError
from tacit.runs.record import RUN, Entry, Round
from tacit.simulation.workers import children


class _Teller(simulation.Silence):
    """Tells each round, and how much memory the process has taken at most."""

    def entry(self, entry: Entry) -> None:
        """Tell a round of the run itself."""
        if isinstance(entry, Round) and entry.arm == RUN:
            _tell(
                round=entry.round_no,
                rounds=entry.rounds,
                peak=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            )


def main() -> None:
    """Run or take up what each line of stdin asks for, until there is none."""
    children.end_with(int(sys.argv[1]))
    try:
        with children.stoppable():
            for line in sys.stdin:
                _answer(**json.loads(line))
    except KeyboardInterrupt:
        return


def _answer(plan: dict[str, Any], root: str, folder: str | None) -> None:
    try:
        if folder:  # its plan is the one that was asked for, code included
            place = simulation.resume(Path(folder), _Teller(), allow_code=True)
        else:
            place = simulation.start(plans.parse(plan), Path(root), _Teller())
        _tell(done=str(place))
    except TacitError as error:
        _tell(error=str(error))


def _tell(**what: object) -> None:
    print(json.dumps(what), flush=True)
