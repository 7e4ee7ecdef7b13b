"""[private]: parameters that stay with each client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Many, Name, Positive
from tacit.plan.tables.model import Worded

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Private:
    """Parameters that stay with each client; no update, message or server file contains them."""

    words: Literal["none", "digits", "all"] = "none"
    """Which word vectors stay with the client: none, those of words with a digit, or all."""
    parameters: Many[Name] = ()
    """Patterns of further parameter names that stay, such as `["lstm.*"]`; works with any
    `nn.Module`.
    """
    train: bool = True
    """Train private parameters, or leave them at their initial values."""
    adapt: Literal["none", "pass", "pass_accumulated", "reconstruct"] = "none"
    """What precedes a round's training. `pass`: one pass over the rows that trains only private
    parameters. `pass_accumulated`: the same, and its gradients of shared parameters are added to
    the next step, as in FedVocab's published code, which never clears them. `reconstruct`: the pass
    uses half of the rows, then only shared parameters train on the other half.
    """
    lr: Positive | None = None
    """Learning rate of private parameters; default: `local.lr`. Embeddings that learn as fast as
    the shared part soon encode the client's labels rather than words.
    """
    store: Literal["disk", "none"] = "disk"
    """Keep private parameters on the client's disk between rounds, or reinitialise them each round.
    """
    start: Literal["random", "public", "varied", "rotated"] = "random"
    """Initial word vectors. `public`: GloVe, or those of the checkpoint. `varied`: for each client
    one of three public tables (the vectors themselves, or one of two known rotations of them).
    `rotated`: a secret random rotation per client. Public vectors let an attacker read the words.
    """
    rows: Literal["own", "keyed"] = "own"
    """Rows of the embedding table: one per word of the client's text, or hash buckets
    (`features.buckets`) under the client's own key.
    """
    spelling: Literal["word", "stem", "mixed"] = "word"
    """What counts as a word: the word, its first five letters, or either, depending on the client.
    """

    @property
    def stores(self) -> bool:
        """Whether private parameters stay on the client's disk between rounds."""
        match self.store:
            case "disk":
                return True
            case "none":
                return False
            case _:
                assert_never(self.store)

    @property
    def keeps_something(self) -> bool:
        """Whether any parameters are private."""
        return self.words != "none" or bool(self.parameters)


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    return [*_word_problems(plan), *_keeping_problems(plan.private), *_regime_problems(plan)]


def _word_problems(plan: Plan) -> list[str]:
    private, model, found = plan.private, plan.model, []
    if private.words != "none" and not isinstance(model, Worded):
        found.append(
            "private.words requires a model with word embeddings, 'bilstm' or 'encoder'; got"
            f" model.name = {model.name!r}"
        )
    if private.rows == "keyed" and (
        private.words != "all" or private.start != "random" or private.spelling != "word"
    ):
        found.append(
            "private.rows = 'keyed' requires private.words = 'all', start = 'random' and spelling ="
            " 'word', since hashing mixes words in a bucket"
        )
    if private.words == "none" and (
        private.start in ("varied", "rotated") or private.spelling != "word"
    ):
        found.append(
            "private.start and private.spelling require private.words = 'all' or 'digits', since"
            " shared embeddings are the same for all clients"
        )
    return found


def _keeping_problems(private: Private) -> list[str]:
    if private.keeps_something:
        return _resting_problems(private)
    remedy = "requires private parameters: set private.words or private.parameters"
    found = [f"private.adapt = {private.adapt!r} {remedy}"] if private.adapt != "none" else []
    found += [f"private.lr = {private.lr:g} {remedy}"] if private.lr is not None else []
    return [*found, *([] if private.train else [f"private.train = false {remedy}"])]


def _resting_problems(private: Private) -> list[str]:
    """List settings that contradict private parameters without storage or without training."""
    if private.train:
        if private.store == "none" and private.adapt == "none":
            return [
                "private.store = 'none' requires private.adapt = 'pass' or 'reconstruct', otherwise"
                " private parameters are never trained"
            ]
        return []
    idle = (
        "cannot be used with private.train = false, which leaves private parameters at their"
        " initial values; remove one of them"
    )
    found = (
        [f"private.adapt = {private.adapt!r} {idle}"]
        if private.adapt in ("pass", "reconstruct")
        else []
    )
    return [*found, *([f"private.lr = {private.lr:g} {idle}"] if private.lr is not None else [])]


def _regime_problems(plan: Plan) -> list[str]:
    found = []
    if plan.regime == "central" and plan.private != Private():
        found.append(
            "[private] cannot be used with regime = 'central', where all rows are in one place;"
            " remove the table"
        )
    if plan.personal and "central" in plan.baselines:
        found.append("baselines: 'central' cannot be combined with private parameters; remove it")
    return found
