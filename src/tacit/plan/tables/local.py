"""[local]: a client's training in one round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, assert_never

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Positive
from tacit.plan.tables.model import Compiled, Worded

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Local:
    """A client's training in one round."""

    method: Literal["fedavg", "fedprox"] = "fedavg"
    """Federated averaging, or FedProx, which adds a proximal term towards the server's model."""
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    """The client's optimiser."""
    lr: Positive = 1e-3
    """Its learning rate."""
    epochs: Count | None = None
    """Passes over the client's rows per round. Without `epochs` and `steps`: one."""
    steps: Count | None = None
    """Instead of `epochs`: this number of batches per round."""
    batch: Count | None = None
    """Rows per batch. Without `batch` and `batches`: 32."""
    batches: Count | None = None
    """Instead of `batch`: this number of batches per epoch, for every client."""
    proximal: Annotated[float, Ge(0)] = 0.0
    """`fedprox`: coefficient of the proximal term."""
    weight_decay: Annotated[float, Ge(0)] = 0.0
    """`adamw`: its weight decay. `adam`: coefficient of L2 regularisation (models that train in
    PyTorch).
    """
    table_lr: Annotated[float, Ge(0)] | None = None
    """Learning rate of shared word embeddings (`bilstm`, `encoder`); default: `lr`. 0 freezes them.
    Private embeddings use `private.lr`.
    """
    schedule: Literal["constant", "linear"] = "constant"
    """Keep the learning rate constant, or decay it linearly to zero over a round (models with
    private parameters).
    """
    normalise: bool = False
    """Scale each update to L2 norm 1, so that every client has the same influence."""
    row_scale: Literal["mean", "root"] = "mean"
    """`root` multiplies each update by the square root of the client's number of rows. Gradients of
    different rows partly cancel in their mean, so a clip then has the same effect on clients with
    few and with many rows. `mean` leaves updates unchanged.
    """
    clip_norm: Positive | None = None
    """Maximum norm of a step's gradient, separately for shared and private parameters (models with
    private parameters).
    """


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    local, found = plan.local, []
    if local.epochs and local.steps:
        found.append("local.steps cannot be combined with local.epochs; remove one of them")
    if local.batch and local.batches:
        found.append("local.batches cannot be combined with local.batch; remove one of them")
    match local.method:
        case "fedavg":
            if local.proximal > 0:
                found.append(
                    "local.proximal cannot be used with local.method = 'fedavg'; use method ="
                    " 'fedprox' or remove it"
                )
        case "fedprox":
            if local.proximal == 0:
                found.append(
                    "local.proximal must be greater than 0 with local.method = 'fedprox', got 0"
                    " (0.1 is usual)"
                )
        case _:
            assert_never(local.method)
    if local.method != "fedavg" and plan.regime != "federated":
        found.append(
            f"local.method = {local.method!r} cannot be used with regime = {plan.regime!r}, which"
            " has no rounds; remove it"
        )
    found += [*_decay_problems(plan), *_table_problems(plan)]
    if local.normalise and (plan.personal or plan.regime != "federated"):
        found.append(
            "local.normalise requires regime = 'federated' and a model without private parameters;"
            " remove it"
        )
    if local.row_scale == "root" and (plan.personal or plan.regime != "federated"):
        found.append(
            "local.row_scale requires regime = 'federated' and a model without private parameters;"
            " remove it"
        )
    if local.row_scale == "root" and local.normalise:
        found.append(
            "local.row_scale cannot be combined with local.normalise, which removes any scale;"
            " remove one of them"
        )
    if not plan.personal:
        for key, unset in (("schedule", "constant"), ("clip_norm", None)):
            if getattr(local, key) != unset:
                found.append(
                    f"local.{key} requires model.name = 'bilstm' or 'encoder', or"
                    " private.parameters; remove it"
                )
    return found


def _decay_problems(plan: Plan) -> list[str]:
    local = plan.local
    if not local.weight_decay or local.optimizer == "adamw":
        return []
    if local.optimizer == "adam" and (plan.personal or not isinstance(plan.model, Compiled)):
        return []
    return [
        f"local.weight_decay cannot be used with local.optimizer = {local.optimizer!r} and"
        f" model.name = {plan.model.name!r}; use 'adamw' or remove it"
    ]


def _table_problems(plan: Plan) -> list[str]:
    if plan.local.table_lr is None or (
        isinstance(plan.model, Worded) and plan.private.words != "all"
    ):
        return []
    return [
        "local.table_lr requires shared word embeddings: model.name = 'bilstm' or 'encoder', and"
        f" private.words = 'none' or 'digits'; got {plan.model.name!r} and"
        f" {plan.private.words!r}"
    ]
