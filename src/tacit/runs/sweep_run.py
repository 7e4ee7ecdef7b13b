"""Worker process of a sweep: reads plans and writes progress as lines of JSON."""

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
from tacit.tracking import track


class _Reporter(simulation.Silence):
    """Reports each round with the peak memory of the process."""

    def entry(self, entry: Entry) -> None:
        """Report a round of the run itself."""
        if isinstance(entry, Round) and entry.arm == RUN:
            _report(
                round=entry.round_no,
                rounds=entry.rounds,
                peak=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            )


def main() -> None:
    """Start or resume the run of each line of stdin."""
    children.end_with(int(sys.argv[1]))
    try:
        with children.stoppable():
            for line in sys.stdin:
                _run(**json.loads(line))
    except KeyboardInterrupt:
        return


def _run(plan: dict[str, Any], root: str, folder: str | None) -> None:
    try:
        wanted = plans.parse(plan)
        targets = wanted.track.list_targets() if wanted.track else ()
        with track(targets, _Reporter(), lambda text: _report(warning=text)) as watching:
            if folder:  # its plan is the requested one, so its code is allowed
                place = simulation.resume(Path(folder), watching, allow_code=True)
            else:
                place = simulation.start(wanted, Path(root), watching)
        _report(done=str(place))
    except TacitError as error:
        _report(error=str(error))


def _report(**what: object) -> None:
    print(json.dumps(what), flush=True)
