"""The round workload against Flower, pfl and the bare PyTorch loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.compare import Result, interleave, seconds
from bench.installs import python_of
from bench.rows import prepared
from bench.shapes import CLIENTS
from bench.worker import BenchmarkWorker


@dataclass(frozen=True)
class Peer:
    """A contender, how it is started on a kind of rows, and the bars it sets."""

    name: str
    group: str
    start: Callable[[str], BenchmarkWorker]
    wall_bar: float | None = None
    cpu_bar: float | None = None


def flower(kind: str, adam: str, step: str = "train", clients: int = CLIENTS) -> BenchmarkWorker:
    """Start Flower's simulation."""
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_DEDUP_LOGS": "0"}
    return BenchmarkWorker(
        "bench.sides.flower_round",
        kind,
        clients,
        step,
        adam,
        python=python_of("flower"),
        environment=quiet,
    )


def pfl(kind: str, processes: int, step: str = "train", clients: int = CLIENTS) -> BenchmarkWorker:
    """Start pfl, in one process or in its own two-process mode."""
    side = "bench.sides.pfl_pair" if processes == 2 else "bench.sides.pfl_round"
    return BenchmarkWorker(side, kind, clients, step, python=python_of("pfl"))


def loop(kind: str) -> BenchmarkWorker:
    """Start the bare loop; pfl's environment has the PyTorch it needs."""
    return BenchmarkWorker("bench.sides.torch_loop", kind, python=python_of("pfl"))


PEERS = (
    Peer("bare PyTorch loop, fused Adam, one core", "torch", loop, wall_bar=0.15, cpu_bar=0.25),
    Peer("pfl, one process, fused Adam", "pfl", lambda kind: pfl(kind, 1), wall_bar=1 / 8),
    Peer("pfl, two processes, fused Adam", "pfl", lambda kind: pfl(kind, 2), wall_bar=1 / 4),
    Peer(
        "Flower, two actors, fused Adam",
        "flower",
        lambda kind: flower(kind, "fused"),
        wall_bar=1 / 25,
    ),
    Peer(
        "Flower, two actors, Adam as it comes",
        "flower",
        lambda kind: flower(kind, "default"),
        wall_bar=1 / 25,
    ),
)


def run(repeats: int, peers: set[str]) -> list[Result]:
    """Every result of the round workload."""
    prepared("synthetic")
    results = _verified(peers)
    with BenchmarkWorker("bench.sides.ours_round", "synthetic", "plain", 2) as ours:
        for peer in PEERS:
            if peer.group in peers:
                results += _against(ours, "round, synthetic rows", "synthetic", peer, repeats)
    if "torch" not in peers:
        return results
    prepared("imdb")
    free = Peer(PEERS[0].name, "torch", loop)
    coded = Peer("bare PyTorch loop, fused Adam, one core, no codec", "torch", loop, wall_bar=0.25)
    for codec, peer in (("plain", free), ("rr", coded)):
        figure = "round, IMDB rows" if codec == "plain" else "round, IMDB rows, one-bit codec"
        with BenchmarkWorker("bench.sides.ours_round", "imdb", codec, 2) as ours:
            results += _against(ours, figure, "imdb", peer, repeats)
    return results


def _against(
    ours: BenchmarkWorker, figure: str, kind: str, peer: Peer, repeats: int
) -> list[Result]:
    with peer.start(kind) as theirs:
        theirs.repeat()
        pair = interleave(ours.repeat, theirs.repeat, repeats)
    return seconds(
        figure, peer.name, pair, repeats=repeats, wall_bar=peer.wall_bar, cpu_bar=peer.cpu_bar
    )


def _verified(peers: set[str]) -> list[Result]:
    """Held-out loss of every contender after the verified rounds, all from one first
    model and row order.
    """
    found = []
    for peer in PEERS:
        if peer.group in peers:
            with peer.start("synthetic") as theirs:
                found.append((peer, theirs.ask(do="verify")["loss"]))
    with BenchmarkWorker("bench.sides.ours_round", "synthetic", "plain", 2) as worker:
        ours = worker.ask(do="verify")
    note = (
        f"update of round 1 differs from the bare loop's by {ours['difference']:.1e} of its norm"
        if "difference" in ours
        else ""
    )
    return [
        Result(
            figure="held-out loss after 3 rounds",
            peer=peer.name,
            ours=ours["loss"],
            theirs=loss,
            unit="nats",
            kind="count",
            note=note if peer.group == "torch" else "",
        )
        for peer, loss in found
    ]
