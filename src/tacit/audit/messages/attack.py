"""The attack of one seed: every victim's message in every view, scored against the victim's data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import features
from tacit.audit.messages.holdings import (
    WORDS,
    Target,
    compute_label_shares,
    count_filled_inputs,
    find_filled_inputs,
    list_targets,
    select_rows,
)
from tacit.audit.messages.scoring import (
    RULES,
    Marks,
    Numbers,
    choose_rules,
    compute_auc,
    count_ordered_pairs,
    get_first_layer,
    precision_at_true_count,
)
from tacit.audit.messages.views import NO_MESSAGE, MessageView, Observed
from tacit.audit.messages.words import WordIndex, build_word_index
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.rows import Dense, Mixed, Vector
from tacit.simulation.advice.first_round import FirstRound, first_round

LABELS = "labels"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Result of one party for one target and seed, mean over clients; `chance` is that of random
    guessing.
    """

    what: str
    who: str
    column: bool = False
    auc: float
    found: float | None = None
    chance: float | None = None
    auc_without: float | None = None
    found_without: float | None = None
    named: float | None = None


@dataclass(frozen=True, kw_only=True)
class GuessedInput:
    """An input that an attacker guesses to be present: its name or number, public words that map to
    it and their number, and the client's words.
    """

    place: str
    candidates: list[str]
    sharing: int
    true: list[str]


@dataclass(frozen=True, kw_only=True)
class ClientExample:
    """The highest scores of one client in one view."""

    client: int
    who: str
    what: str
    held: int
    guesses: list[GuessedInput]


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """Results of one seed's attack, and what was attacked."""

    source: str
    clients: int
    cohort: int
    parameters: int
    mechanism: tuple[str, ...]
    sizes: dict[
        str, tuple[int, float]
    ]  # of each target: how many inputs, and how many of them a client fills
    public_words: int
    sharing: float
    blocks: tuple[features.Block, ...]
    readings: list[Reading]
    examples: list[ClientExample]


def attack_messages(job: Plan, clients: int, *, examples: int = 0) -> AttackResult:
    """Attack the messages of some clients in the first round of a plan; keep the guesses for
    `examples` clients.
    """
    with first_round(job) as begun:
        observed = Observed(begun, clients, Draws.seeded(job.seed).at("audit"))
        return _Attack(begun, observed, job).made(examples)


