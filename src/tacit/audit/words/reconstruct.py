"""Can a server read a client's words? Four attackers, four ways to keep a word table, any codec.

An attacker uses only what it would have: the shared parameters, and the decoded message. The first
line of every table is a positive control: an attack that fails there proves nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tacit import codecs, plan
from tacit.audit.words.dictionaries import (
    Dictionary,
    Score,
    average_scores,
    find_inside_span,
    find_nearest,
    match_by_frequency_and_shape,
    score,
    shuffle_dictionary,
)
from tacit.audit.words.inversion import (
    ObservedUpdate,
    find_span,
    invert,
    recover_labels,
    stack_first_layer,
)
from tacit.audit.words.victims import ClientUnderAttack, train_victim
from tacit.errors import PlanError
from tacit.randomness import Draws
from tacit.simulation.prepared_rows import SimulatedData, prepare
from tacit.training.private.learner import get_tokens

BASELINE = "no message"
ATTACKERS = ("knows the table", "wrong table", "public table", "adaptive", BASELINE)
"""Four attackers, and a baseline that sees nothing and guesses the most frequent words."""
SETTINGS: dict[str, plan.Private] = {
    "FedAvg: shared public table": plan.Private(start="public"),
    "FedVocab: private, public start": plan.Private(words="all", adapt="pass", start="public"),
    "FedVocab: private, rotated start": plan.Private(words="all", adapt="pass", start="rotated"),
    "FedVocab: private, random start": plan.Private(words="all", adapt="pass", start="random"),
}
_SHORTEST, _LONGEST = 5, 30
_FREQUENT = 5_000


@dataclass(frozen=True, kw_only=True)
class WordAuditLine:
    """One cell of the audit: attacker, setting and view, and what that attacker recovers."""

    setting: str
    seen: str
    batch: int
    attacker: str
    score: Score
    labels_right: float


@dataclass(frozen=True, kw_only=True)
class TextExample:
    """A text and each attacker's reconstruction of it, under one setting."""

    setting: str
    seen: str
    original: list[str]
    recovered: dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class WordAudit:
    """All lines and some examples, with the settings under which they were measured."""

    source: str
    client: int
    texts: int
    search_steps: int
    lines: tuple[WordAuditLine, ...]
    examples: tuple[TextExample, ...]

    def as_json(self) -> dict[str, Any]:
        """The audit as plain values."""
        return asdict(self)


def reconstruct(
    job: plan.Plan,
    texts: int = 8,
    batches: tuple[int, ...] = (1, 2, 4, 8),
    search_steps: int = 0,
    per_bit: tuple[float, ...] = (8.0, 1.0),
    progress: Callable[[str], None] = lambda words: None,
) -> WordAudit:
    """Attack the gradient of one batch, the real update, and the update through codecs, by four
    attackers.
    """
    if job.features.text not in ("words", "pieces"):
        raise PlanError(
            f"reconstruct(features.text={job.features.text!r}) attacks word tables, which only "
            "'words' and 'pieces' have; use audit.messages.audit.read_messages, as `tacit audit "
            "reconstruct` does"
        )
    draws = Draws.seeded(job.seed).at("audit")
    public_job = replace(job, private=replace(job.private, start="public", rows="own"))
    data = make_all_words_public(prepare(public_job, Draws.seeded(job.seed)), draws)
    client, rows = choose_texts(data, texts)
    lines: list[WordAuditLine] = []
    examples: list[TextExample] = []
    for name, private in SETTINGS.items():
        progress(name)
        victim = train_victim(job, data, client, private)
        arsenal = Arsenal(
            name, victim, _dictionaries(victim, draws), solve_cipher(victim), search_steps, draws
        )
        views = [
            *_gradient_views(victim, batches, rows),
            *_update_views(job, victim, rows, per_bit, draws),
        ]
        for view in views:
            found, shown = _attack(arsenal, view, rows)
            lines += found
            examples += shown if view.batch == 1 else []
    return WordAudit(
        source=data.source,
        client=client,
        texts=len(rows),
        search_steps=search_steps,
        lines=tuple(lines),
        examples=tuple(examples),
    )


GRADIENT = "true gradient"


@dataclass(frozen=True)
class BatchView:
    """What the server sees of a batch of texts, and the name of this view. Randomised bits give a
    span, but no vectors to collect.
    """

    seen: str
    batch: int
    make: Callable[[NDArray[np.int64]], ObservedUpdate]
    bits: bool = False


