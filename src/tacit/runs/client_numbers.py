"""The clients of a run in the order of their numbers, by pseudonym, and where their private
parameters are.

A site and a simulation keep the same file, so that a personal model is found in the same way.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.files import replace_file
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.runs.record import RUN
from tacit.runs.run_folder import PRIVATE

CLIENTS = "clients"
"""File with the number of the first client and the pseudonyms of all clients in order."""
PSEUDONYM = 16
"""Length of a pseudonym in bytes."""
_NUMBER = 8


def compute_pseudonym(secret: bytes, client: str) -> bytes:
    """The pseudonym of a client's normalised name; it cannot be computed without the secret."""
    return hmac.digest(secret, client.encode(), "sha256")[:PSEUDONYM]


def store_clients(folder: Path, first: int, persons: Sequence[bytes]) -> None:
    """Store the clients of a run in order, once; `first` is the number of the first one."""
    if not (folder / CLIENTS).exists():
        replace_file(folder / CLIENTS, first.to_bytes(_NUMBER, "little") + b"".join(persons))


def load_clients(folder: Path) -> dict[bytes, int]:
    """The number of each client of a run, by pseudonym; empty if the run has not begun."""
    if not (folder / CLIENTS).exists():
        return {}
    content = (folder / CLIENTS).read_bytes()
    first = int.from_bytes(content[:_NUMBER], "little")
    return {one: first + place for place, one in enumerate(split_pseudonyms(content[_NUMBER:]))}


def split_pseudonyms(content: bytes) -> list[bytes]:
    """Split concatenated pseudonyms."""
    return [content[at : at + PSEUDONYM] for at in range(0, len(content), PSEUDONYM)]


@dataclass(frozen=True, kw_only=True)
class ClientParts:
    """Where the private parameters of a run's clients are: a folder for each client by number.

    `by_column` says that the client column names the client of a row. Otherwise every row belongs
    to the client `only`, or the caller names a client.
    """

    folder: Path
    numbers: Mapping[bytes, int]
    secret: bytes
    by_column: bool
    only: str | None = None

    def find_number(self, client: str) -> int | None:
        """The number of a client by its normalised name; None if the run did not have it."""
        return self.numbers.get(compute_pseudonym(self.secret, client))


def store_simulated_clients(
    folder: Path, plan: Plan, count: int, names: Sequence[str] | None
) -> None:
    """Store the clients of a simulated run. Without a client column, clients are named by their
    numbers.
    """
    secret = _draw_secret(plan)
    home = folder / PRIVATE
    home.mkdir(mode=0o700, exist_ok=True)
    named = map(str, range(count)) if names is None else names
    store_clients(home, 0, [compute_pseudonym(secret, name) for name in named])


def find_simulated_parts(folder: Path, plan: Plan) -> ClientParts | None:
    """Find the private parameters of a simulated run's clients; None if the folder has none."""
    home = folder / PRIVATE
    if not (home / CLIENTS).exists():
        return None
    return ClientParts(
        folder=home / RUN,
        numbers=load_clients(home),
        secret=_draw_secret(plan),
        by_column=plan.data.partition == "client",
    )


def _draw_secret(plan: Plan) -> bytes:
    """The secret of a simulation's pseudonyms."""
    return Draws.seeded(plan.seed).sealed("pseudonyms").key
