"""[public]: rows that are at the center in the clear, and the first model made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from tacit.plan.codec import readable
from tacit.plan.kinds import STRICT, Count, Name, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Public:
    """Rows that are at the center in the clear: it trains the first model on them. Without this
    table the first model is random.
    """

    source: Name | None = None
    """Another set, by name or as a file, whose rows are public: it has the same columns, and no
    other classes. Without it, some of the train rows are taken to be public.
    """
    share: Annotated[float, Gt(0), Le(1)] = 0.01
    """Share of the train rows that the center has and no client, drawn before rows are given to
    clients; or of the rows of `source`.
    """
    epochs: Count = 3
    """Passes over them; the model after the best of them is kept, as a tenth of these rows that is
    held out says.
    """
    lr: Positive = 1e-3
    """The center's learning rate."""
    batch: Count = 32
    """Rows per batch."""
    last_layer: Literal["random", "zero"] = "random"
    """What the last layer is before the first pass. From zero a few passes give a model that is
    never sure without reason.
    """
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    """The center's optimiser; it starts anew with each pass."""
    weight_decay: Annotated[float, Ge(0)] = 0.0
    """`adamw`: its weight decay."""


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each way in which a first model made of public rows has no meaning
    here.
    """
    public, found = plan.public, list[str]()
    if public is None:
        return found
    if plan.personal:
        found.append(
            "public: has no meaning where words or parameters stay with each client; remove the"
            " table"
        )
    if not readable(plan.codec):
        name = plan.codec.name
        found.append(
            "public: needs a codec the server can read, since it would know the first model; got"
            f" tokens ({name!r})"
        )
    if plan.features.quantise is not None and plan.features.quantise.trained_on == "tokens":
        found.append(
            "public: needs features the center can make too; got features.quantise.trained_on ="
            " 'tokens', which takes a secret"
        )
    if public.source is None and public.share == 1:
        found.append(
            "public.share: needs a value below 1 without public.source, or no client would have a"
            " row; got 1"
        )
    if public.weight_decay > 0 and public.optimizer != "adamw":
        found.append(
            f"public.weight_decay: has no meaning with public.optimizer = {public.optimizer!r}; use"
            " 'adamw' or remove it"
        )
    return found
