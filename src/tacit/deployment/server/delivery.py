"""The end of a run: the sites that took part receive its model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tacit.deployment import bodies
from tacit.deployment.bodies import Offer, Terms
from tacit.deployment.model_delivery import ModelDelivery, is_for_sites
from tacit.deployment.server.messenger import Messenger
from tacit.files import UNFINISHED, replace_file
from tacit.plan import Plan
from tacit.runs import record, run_folder
from tacit.runs.run_keys import RECORD_KEY, list_keys, read_record_key

DELIVERY, DELIVERED = "delivery.bin", "delivered.json"
"""Files in the run's folder: what sites receive, and what became of it at each site."""
_MOST_SECONDS = 120.0
STORED = "stored"
OFFLINE = "offline at the end of the run"


def prepare_delivery(place: Path, plan: Plan, offer: Offer) -> None:
    """Write and sign what the sites of a finished run receive, once, while the run's key exists."""
    done = (place / DELIVERY).exists() or RECORD_KEY not in list_keys(place)
    if done or not plan.server.delivers_model:
        return
    model = place / run_folder.MODEL
    delivery = ModelDelivery(
        offer=bodies.pack(offer),
        record=_sign_extract(place),
        model=model.read_bytes() if model.exists() else b"",
    )
    replace_file(place / DELIVERY, bodies.pack(delivery))


def _sign_extract(place: Path) -> bytes:
    """The entries that sites receive as a record of its own, signed with the run's key."""
    path = place / f".extract{UNFINISHED}"
    path.unlink(missing_ok=True)
    writer = record.Writer(path, key=read_record_key(place))
    try:
        for entry in run_folder.entries(place):
            if is_for_sites(entry):
                writer.append(entry)
        writer.sign()
    finally:
        writer.close()
    content = path.read_bytes()
    path.unlink()
    return content


def deliver(messenger: Messenger, place: Path, terms: Terms) -> None:
    """Send the model to the sites of a run that are online and have not stored it, and note the
    outcome in the run's folder.
    """
    path = place / DELIVERY
    if not path.exists():
        return
    outcome, online = read_delivered(place), messenger.transport.online()
    waiting = [member.site for member in terms.members if outcome.get(member.site) != STORED]
    outcome |= dict.fromkeys(waiting, OFFLINE)
    settings = messenger.settings
    messenger.settings = replace(settings, deadline=min(_MOST_SECONDS, settings.deadline))
    replies = messenger.request(
        "model",
        0,
        "model",
        dict.fromkeys([site for site in waiting if online.get(site)], path.read_bytes()),
    )
    messenger.settings = settings
    outcome |= {site: one.reason for site, one in replies.missing.items()}
    outcome |= dict.fromkeys(replies.messages, STORED)
    replace_file(place / DELIVERED, json.dumps(outcome, indent=2).encode() + b"\n")


def read_delivered(place: Path) -> dict[str, str]:
    """What became of the model at each site: `STORED`, or why not; empty if none was sent."""
    path = place / DELIVERED
    return dict(json.loads(path.read_bytes())) if path.exists() else {}
