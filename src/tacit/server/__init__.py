"""One aggregated update becomes the next model: cohort choice, weights, the server's step, stopping, measuring."""

from tacit.server.cohort import choose
from tacit.server.measure import measure
from tacit.server.shared import Own, with_own
from tacit.server.step import ServerState, initial_state, step
from tacit.server.stopping import should_stop
from tacit.server.weights import weights_for

__all__ = ["Own", "ServerState", "choose", "initial_state", "measure", "should_stop", "step", "weights_for", "with_own"]