class _Attack:
    """The victims' data, and the scores of their inputs in each view."""

    def __init__(self, begun: FirstRound, observed: Observed, job: Plan) -> None:
        self.begun, self.observed, self.draws = begun, observed, observed.draws
        data, inputs = begun.data, begun.data.train.inputs
        self.blocks = features.list_blocks(data.columns, job.features, data.fitted)
        self.width, self.tokens = (
            inputs.width,
            isinstance(inputs, Mixed) or (isinstance(inputs, Dense) and inputs.tokens),
        )
        rows = [select_rows(begun, victim.client.slot.block) for victim in observed.victims]
        self.shares = np.array([compute_label_shares(one) for one in rows])
        self.held: list[Marks] = [find_filled_inputs(one.inputs, self.width) for one in rows]
        self.targets = list_targets(self.blocks) if self._lines(observed.model) is not None else []
        self.book: WordIndex | None = None
        if any(target.name == WORDS for target in self.targets):
            self.book = build_word_index(
                job,
                data,
                dict(zip([victim.name for victim in observed.victims], self.held, strict=True)),
            )

    def made(self, examples: int) -> AttackResult:
        observed, shown = self.observed, list[ClientExample]()
        readings = [self._unseen(target) for target in self.targets]
        for view in observed.views():
            seen = [view.seen(victim) for victim in observed.victims]
            without = (
                [view.without(victim) for victim in observed.victims] if view.without else None
            )
            for target in self.targets:
                reading, order = self._read(view, target, seen, without)
                readings.append(reading)
                if not target.column:
                    shown += [
                        self._example(view.who, target, one, order[one])
                        for one in range(min(examples, len(order)))
                    ]
            readings += self._labels(view, seen)
        sizes = {
            target.name: (
                len(target.inputs),
                float(np.mean([held[target.inputs].sum() for held in self.held])),
            )
            for target in self.targets
        }
        return AttackResult(
            source=self.begun.data.source,
            clients=len(observed.victims),
            cohort=len(observed.cohort),
            parameters=observed.terms.dim,
            mechanism=tuple(
                claim.mechanism for claim in observed.train.claims(max(1, len(observed.cohort)))
            ),
            sizes=sizes,
            public_words=self.book.words if self.book else 0,
            sharing=self.book.sharing if self.book else 0.0,
            blocks=self.blocks,
            readings=readings,
            examples=shown,
        )

    def _lines(self, row: Vector) -> Numbers | None:
        return get_first_layer(self.begun.arm.learner.tensors(row), self.width, tokens=self.tokens)

    def _read(
        self, view: MessageView, target: Target, seen: list[Vector], without: list[Vector] | None
    ) -> tuple[Reading, list[NDArray[np.int64]]]:
        """Attack one target, choosing each client's rule on the other clients; also return inputs
        in order of their scores.
        """
        mine = self._scores(target, seen)
        other = self._scores(target, without) if without is not None else [*mine[1:], mine[0]]
        truths = [held[target.inputs] for held in self.held]
        rules = choose_rules(
            np.array(
                [
                    [compute_auc(one, truth) for one in per]
                    for per, truth in zip(mine, truths, strict=True)
                ]
            )
        )
        chosen = [per[rule] for per, rule in zip(mine, rules, strict=True)]
        controls = [per[rule] for per, rule in zip(other, rules, strict=True)]
        orders = [self._order(target, scores, one) for one, scores in enumerate(chosen)]
        alone = len(seen) == 1 and without is None  # no other client's message to put in its place
        return (
            Reading(
                what=target.name,
                who=view.who,
                column=target.column,
                auc=_mean(
                    [
                        compute_auc(scores, truth)
                        for scores, truth in zip(chosen, truths, strict=True)
                    ]
                ),
                found=_mean(
                    [
                        precision_at_true_count(scores, truth)
                        for scores, truth in zip(chosen, truths, strict=True)
                    ]
                ),
                chance=_mean([float(truth.mean()) for truth in truths]),
                auc_without=(
                    None
                    if alone
                    else _mean(
                        [
                            compute_auc(scores, truth)
                            for scores, truth in zip(controls, truths, strict=True)
                        ]
                    )
                ),
                found_without=(
                    None
                    if alone
                    else _mean(
                        [
                            precision_at_true_count(*pair)
                            for pair in zip(controls, truths, strict=True)
                        ]
                    )
                ),
                named=self._share_named(target, orders),
            ),
            orders,
        )

    def _scores(self, target: Target, rows: list[Vector]) -> list[list[Numbers]]:
        """Scores of a target's inputs, by row and rule."""
        found = []
        for row in rows:
            lines = self._lines(row)
            assert lines is not None
            way = self._way(row, lines.shape[1])
            found.append([rule(lines[target.inputs], way) for rule in RULES])
        return found

    def _way(self, row: Vector, width: int) -> Numbers:
        """Direction in which an update pushes the first layer of all inputs of its rows: its
        labels, propagated back through the model.
        """
        pull, head = self._pull(row), self.begun.arm.learner.head
        if pull is not None and len(pull) == width:
            return pull
        if pull is None or head is None or head.inputs != width:
            return np.zeros(width)
        return np.asarray(head.matrix(self.observed.model)[:-1] @ pull, np.float64)

    def _unseen(self, target: Target) -> Reading:
        """Result of an attacker without any message, who guesses the most frequent inputs of the
        public rows.
        """
        scores = count_filled_inputs(self.begun.data.test.inputs, self.width)[target.inputs].astype(
            np.float64
        )
        truths = [held[target.inputs] for held in self.held]
        return Reading(
            what=target.name,
            who=NO_MESSAGE,
            column=target.column,
            auc=_mean([compute_auc(scores, truth) for truth in truths]),
            found=_mean([precision_at_true_count(scores, truth) for truth in truths]),
            chance=_mean([float(truth.mean()) for truth in truths]),
            named=self._share_named(
                target, [self._order(target, scores, one) for one in range(len(truths))]
            ),
        )

    def _order(self, target: Target, scores: Numbers, one: int) -> NDArray[np.int64]:
        """Highest-scoring inputs, as many as the client has, ties in random order.

        If words are to be named, only inputs that a public word maps to: the others have no name.
        """
        ties = self.draws.at("ties", one).generator().permutation(len(scores))
        ranked = target.inputs[np.lexsort((ties, -scores))]
        if self.book is not None and target.name == WORDS:
            ranked = ranked[np.isin(ranked, list(self.book.public))]
        return ranked[: int(self.held[one][target.inputs].sum())]

    def _share_named(self, target: Target, orders: list[NDArray[np.int64]]) -> float | None:
        if self.book is None or target.name != WORDS:
            return None
        book, victims = self.book, self.observed.victims
        return _mean(
            [book.named(order, victim.name) for order, victim in zip(orders, victims, strict=True)]
        )

    def _labels(self, view: MessageView, seen: list[Vector]) -> list[Reading]:
        """How often the message reveals which of two clients has a larger share of a class; empty
        if shares never differ.
        """
        pulls = [self._pull(row) for row in seen] if view.signed else []
        if not pulls or pulls[0] is None:
            return []
        scores = np.array(pulls)
        shares = self.shares[:, 1:] if scores.shape[1] == 1 else self.shares
        right, pairs = np.array(
            [
                count_ordered_pairs(scores[:, place], shares[:, place])
                for place in range(shares.shape[1])
            ]
        ).sum(axis=0)
        return [Reading(what=LABELS, who=view.who, auc=float(right / pairs))] if pairs else []

    def _pull(self, row: Vector) -> Numbers | None:
        """How far an update moves each logit for every row: its last biases, or the change from a
        constant input or from all inputs.
        """
        head = self.begun.arm.learner.head
        if head is not None:
            return np.asarray(head.matrix(row)[-1], np.float64)
        lines, constant = (
            self._lines(row),
            [block.start for block in self.blocks if block.kind == "constant"],
        )
        outputs = (
            1 if len(self.begun.data.train.classes) <= 2 else len(self.begun.data.train.classes)
        )
        if lines is None or lines.shape[1] != outputs:
            return None
        return np.asarray(lines[constant[0]] if constant else lines.sum(axis=0))

    def _example(
        self, who: str, target: Target, one: int, order: NDArray[np.int64]
    ) -> ClientExample:
        victim, held = self.observed.victims[one], self.held[one]
        guesses = [self._guess(int(place), bool(held[place]), victim.name) for place in order[:12]]
        return ClientExample(
            client=victim.name,
            who=who,
            what=target.name,
            held=int(held[target.inputs].sum()),
            guesses=guesses,
        )

    def _guess(self, place: int, there: bool, client: int) -> GuessedInput:
        block = next(block for block in self.blocks if block.start <= place < block.stop)
        cell = block.cells[place - block.start] if block.cells else ""
        if block.kind == "words":
            public = self.book.public.get(place, []) if self.book else []
            own = self.book.own[client].get(place, []) if self.book else []
            name = cell or f"bucket {place - block.start:,}"
            return GuessedInput(place=name, candidates=public[:3], sharing=len(public), true=own)
        name = f"{block.name} = {cell}" if cell else f"{block.name}, token {place - block.start}"
        return GuessedInput(
            place=name, candidates=[], sharing=1, true=[cell or name] if there else []
        )


def _mean(values: list[float]) -> float:
    """Mean of the values that are numbers; NaN if there are none."""
    known = [value for value in values if value == value]
    return float(np.mean(known)) if known else float("nan")
