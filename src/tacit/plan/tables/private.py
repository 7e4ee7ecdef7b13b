"""[private]: what stays with each client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Many, Name, Positive
from tacit.plan.tables.model import Worded

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Private:
    """What stays with each client: parameters no update, message or server file ever holds."""

    words: Literal["none", "digits", "all"] = "none"
    """Whose word vectors stay with the client: nobody's, those of words with a digit, or all."""
    parameters: Many[Name] = ()
    """Patterns of parameter names that stay too, such as `["lstm.*"]`; works with any `nn.Module`.
    """
    train: bool = True
    """Train what stays, or leave it at its first values for good."""
    adapt: Literal["none", "pass", "pass_accumulated", "reconstruct"] = "none"
    """Before a round's training: nothing; one pass over the rows that trains only what stays; that
    pass with its gradients of what is shared added to the first step after it (what FedVocab's
    published code does, which never clears them); or the pass on half of the rows, after which only
    what is shared trains on the other half.
    """
    lr: Positive | None = None
    """Learning rate of what stays; without it `local.lr`. A table that learns as fast as the shared
    part soon says more about its client's labels than about words.
    """
    store: Literal["disk", "none"] = "disk"
    """Keep what stays on the client's disk between rounds, or make it anew each round."""
    start: Literal["random", "public", "varied", "rotated"] = "random"
    """First word vectors: random; public (GloVe, or the checkpoint's own); public, for each client
    one of three tables that anybody can make (the vectors as they are, or under one of two known
    rotations); or public, rotated at random per client. Public vectors let an attacker read the
    words.
    """
    rows: Literal["own", "keyed"] = "own"
    """One row per word of the client's own text, or hash buckets (`features.buckets`) under the
    client's own key.
    """
    spelling: Literal["word", "stem", "mixed"] = "word"
    """What counts as a word: the word; its first five letters; or one of the two by client."""

    @property
    def stores(self) -> bool:
        """Return whether what stays is kept on the client's disk between rounds."""
        match self.store:
            case "disk":
                return True
            case "none":
                return False
            case _:
                assert_never(self.store)

    @property
    def keeps_something(self) -> bool:
        """Return whether anything is asked to stay."""
        return self.words != "none" or bool(self.parameters)


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    return [*_word_problems(plan), *_keeping_problems(plan.private), *_regime_problems(plan)]


def _word_problems(plan: Plan) -> list[str]:
    private, model, found = plan.private, plan.model, []
    if private.words != "none" and not isinstance(model, Worded):
        found.append(
            "private.words: needs a model with a word table, 'bilstm' or 'encoder'; got model.name"
            f" = {model.name!r}"
        )
    if private.rows == "keyed" and (
        private.words != "all" or private.start != "random" or private.spelling != "word"
    ):
        found.append(
            "private.rows: 'keyed' needs private.words = 'all', start = 'random' and spelling ="
            " 'word', since a bucket holds words at random"
        )
    if private.words == "none" and (
        private.start in ("varied", "rotated") or private.spelling != "word"
    ):
        found.append(
            "private.start, private.spelling: need private.words = 'all' or 'digits': a shared"
            " table is the same for everyone"
        )
    return found


def _keeping_problems(private: Private) -> list[str]:
    if private.keeps_something:
        return _resting_problems(private)
    remedy = "needs something that stays: set private.words or private.parameters"
    found = [f"private.adapt: {private.adapt!r} {remedy}"] if private.adapt != "none" else []
    found += [f"private.lr: {private.lr:g} {remedy}"] if private.lr is not None else []
    return [*found, *([] if private.train else [f"private.train: false {remedy}"])]


def _resting_problems(private: Private) -> list[str]:
    """Return what does not go with a part that is made anew each round, or that never moves."""
    if private.train:
        if private.store == "none" and private.adapt == "none":
            return [
                "private.store: 'none' needs private.adapt = 'pass' or 'reconstruct', else what"
                " stays is never trained"
            ]
        return []
    idle = (
        "has no meaning with private.train = false, which leaves what stays at its first values;"
        " remove one of the two"
    )
    found = (
        [f"private.adapt: {private.adapt!r} {idle}"]
        if private.adapt in ("pass", "reconstruct")
        else []
    )
    return [*found, *([f"private.lr: {private.lr:g} {idle}"] if private.lr is not None else [])]


def _regime_problems(plan: Plan) -> list[str]:
    found = []
    if plan.regime == "central" and plan.private != Private():
        found.append(
            "private: has no meaning with regime = 'central', where all rows are in one place;"
            " remove the table"
        )
    if plan.personal and "central" in plan.baselines:
        found.append(
            "baselines: 'central' has no meaning beside models of which a part stays with each"
            " client; remove it"
        )
    return found
