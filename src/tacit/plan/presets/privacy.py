"""[privacy]: a privacy guarantee from which a preset computes every unset setting.

`private` is noisy gradient descent over all clients. Its settings follow from q = epsilon · clients
/ 5000 and from whether rows are text (`plan/presets/private_rule.py`). A plan says epsilon, never a
standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.errors import PlanError
from tacit.plan.kinds import STRICT, Count, Per
from tacit.plan.presets.network_rule import fill_in_network
from tacit.plan.presets.private_rule import Rule, encoder_rule, inputs_of, lacks_inputs, rule
from tacit.plan.presets.text_rule import PIECES, choose_encoder_norm, choose_text_form

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

Preset = Literal[
    "private",
    "no_trust",
    "none",
    "paper:rr-ldp",
    "paper:fedvocab",
    "paper:partfed",
    "paper:hashcomb",
    "paper:lazyinf",
]
Tree = dict[str, Any]
_PROMISING = ("private", "no_trust")
"""Presets with an epsilon per run; the pages of the others state their guarantees."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Privacy:
    """The privacy guarantee of each client; settings that the plan leaves unset are computed from
    it.
    """

    preset: Preset = "private"
    """`private`: client-level differential privacy for the whole run, with noise on sums (central
    DP). `no_trust`: the same with noise that each client adds (local DP). `paper:…`: the settings
    of a published system. `none`: updates in the clear.
    """
    epsilon: Annotated[float | None, Ge(1e-3), Le(50), Per("run")] = None
    """`private`, `no_trust`: privacy loss of a client over all rounds, **per run**; default: 8. The
    other presets guarantee no such number and take none.
    """
    delta: Annotated[float | None, Gt(0), Lt(0.5)] = None
    """`private`: probability that the loss is larger; default: 1e-5. `no_trust` has no delta."""
    clients: Count | None = None
    """Number of clients, if `data.partition = "client"`. It should be known without looking at the
    rows.
    """


def expanded(tree: Tree, where: str = "plan") -> Tree:
    """A plan's tables with the settings that its preset computes; unchanged without [privacy]."""
    asked = tree.get("privacy")
    if not isinstance(asked, dict):
        return tree
    name = asked.get("preset", "private")
    if name not in _PRESETS:
        if name in get_args(Preset):
            raise PlanError(
                f"{where}: 1 problem\n  privacy.preset = {name!r} sets nothing, so it has no"
                " guarantee; use another preset"
            )
        return tree  # a word that is no preset is named where the table is read
    if _nobody_counted(asked, tree):
        raise PlanError(
            f"{where}: 1 problem\n  privacy.clients is required with data.partition = 'client': the"
            " number of clients"
        )
    if name in _PROMISING and "statistics" not in tree and lacks_inputs(tree):
        raise PlanError(
            f"{where}: 1 problem\n  data.columns is required with privacy.preset = {name!r} and"
            f" data.source = {_own(tree, 'data')['source']!r}: the settings depend on what the"
            " columns are, and a data set of another package is not imported to read a plan"
        )
    return _merge_tables(tree, fill_in(tree))


def fill_in(tree: Tree) -> Tree:
    """The settings that a plan's preset computes; empty without a preset.

    With a guarantee they include the number of clients that they are computed for.
    """
    asked = tree.get("privacy")
    name = asked.get("preset", "private") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or name not in _PRESETS:
        return {}
    filled = _PRESETS[name](asked, tree)
    clients = _clients(asked, tree)
    if (
        name not in _PROMISING
        or "privacy" not in filled
        or clients is None
        or _own(tree, "data").get("partition") == "client"
    ):
        return filled
    return {**filled, "privacy": {**filled["privacy"], "clients": clients}}


