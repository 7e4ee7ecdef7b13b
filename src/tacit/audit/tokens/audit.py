"""All attacks on one run's tokens, and sentences that describe their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.audit.tokens.brute_force import RangeSearch, Space, search_ranges, size_spaces
from tacit.audit.tokens.collisions import Collisions, count_collisions
from tacit.audit.tokens.false_histograms import (
    HONEST,
    Falsified,
    Kind,
    encode_tokens,
    falsify_histograms,
)
from tacit.audit.tokens.finished_run import FinishedRun, Sent, load_finished_run
from tacit.audit.tokens.insider import SIZES, Insider, attack_as_insider
from tacit.audit.tokens.seriation import Seriation, score_seriation
from tacit.codecs.hashcomb import build_quantiser
from tacit.quantisation.levels import draw_levels, find_head_probability
from tacit.quantisation.quantiser import Levels
from tacit.rows import Vector

NAME = "tokens"
KINDS: dict[Kind, str] = {"paper": "static", "keyed": "keyed"}
TRANSITIONS = (1, 5)
_MOST_CLIENTS = 8
_SHOWN = 240


@dataclass(frozen=True, kw_only=True)
class TokenAudit:
    """Results of the attacks; `points` are true and reconstructed values of some parameters of the
    victim, after one transition.
    """

    source: str
    sends: str
    parameters: int
    levels: int
    clients: int
    seriation: tuple[Seriation, ...]
    points: dict[str, list[float]]
    searches: tuple[RangeSearch, ...]
    spaces: tuple[Space, ...]
    insiders: tuple[Insider, ...]
    collisions: tuple[Collisions, ...]
    falsified: tuple[Falsified, ...]

    def as_json(self) -> dict[str, Any]:
        """Convert the audit to plain values."""
        return {**asdict(self), "sentences": write_sentences(self)}


@dataclass(frozen=True, kw_only=True)
class Following:
    """Rounds after the last one of a run: the initial model of each, and the messages of some
    clients, the victim's first.
    """

    models: tuple[Vector, ...]
    sent: tuple[Sent, ...]


def audit_tokens(
    folder: Path, progress: Callable[[str], None] = lambda words: None, *, allow_code: bool = False
) -> TokenAudit:
    """Attack the tokens of a finished run of the hashcomb codec; raise RunError for any other run."""
    run = load_finished_run(folder, allow_code=allow_code)
    progress("six more rounds")
    after = follow(run, TRANSITIONS[-1] + 1)
    progress("the order of channels from tokens alone")
    seriation, points = _seriation(run, after)
    progress("ranges behind tokens without a secret")
    searches = _searches(run, after)
    progress("what an insider reads")
    insiders = _insiders(run)
    progress("channels with the same token")
    found = count_collisions(build_quantiser(run.settings), run.secret, after.sent[0][0])
    progress("false histograms")
    lies = [
        lie
        for kind in KINDS
        for lie in falsify_histograms(run, after.sent[:2], after.models[1], kind)
    ]
    return TokenAudit(
        source=run.data.source,
        sends=run.settings.of,
        parameters=len(run.model),
        levels=run.settings.levels,
        clients=len(after.sent[0]),
        seriation=seriation,
        points=points,
        searches=searches,
        spaces=tuple(size_spaces(searches[0].seconds_per_range)),
        insiders=insiders,
        collisions=tuple(found),
        falsified=tuple(lies),
    )


def follow(run: FinishedRun, rounds: int) -> Following:
    """Continue a run after its last round: at most eight of its clients train, and their histogram
    gives the next model.
    """
    models, sent, count = [run.model], list[Sent](), min(_MOST_CLIENTS, run.clients())
    for round_no in range(1, rounds + 1):
        sent.append(run.list_next_values(models[-1], count, round_no))
        codec, draws = run.build_client_codec(round_no), run.draws.at("follow", round_no)
        public = draws.publish("follow")
        total = codec.empty(len(run.model))
        for row in sent[-1]:
            total.add(
                codec.encode(row, {}, own=draws.for_client(), public=public).payload, 1, public
            )
        models.append(
            run.next_model(models[-1], codec.decode(total, public=public, own=draws.for_server()))
        )
    return Following(models=tuple(models), sent=tuple(sent))


def simulate_levels(run: FinishedRun) -> Levels:
    """Draw levels as in one round."""
    settings, chance = run.settings, 1.0
    if settings.mean_level is not None:
        chance = find_head_probability(settings.selection, settings.levels, settings.mean_level)
    return draw_levels(
        settings.selection, settings.levels, chance, len(run.model), run.draws.at("levels")
    )


def _seriation(
    run: FinishedRun, after: Following
) -> tuple[tuple[Seriation, ...], dict[str, list[float]]]:
    true = after.sent[0][0]
    shown = np.linspace(0, len(true) - 1, min(_SHOWN, len(true))).astype(np.int64)
    scores, points = list[Seriation](), {"true": _round_values(true[shown])}
    for kind, name in KINDS.items():
        settings = replace(run.settings, tokens=kind)
        rounds = [
            encode_tokens(
                run.build_client_codec(number, settings), rows[0], run.draws.at("seen", number)
            )
            for number, rows in enumerate(after.sent, 1)
        ]
        for transitions in TRANSITIONS:
            score, found = score_seriation(name, rounds[: transitions + 1], true)
            scores.append(score)
            points.setdefault(name, _round_values(found.values[shown]))
    return tuple(scores), points


def _searches(run: FinishedRun, after: Following) -> tuple[RangeSearch, ...]:
    """Search for the range with and without a secret, from tokens of the finest level."""
    settings = replace(run.settings, tokens="paper", selection="finest", mean_level=None)
    seen = {
        secret: encode_tokens(
            run.build_client_codec(1, settings, secret), after.sent[0][0], run.draws.at("search")
        )
        for secret in (b"", run.secret)
    }
    return tuple(search_ranges(tokens, settings, bool(secret)) for secret, tokens in seen.items())


def _insiders(run: FinishedRun) -> tuple[Insider, ...]:
    quantiser, level, found = build_quantiser(run.settings), simulate_levels(run), []
    for count in SIZES:
        if count <= len(run.data.train):
            channels = np.stack(
                [quantiser.channels(row, level) for row in run.resample_values(count)]
            )
            found.append(attack_as_insider(channels, run.draws.at("weights", count)))
    return tuple(found)


def _round_values(values: np.ndarray[Any, Any]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def write_sentences(found: TokenAudit) -> list[str]:
    """Describe the results in sentences."""
    return [
        _describe_order(found),
        *_describe_ranges(found),
        *_describe_insiders(found),
        _describe_collisions(found),
        *_describe_falsifications(found),
    ]


def _describe_order(found: TokenAudit) -> str:
    static, keyed = (
        [one for one in found.seriation if one.tokens == name] for name in KINDS.values()
    )
    return (
        "From one client's static tokens in two rounds a server without the secret reconstructs "
        f"its {found.sends} up to scale with a correlation of {static[0].correlation:.4f}"
        f" ({static[-1].correlation:.4f} from {static[-1].transitions + 1} rounds); from keyed"
        f" tokens {keyed[0].correlation:.4f} ({keyed[-1].correlation:.4f})."
    )


def _describe_ranges(found: TokenAudit) -> list[str]:
    bare, secret = found.searches
    read = (
        f"the range is found and {bare.decoded:.0%} of the {found.sends} are read"
        if bare.found
        else "no range fits"
    )
    none = "one" if secret.found else "none"
    return [
        (
            f"Static tokens without a secret: after {bare.tried:,} ranges at"
            f" {1e6 * bare.seconds_per_range:.0f} µs {read}. With a secret, {none} of "
            f"{secret.tried:,} ranges fits."
        ),
        (
            "The paper's 2^104 to 2^106 ranges are all pairs of doubles; people write down only "
            f"about 2^{found.spaces[0].log2:.0f} different ranges. The random secret is what "
            "protects them; it does not hide the order of static tokens."
        ),
    ]


def _describe_insiders(found: TokenAudit) -> list[str]:
    said = "; ".join(
        f"of {one.clients} clients {one.certain:.0%} for sure, {one.by_weight:.0%} if weights"
        f" differ, {one.bits_left:.1f} bits left"
        for one in found.insiders
    )
    return (
        [
            "An insider with the secret learns another client's channel at this share of the "
            f"parameters: {said}."
        ]
        if said
        else []
    )


def _describe_collisions(found: TokenAudit) -> str:
    own = next((one for one in found.collisions if one.levels == found.levels), found.collisions[0])
    most = found.collisions[-1]
    return (
        f"At 28 bits {own.observed} pairs of {own.channels:,} channels share a token at"
        f" {own.levels} levels, {most.observed} of {most.channels:,} at {most.levels}"
        f" ({most.expected:.0f} expected); at 128 bits {most.wide}."
    )


def _describe_falsifications(found: TokenAudit) -> list[str]:
    lies = [one for one in found.falsified if one.what != HONEST]
    refused = [
        f"{sum(one.detected for one in lies if one.tokens == kind)} under {name} tokens"
        for kind, name in KINDS.items()
    ]
    taken = [one for one in lies if not one.detected]
    shown = sum(one.owner_notices for one in taken)
    return [
        (
            f"Of {len(lies) // len(KINDS)} kinds of false histograms clients refuse"
            f" {' and '.join(refused)}. In {shown} of the {len(taken)} cases they take, some client"
            " would miss a token it sent: it would help if every client looked for its own, and if"
            " all compared a hash of the histogram, so that all see the same one."
        ),
    ]
