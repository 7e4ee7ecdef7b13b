"""How a round grows: with clients, with parameters, with hash buckets; and the round of 100,000
clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench import ROOT
from bench.clock import Taken
from bench.compare import Result, middle
from bench.svg import Points, fitted_exponent, plot
from bench.worker import BenchmarkWorker

_IMAGES = ROOT / "docs" / "img"
_CLIENTS = (100, 1_000, 10_000, 100_000)
_WIDTHS = (100, 1_000, 10_000, 100_000)
"""With one hidden layer of 100: 10⁴ to 10⁷ parameters."""
_BUCKETS = (5_000, 20_000, 100_000, 1_000_000)
_MOST_BEYOND_DATA = 1_000_000_000


@dataclass(frozen=True)
class MeasuredSize:
    """One size measured: a round's time, its process' peak memory, and what the rows themselves
    take.
    """

    taken: Taken
    peak: int
    data: int
    parameters: int


def measured(repeats: int, *arguments: object) -> MeasuredSize:
    """One size, after a round that warms up."""
    with BenchmarkWorker("bench.sides.ours_growth", *arguments) as worker:
        worker.ask(do="repeat")
        answers = [worker.ask(do="repeat") for _ in range(repeats)]
    last = answers[-1]
    return MeasuredSize(
        middle([Taken(answer["wall"], answer["cpu"]) for answer in answers]),
        last["peak"],
        last["data"],
        last["size"],
    )


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Measure growth, and draw the figures into docs/img."""
    few = max(1, min(repeats, 3))
    by_clients = {clients: measured(few, "logistic", clients, 20, 5_000) for clients in _CLIENTS}
    by_parameters = {width: measured(few, "mlp", 100, 25, width) for width in _WIDTHS}
    by_buckets = {
        name: {width: measured(few, f"imdb-{name}", 100, 0, width) for width in _BUCKETS}
        for name in ("logistic", "embedding")
    }
    _IMAGES.mkdir(parents=True, exist_ok=True)
    return [*_clients(by_clients), *_parameters(by_parameters), *_buckets(by_buckets)]


def _clients(sizes: dict[int, MeasuredSize]) -> list[Result]:
    time = [(clients, size.taken.wall) for clients, size in sizes.items()]
    beyond = [(clients, (size.peak - size.data) / 1e6) for clients, size in sizes.items()]
    _draw(
        "clients",
        "One round, logistic regression, 5,000 buckets, 20 rows a client",
        "clients",
        {"seconds": time, "MB beyond the data": beyond},
    )
    least, most = sizes[_CLIENTS[0]], sizes[_CLIENTS[-1]]
    return [
        *_each("round", "clients", time),
        _exponent("seconds a round over clients", time),
        _exponent("memory beyond the data over clients", beyond),
        Result(
            figure="peak memory beyond the data, N = 100,000",
            peer="the bar: 1 GB",
            ours=(most.peak - most.data) / 1e6,
            theirs=_MOST_BEYOND_DATA / 1e6,
            unit="MB",
            kind="count",
            bar=1.0,
            note=f"the rows take {most.data / 1e6:,.0f} MB, the process at its peak {most.peak / 1e6:,.0f} MB",
        ),
        Result(
            figure="peak memory beyond the data, N = 100,000",
            peer="ours at N = 100",
            ours=(most.peak - most.data) / 1e6,
            theirs=(least.peak - least.data) / 1e6,
            unit="MB",
            kind="count",
        ),
    ]


def _parameters(sizes: dict[int, MeasuredSize]) -> list[Result]:
    time = [(size.parameters, size.taken.wall) for size in sizes.values()]
    memory = [(size.parameters, size.peak / 1e6) for size in sizes.values()]
    _draw(
        "parameters",
        "One round, 100 clients of 25 rows, one hidden layer",
        "parameters",
        {"seconds": time, "MB at peak": memory},
    )
    return [
        *_each("round", "parameters", time),
        _exponent("seconds a round over parameters", time),
        _exponent("peak memory over parameters", memory),
    ]


def _buckets(kinds: dict[str, dict[int, MeasuredSize]]) -> list[Result]:
    lines = {
        name: [(width, size.taken.wall) for width, size in sizes.items()]
        for name, sizes in kinds.items()
    }
    _draw(
        "buckets",
        "One round, 100 clients, IMDB reviews",
        "hash buckets",
        {f"{name}, s": points for name, points in lines.items()},
    )
    results = []
    for name, points in lines.items():
        base = points[0][1]
        results += [
            Result(
                figure=f"round, {name}, {width:,} buckets",
                peer="ours at 5,000",
                ours=seconds,
                theirs=base,
                unit="s",
            )
            for width, seconds in points[1:]
        ]
        results.append(_exponent(f"seconds a round over buckets, {name}", points))
    return results


def _each(figure: str, unit: str, points: Points) -> Sequence[Result]:
    return [
        Result(
            figure=f"{figure}, {count:,} {unit}",
            peer="–",
            ours=1 / seconds,
            theirs=None,
            unit="rounds/s",
            better="higher",
        )
        for count, seconds in points
    ]


def _exponent(figure: str, points: Points) -> Result:
    return Result(
        figure=figure,
        peer="–",
        ours=fitted_exponent(points),
        theirs=None,
        unit="exponent",
        kind="count",
    )


def _draw(name: str, title: str, across: str, lines: dict[str, Points]) -> None:
    (_IMAGES / f"speed-{name}.svg").write_text(plot(title, across, lines))