@dataclass(frozen=True)
class Arsenal:
    """The attackers' tools against one victim: tables to look words up in, and a cipher solved from
    all its vectors.
    """

    setting: str
    victim: ClientUnderAttack
    dictionaries: dict[str, Dictionary]
    cipher: dict[int, str]
    search_steps: int
    draws: Draws


def _gradient_views(
    victim: ClientUnderAttack, batches: tuple[int, ...], rows: NDArray[np.int64]
) -> list[BatchView]:
    return [BatchView(GRADIENT, batch, victim.gradient) for batch in batches if batch <= len(rows)]


def _update_views(
    job: plan.Plan,
    victim: ClientUnderAttack,
    rows: NDArray[np.int64],
    per_bit: tuple[float, ...],
    draws: Draws,
) -> list[BatchView]:
    """Views of a real update with the plan's optimiser and with SGD, in the clear and as randomised
    bits.
    """
    steps = replace(
        job.local, method="fedavg", epochs=3, steps=None, batch=1, batches=None, proximal=0.0
    )
    plain_sgd = replace(steps, optimizer="sgd", lr=0.1, weight_decay=0.0)
    plain = codecs.build(plan.Plain())

    def view(seen: str, settings: plan.Local, sends: codecs.Codec, bits: bool = False) -> BatchView:
        return BatchView(
            seen,
            1,
            lambda some: victim.update(some, settings, sends, draws.at("update", int(some[0]))),
            bits,
        )

    sizes = victim.update(rows[:1], plain_sgd, plain, draws.at("size")).gradients
    clip = (
        float(
            np.quantile(
                np.concatenate([np.abs(one.numpy()).ravel() for one in sizes.values()]), 0.99
            )
        )
        or 1e-3
    )
    randomised = [
        (epsilon, codecs.build(plan.RR(epsilon=epsilon, clip=clip))) for epsilon in per_bit
    ]
    return [
        view("update, 3 SGD steps, plain", plain_sgd, plain),
        view(f"update, 3 {steps.optimizer} steps, plain", steps, plain),
        *(
            view(f"update, SGD, one bit, epsilon {epsilon:g} per bit", plain_sgd, sends, True)
            for epsilon, sends in randomised
        ),
    ]


def _attack(
    arsenal: Arsenal, view: BatchView, rows: NDArray[np.int64]
) -> tuple[list[WordAuditLine], list[TextExample]]:
    scores: dict[str, list[Score]] = {attacker: [] for attacker in ATTACKERS}
    examples, right = [], []
    for first in range(0, len(rows) - view.batch + 1, view.batch):
        some = rows[first : first + view.batch]
        message = view.make(some)
        words = [word for text in arsenal.victim.texts(some) for word in text]
        inputs, labels = arsenal.victim.batch(some)
        right.append(
            float(
                np.mean(
                    np.sort(recover_labels(message.gradients, view.batch))
                    == np.sort(labels.numpy())
                )
            )
        )
        guesses = _guesses(arsenal, view, message, inputs, len(words))
        for attacker, ways in guesses.items():
            scores[attacker].append(
                max((score(words, way) for way in ways), key=lambda one: one.f1)
            )
        best = {
            name: max(ways, key=lambda way: score(words, way).f1) for name, ways in guesses.items()
        }
        examples.append(
            TextExample(setting=arsenal.setting, seen=view.seen, original=words, recovered=best)
        )
    lines = [
        WordAuditLine(
            setting=arsenal.setting,
            seen=view.seen,
            batch=view.batch,
            attacker=attacker,
            score=average_scores(found),
            labels_right=float(np.mean(right)),
        )
        for attacker, found in scores.items()
    ]
    return lines, examples[:3]


def _dictionaries(victim: ClientUnderAttack, draws: Draws) -> dict[str, Dictionary]:
    public = list_public_words(victim)
    return {
        "knows the table": victim.table(),
        "wrong table": shuffle_dictionary(public, draws.at("wrong").generator()),
        "public table": public,
    }


def list_public_words(victim: ClientUnderAttack) -> Dictionary:
    """Public words of the corpus, most frequent first; fewer than the public table has, which
    favours attackers.
    """
    lexicon = victim.learner.home.lexicon
    assert lexicon is not None
    assert lexicon.vectors is not None
    known = np.flatnonzero(lexicon.known())
    return Dictionary(tuple(lexicon.words[token] for token in known), lexicon.vectors[known])