def problems(plan: Plan) -> list[str]:
    """List settings that contradict the guarantee of [privacy], one sentence each."""
    asked, codec = plan.privacy, plan.codec
    if asked is None:
        return []
    if plan.regime == "federated" and _lacks_settings(plan):
        return [_refuse_unfilled(asked)]
    if (
        asked.preset in _PROMISING
        and plan.data.partition != "client"
        and asked.clients not in (None, plan.data.clients)
    ):
        return [
            f"privacy.clients: the settings of this plan were computed for {asked.clients:,}"
            f" clients, but data.clients = {plan.data.clients:,};"
            f" plan.with_settings('data.clients={plan.data.clients}') recomputes them, and"
            f" privacy.clients = {plan.data.clients} keeps them"
        ]
    if asked.preset not in _PROMISING:
        return [
            f"privacy.{key} requires preset = 'private' or 'no_trust', since {asked.preset!r}"
            f" guarantees no {key} per run; got {value:g}; remove it"
            for key, value in (("epsilon", asked.epsilon), ("delta", asked.delta))
            if value is not None
        ]
    if plan.regime != "federated":
        return []
    if asked.epsilon is None or (asked.delta is None and asked.preset == "private"):
        return [_refuse_unfilled(asked)]  # the tables were made in Python
    unit, kept = getattr(codec, "unit", ""), float(getattr(codec, "epsilon", math.inf))
    stated = asked.epsilon
    if plan.features.is_bought and asked.delta is not None:
        stated = split_loss(asked.epsilon, asked.delta, plan.features.fit_share)[1]["epsilon"]
    if asked.preset == "private" and (unit, kept, getattr(codec, "delta", None)) != (
        "run",
        stated,
        asked.delta,
    ):
        return [
            f"codec must guarantee privacy.epsilon = {asked.epsilon:g} per run at privacy.delta ="
            f" {asked.delta:g}, such as 'dp_sum', 'onebit', 'skellam' or 'gaussian'; got"
            f" {_describe_guarantee(codec)}; change privacy.epsilon and privacy.delta, from which codec.epsilon"
            " and codec.delta follow"
        ]
    if asked.preset == "no_trust" and (
        unit != "update" or kept * plan.server.rounds > asked.epsilon * (1 + 1e-9)
    ):
        return [
            "codec must have an epsilon per update whose product with server.rounds is at most"
            f" privacy.epsilon = {asked.epsilon:g} per run, such as 'projunit' or 'rr_sampled'; got"
            f" {_describe_guarantee(codec)}; change privacy.epsilon, from which codec.epsilon follows"
        ]
    return []


def _lacks_settings(plan: Plan) -> bool:
    """Whether the codec is the one of a plan without a preset, which no preset computes."""
    from tacit.plan.codec import RR

    return plan.codec == RR(epsilon=1.0, clip=1e-3)


def _refuse_unfilled(asked: Privacy) -> str:
    """Say how a plan from Python gets the settings of a preset."""
    named = [f"'privacy.preset={asked.preset}'"]
    named += [
        f"'privacy.{key}={value:g}'"
        for key in ("epsilon", "delta", "clients")
        if (value := getattr(asked, key)) is not None
    ]
    return (
        "privacy: tacit.Plan(privacy=…) sets a guarantee but computes no settings from it; leave"
        f" privacy out and call tacit.Plan(…).with_settings({', '.join(named)})"
    )


def _describe_guarantee(codec: object) -> str:
    """The guarantee of a codec, in words."""
    loss = [f"{key} {getattr(codec, key):g}" for key in ("epsilon", "delta") if hasattr(codec, key)]
    unit = f" per {getattr(codec, 'unit', '')}" if loss else ""
    return f"{getattr(codec, 'name', '')!r}" + (f" with {' and '.join(loss)}{unit}" if loss else "")


def _nobody_counted(asked: Tree, tree: Tree) -> bool:
    return (
        _own(tree, "data").get("partition") == "client"
        and "clients" not in asked
        and asked.get("preset", "private") in _PROMISING
    )


def _merge_tables(tree: Tree, filled: Tree) -> Tree:
    """Add the keys that the plan does not set; if it names another model or codec, only those that
    it accepts.
    """
    made = dict(tree)
    for name, table in filled.items():
        own = made.get(name, {})
        if isinstance(own, dict):  # else the plan is refused where it is checked
            made[name] = {**_fitting(name, own, table), **own}
    return made


def _fitting(name: str, own: Tree, table: Tree) -> Tree:
    chosen = own.get("name", table.get("name"))
    if chosen == table.get("name"):
        return table
    known = _list_keys(name, chosen)
    return {key: value for key, value in table.items() if key in known and key != "name"}


