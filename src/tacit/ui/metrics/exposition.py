"""The page `/metrics`: figures that a collector computes, written by the standard client library.

No label has a value that a server, a site or a row chose; every label is one of a few words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.ui.access.gate import METRICS


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: its name, its meaning, and its values; with a label, one for each word of it."""

    name: str
    meaning: str
    kind: Literal["gauge", "counter"] = "gauge"
    label: str = ""
    values: Mapping[str, float]


def measure(
    name: str, meaning: str, value: float, kind: Literal["gauge", "counter"] = "gauge"
) -> Metric:
    """A metric with a single value."""
    return Metric(name=name, meaning=meaning, kind=kind, values={"": value})


def build_metrics_route(read: Callable[[], Iterable[Metric]]) -> Route:
    """The route of the page; `read` is called for every request. Needs the extra `metrics`."""
    from prometheus_client import CONTENT_TYPE_LATEST

    def show(request: Request) -> Response:
        return Response(format_metrics(read()), headers={"content-type": CONTENT_TYPE_LATEST})

    return Route(METRICS, show)


def format_metrics(found: Iterable[Metric]) -> bytes:
    """Write metrics in the text format of Prometheus."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.registry import Collector

    known = list(found)

    class Once(Collector):
        """Yields the metrics that were read."""

        def collect(self) -> Iterable[CounterMetricFamily | GaugeMetricFamily]:
            """Yield them as families."""
            for one in known:
                make = CounterMetricFamily if one.kind == "counter" else GaugeMetricFamily
                family = make(one.name, one.meaning, labels=[one.label] if one.label else [])
                for word, value in one.values.items():
                    family.add_metric([word] if one.label else [], value)
                yield family

    registry = CollectorRegistry()
    registry.register(Once())
    written: bytes = generate_latest(registry)
    return written
