"""Local training: a client's rows in, one update out.

Feed-forward nets are trained by compiled kernels (threads, no interpreter lock); any other
nn.Module runs in PyTorch (processes). The model decides which; the plan has no setting for it.
Parameters that stay with a client never enter the flat vector that is sent.
"""

from __future__ import annotations

from tacit import plan
from tacit.rows import Clients, Mixed, Rows
from tacit.training.contract import (
    Figures,
    Group,
    HeadedLearner,
    Home,
    Learner,
    PersonalWorker,
    Tests,
    Update,
    Worker,
)
from tacit.training.effort import count_trained_rows, local_steps, parameter_floor
from tacit.training.flatten import flatten_parameters
from tacit.training.head import (
    HeadPlace,
    Labels,
    Matrix,
    Steps,
    append_ones,
    compute_losses,
    stack_heads,
    train_head,
)
from tacit.training.last_part import LastPart, PartPlace, PartRows, train_part
from tacit.training.weights import compute_weights

__all__ = [
    "Figures",
    "Group",
    "HeadPlace",
    "HeadedLearner",
    "Home",
    "Labels",
    "LastPart",
    "Learner",
    "Matrix",
    "PartPlace",
    "PartRows",
    "PersonalWorker",
    "Steps",
    "Tests",
    "Update",
    "Worker",
    "append_ones",
    "build",
    "compute_losses",
    "compute_weights",
    "count_trained_rows",
    "flatten_parameters",
    "local_steps",
    "parameter_floor",
    "stack_heads",
    "train_head",
    "train_part",
]  # fmt: skip


def build(
    model: plan.Model,
    local: plan.Local,
    rows: Rows,
    clients: Clients,
    module: object | None = None,
    home: Home | None = None,
) -> Learner:
    """Build the learner for a plan's model over a site's rows, which are in client order.

    With `home` the learner is personal: parameters named in the plan's [private] table stay there.
    """
    if home is not None:
        from tacit.training.private.learner import PartialLearner

        return PartialLearner(model, local, rows, clients, module, home)
    if module is None and isinstance(model, plan.Compiled) and not isinstance(rows.inputs, Mixed):
        from tacit.training.compiled.learner import CompiledLearner

        return CompiledLearner(model, local, rows, clients)
    from tacit.training.modules.learner import TorchLearner

    return TorchLearner(model, local, rows, clients, module)