def _list_keys(table: str, chosen: object) -> frozenset[str]:
    """The keys that the table of a model or codec with this name accepts."""
    from tacit.plan.codec import Codec
    from tacit.plan.kinds import list_fields, tables_in
    from tacit.plan.tables.model import Model

    kinds = tables_in(Codec if table == "codec" else Model)
    return frozenset(list_fields(kinds[str(chosen)])) if str(chosen) in kinds else frozenset()


def _private(asked: Tree, tree: Tree, *, may_encode: bool = True) -> Tree:
    clients = _clients(asked, tree)
    epsilon, delta = _number(asked, "epsilon", 8.0), _number(asked, "delta", 1e-5)
    if clients is None or epsilon is None or delta is None:
        return {}  # what is wrong with the plan is said where it is checked
    promise: Tree = {"epsilon": epsilon, "delta": delta}
    features_share = find_fit_share(tree)
    left = promise if features_share is None else split_loss(epsilon, delta, features_share)[1]
    codec: Tree = {"name": "dp_sum", **left, "clip": 1.0}
    if "statistics" in tree:
        return {"privacy": promise, "codec": codec}
    if _own(tree, "model").get("name", "logistic") != "logistic":
        return {"privacy": promise, "codec": codec, **fill_in_network(tree)}
    inputs = inputs_of(tree)
    own, text = _own(tree, "features"), inputs.text
    form = choose_text_form(epsilon, clients, own if may_encode else {"text": "listed", **own})
    is_encoded = text and form == "encoder"
    found = encoder_rule(epsilon, clients) if is_encoded else rule(epsilon, clients, inputs)
    features: Tree = {"constant": found.constant, **({} if inputs.norm else {"row_norm": 1.0})}
    if text:
        features |= _fill_in_text(form, found, epsilon * clients / 5000)
    elif "quantise" not in _own(tree, "features"):
        features["numeric"] = "robust"
    return {
        **({} if features_share is None else {"data": {"decimal": "point"}}),
        "privacy": promise,
        "features": features,
        "model": {"name": "logistic", "bias": False, "start": "zero"},
        "local": {
            "optimizer": "sgd",
            "lr": found.local_rate,
            "epochs": 1,
            "batches": 1,
            **_choose_row_scale(tree),
        },
        "codec": codec,
        "server": {
            "rounds": found.rounds,
            "optimizer": "momentum",
            "momentum": found.momentum,
            "lr": found.rate,
            "soften": found.soften,
            "evaluate_every": min(10, _rounds(tree, found.rounds)),
        },
    }


def _fill_in_text(form: str, found: Rule, q: float) -> Tree:
    """The settings of text features of one form."""
    encoder: Tree = {"text": form, "length": PIECES} if form.startswith("encoder") else {}
    if form == "encoder":
        return encoder
    words: Tree = {**encoder, "buckets": found.words}
    if encoder:
        words["encoder_norm"] = choose_encoder_norm(q)
    if form in ("listed", "encoder+listed"):
        return {**words, "text": form, "list": "en", "rarity": found.rarity}
    return words


def _choose_row_scale(tree: Tree) -> Tree:
    """The row scale of clipped updates; none where the plan itself normalises them, since the two
    exclude each other.
    """
    return {} if _own(tree, "local").get("normalise") else {"row_scale": "root"}


def _own(tree: Tree, name: str) -> Tree:
    """A table of the plan as written; empty if there is none."""
    found = tree.get(name, {})
    return found if isinstance(found, dict) else {}


def _rounds(tree: Tree, default: int) -> int:
    """The number of rounds that the plan itself sets, else the default."""
    number = _own(tree, "server").get("rounds", default)
    return number if isinstance(number, int) and number > 0 else default


def _clients(asked: Tree, tree: Tree) -> int | None:
    number = asked.get("clients", _own(tree, "data").get("clients", 100))
    return number if isinstance(number, int) and number > 0 else None


def _number(asked: Tree, key: str, default: float) -> float | None:
    value = asked.get(key, default)
    return float(value) if isinstance(value, int | float) and value > 0 else None


