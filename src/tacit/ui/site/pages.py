"""The page set of `tacit site ui`."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import Route

from tacit.ui.application import PageLink, PageSet
from tacit.ui.metrics.exposition import build_metrics_route
from tacit.ui.metrics.site_metrics import measure_site
from tacit.ui.site.data_routes import list_data_routes
from tacit.ui.site.health_routes import list_health_routes
from tacit.ui.site.ledger_routes import list_ledger_routes
from tacit.ui.site.policy_routes import list_policy_routes
from tacit.ui.site.request_routes import list_request_routes
from tacit.ui.site.space import SiteSpace


def build_site_pages(folder: Path, *, metrics: bool = False) -> PageSet:
    """Build the pages over the folder of a site, with `metrics` also those for Prometheus."""
    space = SiteSpace(folder.resolve())
    return PageSet(
        title=f"Tacit · {space.owner().name}",
        navigation=(
            PageLink(path="/", words="Who asks"),
            PageLink(path="/data", words="What this site holds"),
            PageLink(path="/policy", words="Policy"),
            PageLink(path="/ledger", words="Ledger"),
            PageLink(path="/health", words="Health"),
            PageLink(path="/history", words="History"),
            PageLink(path="/stop", words="Stop"),
        ),
        routes=[
            *list_request_routes(space),
            *list_data_routes(space),
            *list_policy_routes(space),
            *list_ledger_routes(space),
            *list_health_routes(space),
            *([_build_metrics(space)] if metrics else []),
        ],
    )


def _build_metrics(space: SiteSpace) -> Route:
    return build_metrics_route(lambda: measure_site(space.overview(patient=True)))
