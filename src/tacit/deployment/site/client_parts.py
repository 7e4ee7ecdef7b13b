"""Which clients a run has at a site, by pseudonym, and what the run's folder keeps of each of them.

An erased client is left out of runs that are opened later. In a run that was opened before, it
keeps its number, does not respond, and its parts are deleted.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_side import CODEC, PRIVATE, PROMISED
from tacit.files import replace_file, sync_folder
from tacit.plan import Plan
from tacit.privacy.policy import Policy
from tacit.runs.client_numbers import load_clients, split_pseudonyms

LEFT_OUT = "left_out"
"""File of a run's folder with the pseudonyms of the clients that were erased before it was opened."""


def store_left_out(folder: Path, erased: Collection[bytes]) -> None:
    """Store which clients a run leaves out from its beginning on."""
    replace_file(folder / LEFT_OUT, b"".join(sorted(erased)))


def load_left_out(folder: Path) -> frozenset[bytes]:
    """The clients that a run leaves out from its beginning on."""
    stored = folder / LEFT_OUT
    return frozenset(split_pseudonyms(stored.read_bytes())) if stored.exists() else frozenset()


def find_erased(owner: Owner, policy: Policy, plan: Plan) -> frozenset[bytes]:
    """All clients that the site's ledger names as erased."""
    with closing(owner.open_ledger(policy, plan)) as book:
        return book.erased()


def delete_parts(folder: Path, erased: Collection[bytes]) -> int:
    """Delete the private parameters, codec memory and promised updates of erased clients in a run's
    folder; return the number of clients that had any.
    """
    numbers = [
        number
        for person, number in load_clients(folder).items()
        if person in erased and _delete_parts_of(folder, number)
    ]
    return len(numbers)


def _delete_parts_of(folder: Path, number: int) -> bool:
    places = [folder / PRIVATE / str(number), folder / CODEC / str(number)]
    found = [place for place in places if place.exists()]
    for place in found:
        shutil.rmtree(place)
        sync_folder(place.parent)
    files = list((folder / PROMISED).glob(f"*/{number}.safetensors"))
    for file in files:
        file.unlink(missing_ok=True)
    return bool(found or files)
