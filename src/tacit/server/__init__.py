"""One aggregated update becomes the next model: cohort choice, weights, the server's step, stopping, measuring."""

from tacit.server.cohort import choose
from tacit.server.measure import measure
from tacit.server.step import ServerState, initial_state, step
from tacit.server.stopping import should_stop
from tacit.server.weights import weights_for

__all__ = ["ServerState", "choose", "initial_state", "measure", "should_stop", "step", "weights_for"]
