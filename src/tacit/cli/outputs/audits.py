"""Outputs of audits. The string below a key is its meaning."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class ReconstructionOutput(TypedDict):
    """What an attack recovers from the messages of clients.

    The keys depend on the attack: on the words of private embedding tables, or on words,
    categories and labels of other plans.
    """

    source: str
    """`data.source` of the plan."""
    lines: list[dict[str, Any]]
    """One object per target: what the attack recovers, and the same without the message."""
    examples: list[dict[str, Any]]
    """With `--rows`: data of some clients, and what the attack recovered."""
    attack: NotRequired[str]
    """Name of the attack; missing for private embedding tables."""
    mechanism: NotRequired[list[str]]
    """What the codec does with an update, step by step."""
    parameters: NotRequired[int]
    """Parameters of the model."""
    clients: NotRequired[int]
    """Clients whose messages were attacked."""
    cohort: NotRequired[int]
    """Clients of a round."""
    seeds: NotRequired[list[int]]
    """Seeds of the attack."""
    sizes: NotRequired[dict[str, list[float]]]
    """For each target: how many values are possible, and how many a client has on average."""
    public_words: NotRequired[int]
    """Words of the public dictionary."""
    sharing: NotRequired[float]
    """Words of the public dictionary per hash bucket."""
    notes: NotRequired[list[str]]
    """What the attack did not cover."""
    sentences: NotRequired[list[str]]
    """The findings in words."""
    client: NotRequired[int]
    """Private embedding tables: the attacked client."""
    texts: NotRequired[int]
    """Private embedding tables: number of attacked texts."""
    search_steps: NotRequired[int]
    """Private embedding tables: steps of the attack that searches for the embedding."""


class TokenAuditOutput(TypedDict):
    """What attacks recover from the tokens of a `hashcomb` run."""

    source: str
    """`data.source` of the plan."""
    sends: str
    """What clients send: weights or changes."""
    parameters: int
    """Parameters of the model."""
    levels: int
    """Levels of quantisation."""
    clients: int
    """Number of clients."""
    seriation: list[dict[str, Any]]
    """Attacks that order the channels by their transitions."""
    points: dict[str, list[float]]
    """True and reconstructed values of some parameters of one client."""
    searches: list[dict[str, Any]]
    """Searches for the range, with and without a secret."""
    spaces: list[dict[str, Any]]
    """Sizes of search spaces."""
    insiders: list[dict[str, Any]]
    """What a participant learns from the histogram."""
    collisions: list[dict[str, Any]]
    """Tokens that stand for several channels."""
    falsified: list[dict[str, Any]]
    """Forged histograms, and whether anyone notices."""
    sentences: list[str]
    """The findings in words."""