def find_fit_share(tree: Tree) -> float | None:
    """The part of the guarantee that features cost; None where none are bought."""
    features = _own(tree, "features")
    if features.get("fit") != "private":
        return None
    share = features.get("fit_share", 0.1)
    return float(share) if isinstance(share, int | float) and 0 < share < 1 else None


def split_loss(epsilon: float, delta: float, share: float) -> tuple[Tree, Tree]:
    """The losses of features and of training that compose to `epsilon` at `delta`, each at `delta`.

    Gaussian releases with multipliers z and w compose to one with 1 / √(1/z² + 1/w²), exactly.
    """
    from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier, compute_epsilon

    multiplier = calibrate_multiplier(epsilon, delta)
    parts = (multiplier / math.sqrt(share), multiplier / math.sqrt(1 - share))
    features, training = (
        {"epsilon": max(1e-3, math.floor(1e6 * compute_epsilon(delta, part)) / 1e6), "delta": delta}
        for part in parts
    )
    return features, training


def _fill_no_trust(asked: Tree, tree: Tree) -> Tree:
    """Few rounds of a model with few words, in which each client randomises its own update."""
    epsilon, rounds = _number(asked, "epsilon", 8.0), 5
    if epsilon is None or not (filled := _private(asked, tree, may_encode=False)):
        return {}
    codec = {"name": "projunit", "epsilon": epsilon / _rounds(tree, rounds), "clip": 1.0}
    promise = {"epsilon": epsilon}
    if _own(tree, "model").get("name", "logistic") != "logistic":
        return {"privacy": promise, "codec": codec, "server": {"rounds": rounds}}
    server = {
        **filled["server"],
        "rounds": rounds,
        "momentum": 0.8,
        "evaluate_every": 1,
        "lr": 20.0,
        "soften": 0.0,
    }
    features = {**filled["features"], "buckets": 5000, "row_norm": 1.0, "constant": 0.1}
    local = {
        "optimizer": "sgd",
        "lr": 1.0,
        "epochs": 1,
        "batches": 1,
        "normalise": True,
    }  # `projunit` sends a direction
    return {
        **filled,
        "privacy": promise,
        "features": features,
        "local": local,
        "codec": codec,
        "server": server,
    }


_PRESETS: dict[Preset, Callable[[Tree, Tree], Tree]] = {
    "private": _private,
    "no_trust": _fill_no_trust,
    "none": lambda asked, tree: {"codec": {"name": "plain"}},
    "paper:rr-ldp": lambda asked, tree: {
        "features": {"text": "binary", "buckets": 5000},
        "model": {"name": "mlp", "hidden": [100, 50, 25]},
        "local": {"optimizer": "adam", "lr": 1e-3, "epochs": 3, "batches": 5},
        "codec": {"name": "rr", "epsilon": 1.0, "clip": 3e-3},
        "server": {"rounds": 25},
    },
    "paper:fedvocab": lambda asked, tree: {
        "features": {"text": "words", "length": 40},
        "model": {"name": "bilstm", "hidden": [300]},
        "private": {"words": "all", "adapt": "pass", "start": "random"},
        "local": {
            "optimizer": "adam",
            "lr": 5e-3,
            "epochs": 1,
            "batch": 32,
            "schedule": "linear",
            "clip_norm": 15.0,
        },
        "codec": {"name": "plain"},
    },
    "paper:partfed": lambda asked, tree: {
        "data": {"share": {"rule": "k_anonymity", "k": 100}},
        "features": {"categorical": "codes"},
        "model": {"name": "mlp", "hidden": [12]},
        "local": {"optimizer": "adam", "lr": 1e-3, "batch": 32},
        "codec": {"name": "plain"},
        "server": {"weights": "rows"},
    },
    "paper:hashcomb": lambda asked, tree: {
        "codec": {"name": "hashcomb", "of": "weights", "x_min": -0.35, "x_max": 0.35}
    },
    "paper:lazyinf": lambda asked, tree: {
        "data": {"local_test": 0.333},
        "public": {"share": 0.01, "epochs": 3},
        "filter": {"lr": 1e-4, "vote_epsilon": 0.5},
        "codec": {"name": "plain"},
    },
}