def _guesses(
    arsenal: Arsenal, view: BatchView, message: ObservedUpdate, inputs: torch.Tensor, words: int
) -> dict[str, list[list[str]]]:
    """Guesses of each attacker: from the span of the gradient, from the search if enabled, and the
    adaptive attack.
    """
    dictionaries, cipher = arsenal.dictionaries, arsenal.cipher
    basis = find_span(stack_first_layer(message.gradients), words)
    guesses = {
        name: [find_inside_span(basis, dictionary, words)]
        for name, dictionary in dictionaries.items()
    }
    if arsenal.search_steps and (view.seen, view.batch) == (GRADIENT, 1):
        generator = torch.Generator().manual_seed(
            int(arsenal.draws.at("search").words(1)[0] >> np.uint64(1))
        )
        found = invert(
            arsenal.victim.module(), message, inputs != 0, arsenal.search_steps, generator
        )
        for name, dictionary in dictionaries.items():
            guesses[name].append(find_nearest(found.vectors, dictionary))
    if view.bits:
        frequent = _frequent(dictionaries["public table"])
        guesses["adaptive"] = [
            match_by_frequency_and_shape(np.arange(len(basis)), basis, frequent)
            if len(basis)
            else []
        ]
    else:
        guesses["adaptive"] = [
            [cipher[row] for row in inputs.numpy().ravel().tolist() if row in cipher]
        ]
    guesses[BASELINE] = [list(dictionaries["public table"].words[:words])]
    return guesses


def solve_cipher(victim: ClientUnderAttack) -> dict[int, str]:
    """Guess the words of unnamed vectors by frequency and shape, by table row, without a table.

    The attacker gets every vector of the client's text, as if all inversions had succeeded: an
    upper bound on the gain of a dictionary attack. This requires a message in the clear; randomised
    bits give only a span.
    """
    module = victim.module()
    table = torch.cat([module.words.shared, module.words.private]).detach().numpy()
    stream = victim.stream()
    used, numbered = np.unique(stream, return_inverse=True)
    names = match_by_frequency_and_shape(
        numbered, table[used], _frequent(list_public_words(victim))
    )
    return dict(zip(used.tolist(), names, strict=True))


def _frequent(public: Dictionary) -> Dictionary:
    return Dictionary(public.words[:_FREQUENT], public.vectors[:_FREQUENT])


def make_all_words_public(data: SimulatedData, draws: Draws) -> SimulatedData:
    """Give every word a public vector, random where the public table has none.

    The available vectors contain few numerals, unlike the tables of the papers; an attack must not
    fail for that reason.
    """
    lexicon = data.lexicon
    assert lexicon is not None
    assert lexicon.vectors is not None
    known = lexicon.known()
    vectors = lexicon.vectors.copy()
    spread = float(vectors[known].std()) if known.any() else 0.4
    vectors[~known] = spread * draws.at("no-vector").generator().standard_normal(
        (int((~known).sum()), vectors.shape[1])
    )
    return replace(data, lexicon=replace(lexicon, vectors=vectors))


def choose_texts(data: SimulatedData, texts: int) -> tuple[int, NDArray[np.int64]]:
    """Choose the client with most texts that contain digits, and its shortest ones of 5 to 30
    words.

    A text contains three words with a digit, or fewer where no client has enough such texts.
    Source: Zhang et al., EMNLP 2022, who take words with a digit for private.
    """
    lexicon, tokens = data.lexicon, get_tokens(data.train.inputs)
    assert lexicon is not None
    digit = np.array([*(any(letter.isdigit() for letter in word) for word in lexicon.words), False])
    lengths, digits = (tokens < len(lexicon.words)).sum(axis=1), digit[tokens].sum(axis=1)
    for least in (3, 2, 1, 0):
        fit = (lengths >= _SHORTEST) & (lengths <= _LONGEST) & (digits >= least)
        per_client = np.add.reduceat(np.append(fit, False).astype(int), data.clients.starts[:-1])
        client = int(per_client.argmax())
        if per_client[client] >= texts or least == 0:
            break
    own = np.arange(data.clients.starts[client], data.clients.starts[client + 1])
    own = own[fit[own]]
    if not len(own):
        raise PlanError(
            "audit reconstruct: no client has texts of 5 to 30 words; raise features.length"
        )
    return client, own[np.argsort(lengths[own], kind="stable")][:texts]
