"""Where a site keeps the private parameters that belong to a model in its folder `models`."""

from __future__ import annotations

from pathlib import Path

from tacit.deployment.site.models.received_model import MODELS
from tacit.deployment.site.rows.site_rows import THE_SITE
from tacit.deployment.site.site_folder import SECRET
from tacit.deployment.site.site_side import PRIVATE
from tacit.deployment.transport.certificates import read_private
from tacit.plan import Plan
from tacit.runs.client_numbers import CLIENTS, ClientParts, load_clients


def find_site_parts(folder: Path, plan: Plan) -> ClientParts | None:
    """Find the private parameters for the model in SITE/models/RUN; None if the folder is no model
    of a site that took part in the run.
    """
    place = folder.resolve()
    site = place.parent.parent
    kept = site / "runs" / place.name
    if place.parent.name != MODELS or not (kept / CLIENTS).exists():
        return None
    by_column = plan.data.columns.client is not None
    return ClientParts(
        folder=kept / PRIVATE,
        numbers=load_clients(kept),
        secret=read_private(site / SECRET),
        by_column=by_column,
        only=None if by_column else THE_SITE,
    )
