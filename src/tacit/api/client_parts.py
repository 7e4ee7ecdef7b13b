"""Where the private parameters of a run's clients are: at a site, or in a simulated run's folder."""

from __future__ import annotations

from pathlib import Path

from tacit.plan import Plan
from tacit.runs.client_numbers import ClientParts, find_simulated_parts


def find_client_parts(folder: Path, plan: Plan) -> ClientParts | None:
    """Find the private parameters of the clients of a run's folder; None if they are elsewhere."""
    from tacit.deployment.site.models.site_parts import find_site_parts

    return find_simulated_parts(folder, plan) or find_site_parts(folder, plan)
