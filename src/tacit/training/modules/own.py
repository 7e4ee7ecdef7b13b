"""Users' own modules: imported, tried on a few rows, and rejected with a clear error before
training starts.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from tacit import extensions
from tacit.errors import PlanError
from tacit.extensions import Reference
from tacit.plan import OwnModule

_REDRAWN, _SPREAD = 8, 2.0
"""Number of random sets of weights that distinguish logits from probabilities, and their standard
deviation.
"""


def import_class(model: OwnModule) -> type[nn.Module]:
    """Import the class that a plan names."""
    kind = extensions.load("model.name", Reference(model.name))
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise PlanError(
            f"model.name = {model.name!r} must name a subclass of torch.nn.Module, but it names a "
            f"{kind!r}"
        )
    return kind


def build_own_module(kind: Any, name: str, inputs: int, outputs: int) -> nn.Module:
    """Instantiate a user's class with the arguments `inputs` and `outputs`."""
    try:
        made: nn.Module = kind(inputs=inputs, outputs=outputs)
    except TypeError as error:
        raise PlanError(
            f"model.name = {name!r} must be a class with the arguments inputs and outputs, but"
            f" constructing it raised {error}; give it these, or pass the module itself in Python,"
            " as module=…"
        ) from error
    return made


def refuse_private_parameters(module: object, name: str) -> None:
    """Raise PlanError if a module, or its class, declares private parameters: under a plan that
    has none they would be sent.
    """
    declared = tuple(getattr(module, "private_parameters", ()))
    if declared:
        raise PlanError(
            f"model {name.partition('@')[0]!r} declares private parameters ({', '.join(declared)}), and the plan would"
            f" send them; name them in private.parameters = {list(declared)}"
        )


def check_module(module: nn.Module, name: str) -> nn.Module:
    """Refuse a module that cannot be averaged: running statistics, or parameters that are not
    float32.
    """
    running = [key for key, buffer in module.named_buffers() if buffer.is_floating_point()]
    if running:
        raise PlanError(
            f"model {name!r} keeps running statistics ({running[0]}), which are neither trained nor"
            " averaged and describe the client's rows; use GroupNorm or LayerNorm in place of"
            " BatchNorm"
        )
    odd = [key for key, parameter in module.named_parameters() if parameter.dtype != torch.float32]
    if odd:
        raise PlanError(
            f"model {name!r}: its parameters must be float32, got"
            f" {module.get_parameter(odd[0]).dtype} in {odd[0]}; call .float() on it"
        )
    if not list(module.parameters()):
        raise PlanError(f"model {name!r} has no parameters to train")
    return module


def try_module(module: nn.Module, name: str, batch: tuple[torch.Tensor, ...], outputs: int) -> None:
    """Raise PlanError if a module fails on some rows or does not return logits; data is never
    quoted.

    For two classes a module returns one logit per row, or two.
    """
    _refuse_pretrained(module, name)
    given = " and ".join(
        f"{tuple(part.shape)} of {str(part.dtype).removeprefix('torch.')}" for part in batch
    )
    rows = len(batch[0])
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            made = module.eval()(*batch)
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise PlanError(  # what the module says itself might quote a cell
            f"model {name!r} needs to read rows as a tensor of shape {given} (rows, then inputs),"
            f" got {type(error).__name__}; make its first layer fit {batch[0].shape[-1]:,} inputs"
        ) from error
    finally:
        module.train()
    if not isinstance(made, torch.Tensor):
        raise PlanError(
            f"model {name!r} must return a tensor of logits, but it returns a "
            f"{type(made).__name__}; return its logits alone"
        )
    wanted = (1, 2) if outputs == 1 else (outputs,)
    if made.numel() not in {rows * each for each in wanted} or (
        made.ndim > 1 and len(made) != rows
    ):
        raise PlanError(
            f"model {name!r} needs to return {' or '.join(map(str, wanted))} logits for each row,"
            f" got shape {tuple(made.shape)} for {rows} rows; make its last layer fit the"
            f" {max(2, outputs)} classes"
        )
    if _returns_probabilities(module, batch, made):
        raise PlanError(
            f"model {name!r} must return logits, but it returns probabilities: its outputs stay "
            "between 0 and 1 whatever its weights are; remove the softmax or sigmoid at its end, "
            "because the loss and the predictions apply it"
        )


def _refuse_pretrained(module: nn.Module, name: str) -> None:
    """Refuse a Hugging Face transformers model: it needs its own tokenizer, which it does not
    contain.
    """
    if any(kind.__module__.split(".")[0] == "transformers" for kind in type(module).__mro__):
        raise PlanError(
            f"model {name!r} is one of Hugging Face's transformers, which reads word pieces of its"
            " own tokenizer; save model and tokenizer to a folder (save_pretrained), and run a"
            " plan with tacit.Features(text='pieces') and tacit.Encoder(checkpoint=FOLDER)"
        )


def _returns_probabilities(
    module: nn.Module, batch: tuple[torch.Tensor, ...], made: torch.Tensor
) -> bool:
    """Return whether outputs lie in [0, 1] with the module's own weights and with eight random sets
    of weights.

    Logits that do so by accident leave this range with other weights. Log-softmax outputs are
    accepted: loss and predictions are the same as for the logits.
    """
    if not bool(((made >= 0) & (made <= 1)).all() and (made > 0).any()):
        return False
    other = copy.deepcopy(module).eval()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        for _ in range(_REDRAWN):
            for parameter in other.parameters():
                parameter.copy_(torch.randn_like(parameter) * _SPREAD)
            again = other(*batch)
            if not bool(((again >= 0) & (again <= 1)).all()):
                return False
    return True


def to_logits(made: torch.Tensor, outputs: int) -> torch.Tensor:
    """Return one logit per row for two classes, else one per class; two logits for two classes
    become their difference.
    """
    if outputs == 1 and made.ndim == 2 and made.shape[1] == 2:
        return made[:, 1:] - made[:, :1]
    return made.reshape(-1, outputs)
