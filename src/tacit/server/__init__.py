"""One aggregated update becomes the next model: cohort choice, the server's step, stopping, measuring."""

from tacit.server.cohort import choose
from tacit.server.measure import measure
from tacit.server.shared import Own, with_own
from tacit.server.step import ServerState, initial_state, step
from tacit.server.stopping import should_stop
from tacit.server.votes import Ballots, Decision, assigned, decide

__all__ = [
    "Ballots", "Decision", "Own", "ServerState", "assigned", "choose", "decide", "initial_state", "measure", "should_stop", "step",
    "with_own",
]  # fmt: skip
