"""From updates to the next model: cohort selection, robust aggregation rules, server
optimiser, stopping, evaluation.
"""

from tacit.server.cohort import choose_cohort
from tacit.server.evidence import Evidence, compute_needed_evidence
from tacit.server.measure import compute_loss, count_by_class, measure, predict_classes
from tacit.server.optimizers import FIRST, ServerOptimizer, ServerState, build_optimizer
from tacit.server.rules import MEMORY, TrustedReference, Updates, combine, get_rule
from tacit.server.rules.matrix import Floats, Matrix
from tacit.server.shared import ServerUpdate, add_server_update
from tacit.server.soften import soften_model
from tacit.server.stopping import should_stop
from tacit.server.votes import (
    Ballots,
    Decision,
    assign_testers,
    choose_threshold,
    decide,
    limit_rejected,
)

__all__ = [
     "FIRST",
     "MEMORY",
     "Ballots",
     "Decision",
     "Evidence",
     "Floats",
     "Matrix",
     "ServerOptimizer",
     "ServerState",
     "ServerUpdate",
     "TrustedReference",
     "Updates",
     "add_server_update",
     "assign_testers",
     "build_optimizer",
     "choose_cohort",
     "choose_threshold",
     "combine",
     "compute_loss",
     "compute_needed_evidence",
     "count_by_class",
     "decide",
     "get_rule",
     "limit_rejected",
     "measure",
     "predict_classes",
     "should_stop",
     "soften_model",
]  # fmt: skip
