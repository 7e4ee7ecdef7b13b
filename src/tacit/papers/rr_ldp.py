"""RR-LDP: Nagy et al. 2023, tables 1 to 10. The printed numbers, and the plans that stand beside them."""

from __future__ import annotations

from typing import Any

from tacit.papers.published import Cell, Paper, Scale, Table, Trial

CLIENTS = (10, 50, 100, 250)
_MLP = {"name": "mlp", "hidden": [100, 50, 25]}

# Table 1 and 2: AUC by rounds (rows) and clients (columns).
_ROUNDS = (1, 5, 10, 15, 20, 25, 30, 40, 50)
_T1 = (
    (0.586, 0.558, 0.724, 0.570), (0.789, 0.699, 0.810, 0.814), (0.841, 0.836, 0.847, 0.854), (0.869, 0.872, 0.875, 0.879),
    (0.889, 0.895, 0.899, 0.899), (0.898, 0.909, 0.911, 0.911), (0.899, 0.913, 0.916, 0.915), (0.894, 0.916, 0.919, 0.919),
    (0.885, 0.915, 0.918, 0.918),
)  # fmt: skip
_T2 = (
    (0.695, 0.682, 0.649, 0.552), (0.717, 0.716, 0.711, 0.644), (0.722, 0.720, 0.716, 0.681), (0.723, 0.722, 0.720, 0.699),
    (0.724, 0.724, 0.722, 0.707), (0.725, 0.726, 0.723, 0.709), (0.727, 0.726, 0.725, 0.712), (0.728, 0.728, 0.727, 0.715),
    (0.729, 0.729, 0.728, 0.718),
)  # fmt: skip
_T3 = {
    1e-2: (0.678, 0.727, 0.757, 0.792),
    1e-3: (0.860, 0.877, 0.886, 0.887),
    1e-4: (0.887, 0.903, 0.900, 0.891),
    1e-5: (0.801, 0.882, 0.888, 0.875),
}
_T4 = {
    1.0: (0.665, 0.699, 0.702, 0.699),
    0.1: (0.721, 0.723, 0.725, 0.718),
    0.01: (0.730, 0.730, 0.729, 0.712),
    0.001: (0.731, 0.730, 0.728, 0.710),
}
_T5 = {0.1: (0.586, 0.782, 0.776, 0.839), 1.0: (0.871, 0.866, 0.894, 0.890), 10.0: (0.887, 0.903, 0.900, 0.891)}
_T6 = {0.1: (0.713, 0.718, 0.718, 0.713), 1.0: (0.728, 0.729, 0.728, 0.710), 10.0: (0.730, 0.730, 0.729, 0.712)}
_T7 = {
    ("MovieLens", "central"): (0.745, 0.682),
    ("IMDB", "central"): (0.923, 0.856),
    ("MovieLens", "federated"): (0.756, 0.676),
    ("IMDB", "federated"): (0.927, 0.844),
}
_T8 = {  # buckets: (LR accuracy, LR AUC, NN accuracy, NN AUC)
    5_000: (0.858, 0.930, 0.858, 0.929), 10_000: (0.870, 0.940, 0.871, 0.938), 20_000: (0.875, 0.944, 0.874, 0.940),
    50_000: (0.880, 0.949, 0.879, 0.944), 90_860: (0.881, 0.950, 0.881, 0.946),
}  # fmt: skip
_T8_TERM_FREQUENCY = (0.881, 0.948, 0.877, 0.940)
_T8_WORD2VEC = {
    "train": (0.863, 0.935, 0.842, 0.916), "full": (0.875, 0.944, 0.851, 0.914), "limited": (0.865, 0.939, 0.836, 0.896),
}  # fmt: skip
_T9 = {  # buckets: ((accuracy, AUC) for embeddings of 100, 200, 300)
    5_000: ((0.849, 0.923), (0.848, 0.923), (0.849, 0.924)), 10_000: ((0.859, 0.931), (0.858, 0.931), (0.857, 0.931)),
    20_000: ((0.865, 0.935), (0.864, 0.935), (0.863, 0.934)), 50_000: ((0.869, 0.941), (0.869, 0.940), (0.869, 0.939)),
    1_000_000: ((0.875, 0.943), (0.874, 0.943), (0.875, 0.943)),
}  # fmt: skip
_T10 = {
    "no text": (0.643, 0.679),
    "vectors, all keywords averaged": (0.682, 0.732),
    "vectors, 100 most common averaged": (0.681, 0.732),
    "hash": (0.681, 0.729),
}


def tables(scale: Scale) -> tuple[Table, ...]:
    """Return the paper's tables at a scale."""
    return (
        _by_rounds("1", "IMDB, AUC by rounds and clients", _T1, _imdb_slow, scale, margin=0.0),
        _by_rounds("2", "MovieLens, AUC by rounds and clients", _T2, _movielens, scale, margin=0.03),
        _by_clip("3", "IMDB, AUC by clip q and clients, epsilon 10 per bit", _T3, _imdb, scale, 0.02),
        _by_clip("4", "MovieLens, AUC by clip q and clients, epsilon 10 per bit", _T4, _movielens, scale, 0.03),
        _by_epsilon("5", "IMDB, AUC by epsilon per bit and clients", _T5, _imdb, 1e-3, scale, 0.02),
        _by_epsilon("6", "MovieLens, AUC by epsilon per bit and clients", _T6, _movielens, 1e-2, scale, 0.03),
        _recurrent(scale),
        _hash_sizes(scale),
        _word_vectors(scale),
        _embeddings(scale),
        _movie_text(scale),
        _decoders(scale),
    )


def _limit(scale: Scale, quick: int | None) -> dict[str, int]:
    rows = {"smoke": 300, "quick": quick, "full": None}[scale]
    return {} if rows is None else {"limit": rows}


def _rounds(scale: Scale, full: int, quick: int) -> int:
    return {"smoke": 1, "quick": quick, "full": full}[scale]


def _imdb(scale: Scale, clients: int, rounds: int, codec: dict[str, Any]) -> Trial:
    """IMDB with three local epochs of five batches a round, Adam 1e-3, fresh each round: tables 3 and 5."""
    return _federated("imdb", scale, None, clients, rounds, codec, {"lr": 1e-3, "epochs": 3, "batches": 5}, {"buckets": 5000})


def _imdb_slow(scale: Scale, clients: int, rounds: int, codec: dict[str, Any]) -> Trial:
    """IMDB with one local epoch of six batches a round: as good after 30 rounds and not overfitted after 50 (table 1)."""
    return _federated("imdb", scale, None, clients, rounds, codec, {"lr": 1e-3, "epochs": 1, "batches": 6}, {"buckets": 5000})


def _movielens(scale: Scale, clients: int, rounds: int, codec: dict[str, Any]) -> Trial:
    """The one setting used for every MovieLens cell: one local epoch of five batches, Adam 1e-2, stop words dropped."""
    features = {"buckets": 5000, "stop_words": True}
    return _federated("movielens1m", scale, 100_000, clients, rounds, codec, {"lr": 1e-2, "epochs": 1, "batches": 5}, features)


def _federated(
    source: str, scale: Scale, quick: int | None, clients: int, rounds: int, codec: dict[str, Any],
    local: dict[str, Any], features: dict[str, Any],
) -> Trial:  # fmt: skip
    clients = min(clients, 5) if scale == "smoke" else clients
    plan = {
        "name": "trial",
        "seed": 1,
        "data": {"source": source, "clients": clients, "partition": "iid", **_limit(scale, quick)},
        "features": features,
        "model": _MLP,
        "local": {"optimizer": "adam", **local},
        "codec": codec,
        "server": {"rounds": rounds},
    }
    return Trial(kind="plan", settings=plan)


def _rr(epsilon: float, clip: float, **more: Any) -> dict[str, Any]:
    return {"name": "rr", "epsilon": epsilon, "clip": clip, **more}


def _floor(scale: Scale, value: float) -> float:
    """A slice of the data proves that a cell runs, not where it lies."""
    return 0.0 if scale == "smoke" else round(value, 4)


def _by_rounds(name: str, title: str, printed: Any, trial: Any, scale: Scale, margin: float) -> Table:
    imdb = trial is _imdb_slow
    rounds, clip = _rounds(scale, 50, 50 if imdb else 25), 4e-3 if imdb else 1e-2
    cells = [
        Cell(
            row=f"R={round_no}", column=f"N={clients}", paper=paper, trial=trial(scale, clients, rounds, _rr(10.0, clip)),
            metric="auc", round_no=round_no, low=_floor(scale, paper - margin if round_no >= 5 else 0.5),
        )
        for round_no, values in zip(_ROUNDS, printed, strict=True)
        for clients, paper in zip(CLIENTS, values, strict=True)
        if round_no <= rounds
    ]  # fmt: skip
    source, paper = ("imdb", 0.923) if imdb else ("movielens1m", 0.730)
    low = _floor(scale, 0.920 if imdb else paper - margin)
    cells.append(Cell(row="central", column="", paper=paper, trial=_central(source, scale), metric="auc", low=low))
    return Table(name=name, title=title, cells=tuple(cells), note=f"epsilon 10 per bit, q = {clip:g}; the paper states neither.")


def _by_clip(name: str, title: str, printed: Any, trial: Any, scale: Scale, margin: float) -> Table:
    rounds = _rounds(scale, 50 if trial is _imdb else 25, 25)
    best = max(max(values) for values in printed.values())
    cells = [
        Cell(
            row=f"q={clip:g}", column=f"N={clients}", paper=paper, trial=trial(scale, clients, rounds, _rr(10.0, clip)),
            metric="auc", low=_floor(scale, paper - margin if paper > best - 0.05 else 0.5),
        )
        for clip, values in printed.items()
        for clients, paper in zip(CLIENTS, values, strict=True)
    ]  # fmt: skip
    note = (
        f"After {rounds} rounds; the paper does not state how many. In R rounds a weight moves by at most R·q, "
        "so the smallest q cannot get far in the rounds given here."
    )
    return Table(name=name, title=title, cells=tuple(cells), note=note)


def _by_epsilon(name: str, title: str, printed: Any, trial: Any, clip: float, scale: Scale, margin: float) -> Table:
    rounds = _rounds(scale, 50 if trial is _imdb else 25, 25)
    cells = [
        Cell(
            row=f"epsilon {epsilon:g} per bit", column=f"N={clients}", paper=paper,
            trial=trial(scale, clients, rounds, _rr(epsilon, clip)), metric="auc",
            low=_floor(scale, paper - margin if epsilon >= 1 or clients == 250 else 0.5),
        )
        for epsilon, values in printed.items()
        for clients, paper in zip(CLIENTS, values, strict=True)
    ]  # fmt: skip
    return Table(name=name, title=title, cells=tuple(cells), note=f"q = {clip:g}, {rounds} rounds.")


def _recurrent(scale: Scale) -> Table:
    """Table 7: an LSTM of 50 over word indices; MovieLens' other features stand beside its last state."""
    cells = []
    for name, source, lr, clip, quick in (("IMDB", "imdb", 1e-3, 1e-3, None), ("MovieLens", "movielens1m", 1e-2, 1e-2, 25_000)):
        plan = {
            "name": "trial",
            "seed": 1,
            "data": {"source": source, "clients": 3 if scale == "smoke" else 100, "partition": "iid", **_limit(scale, quick)},
            "features": {
                "text": "sequence", "buckets": 5000, "stop_words": source == "movielens1m",
                "length": {"smoke": 10, "quick": 100, "full": 300}[scale],
            },
            "model": {"name": "lstm", "embedding": 100, "hidden": [100, 50, 25]},
            "local": {"optimizer": "adam", "lr": lr, "epochs": 3, "batches": 5},
            "codec": _rr(1.0, clip),
            "server": {"rounds": _rounds(scale, 25, 25), "evaluate_every": _rounds(scale, 5, 5)},
        }  # fmt: skip
        central = {**plan, "codec": {"name": "plain"}, "server": {"rounds": _rounds(scale, 4, 4)}}
        central["local"] = {"optimizer": "adam", "lr": 1e-3, "method": "central", "batch": 50 if source == "imdb" else 500}
        for kind, settings in (("central", central), ("federated", plan)):
            trial = Trial(kind="plan", settings=settings)
            for metric, paper in zip(("auc", "accuracy"), _T7[name, kind], strict=True):
                low = _floor(scale, paper - 0.03)
                cells.append(Cell(row=f"{name}, {kind}", column=metric, paper=paper, trial=trial, metric=metric, low=low))
    note = "N=100, 25 rounds, epsilon 1 per bit, q = .001 and .01. At quick scale: 100 words a row, 25,000 ratings."
    return Table(name="7", title="LSTM(50) as first layer", cells=tuple(cells), note=note)


def _central(source: str, scale: Scale, model: dict[str, Any] | None = None, **features: Any) -> Trial:
    """A model trained on the pooled rows; the epoch is chosen on a tenth of the training rows, never on the test rows."""
    chosen: dict[str, Any] = {"buckets": 5000, **features}
    if source == "movielens1m":
        chosen["stop_words"] = True
    batch = 1000 if source == "movielens1m" else 128 if features.get("text") == "sequence" else 32
    settings = {
        "source": source,
        "features": chosen,
        "model": model or _MLP,
        "local": {"optimizer": "adam", "lr": 1e-2 if source == "movielens1m" else 1e-3, "batch": batch},
        "limit": _limit(scale, 100_000 if source == "movielens1m" else None).get("limit"),
        "seed": 1,
    }
    return Trial(kind="central", settings=settings)


def _four(row: str, printed: Any, trials: tuple[Trial, Trial], scale: Scale, lows: tuple[float, float]) -> list[Cell]:
    cells = []
    for n, name in enumerate(("LR", "NN")):
        for m, metric in enumerate(("accuracy", "auc")):
            paper = printed[2 * n + m]
            low = _floor(scale, lows[m] if n == 0 else paper - 0.02)
            cells.append(Cell(row=row, column=f"{name} {metric}", paper=paper, trial=trials[n], metric=metric, low=low))
    return cells


def _hash_sizes(scale: Scale) -> Table:
    cells: list[Cell] = []
    for buckets, printed in _T8.items():
        trials = (_central("imdb", scale, {"name": "logistic"}, buckets=buckets), _central("imdb", scale, _MLP, buckets=buckets))
        floor = {5_000: 0.925, 50_000: 0.940}.get(buckets, printed[1] - 0.01)
        cells += _four(f"hash, {buckets:,} buckets", printed, trials, scale, (printed[0] - 0.01, floor))
    made = [Trial(kind="term_frequency", settings={"source": "imdb", "model": m, **_common(scale)}) for m in ("logistic", "mlp")]
    printed = _T8_TERM_FREQUENCY
    cells += _four("term frequency", printed, (made[0], made[1]), scale, (printed[0] - 0.02, printed[1] - 0.02))
    return Table(name="8", title="IMDB, central: hash buckets against term frequency", cells=tuple(cells))


def _common(scale: Scale, quick: int | None = None) -> dict[str, Any]:
    return {"limit": _limit(scale, quick).get("limit"), "seed": 1}


def _word_vectors(scale: Scale) -> Table:
    """The other half of table 8. Training the vectors takes minutes a corpus, so quick has a slice of the reviews."""
    cells: list[Cell] = []
    for name, printed in _T8_WORD2VEC.items():
        settings = {"corpus": name, **_common(scale, 5000)}
        made = [Trial(kind="word2vec", settings={**settings, "model": m}) for m in ("logistic", "mlp")]
        margin = 0.02 if scale == "full" else 0.1
        cells += _four(f"word2vec, {name}", printed, (made[0], made[1]), scale, (printed[0] - margin, printed[1] - margin))
    note = "train: words of the training reviews; full: of all reviews; limited: the 5,000 most frequent words."
    return Table(name="8-word2vec", title="IMDB, central: averaged word2vec", cells=tuple(cells), note=note)


def _embeddings(scale: Scale) -> Table:
    sizes = {"smoke": (100,), "quick": (100,), "full": (100, 200, 300)}[scale]
    cells = []
    for buckets, printed in _T9.items():
        for size, (accuracy, auc) in zip((100, 200, 300), printed, strict=True):
            if size not in sizes or (scale == "smoke" and buckets > 5000):
                continue
            model = {"name": "embedding", "embedding": size, "hidden": [100, 50, 25]}
            trial = _central("imdb", scale, model, buckets=buckets, text="sequence")
            for metric, paper in (("accuracy", accuracy), ("auc", auc)):
                low = _floor(scale, paper - 0.02)
                cells.append(
                    Cell(row=f"{buckets:,} buckets", column=f"{size} {metric}", paper=paper, trial=trial, metric=metric, low=low)
                )
    return Table(name="9", title="IMDB, central: trainable embedding of hashed words", cells=tuple(cells))


def _movie_text(scale: Scale) -> Table:
    kinds = {
        "no text": "none", "vectors, all keywords averaged": "all", "vectors, 100 most common averaged": "common",
        "hash": "hash",
    }  # fmt: skip
    cells = []
    for row, (accuracy, auc) in _T10.items():
        settings = {"text": kinds[row], "limit": _limit(scale, 200_000).get("limit"), "seed": 1}
        trial = Trial(kind="averaged_vectors", settings=settings)
        for metric, paper in (("accuracy", accuracy), ("auc", auc)):
            cells.append(Cell(row=row, column=metric, paper=paper, trial=trial, metric=metric, low=_floor(scale, paper - 0.03)))
    note = "GloVe 100-d stands in for fastText 300-d, TMDB keywords (7.7 a movie) for IMDb's (165 a movie)."
    return Table(name="10", title="MovieLens, central: with and without keywords", cells=tuple(cells), note=note)


def _decoders(scale: Scale) -> Table:
    rounds = _rounds(scale, 25, 15)
    cells = [
        Cell(
            row=f"epsilon {epsilon:g} per bit", column=decoder, paper=None, metric="auc",
            trial=_imdb(scale, 100, rounds, _rr(epsilon, 1e-3, decoder=decoder)),
        )
        for epsilon in (10.0, 1.0, 0.1)
        for decoder in ("corrected", "printed")
    ]  # fmt: skip
    note = "The printed equation 5 multiplies by f where it must divide: the signal shrinks by f² and every weight drifts."
    return Table(name="decoders", title="IMDB, N=100: the corrected decoder and the printed one", cells=tuple(cells), note=note)


def _settings(scale: Scale) -> str:
    words = {
        "smoke": "a few hundred rows, one round, five clients: it proves that every cell runs.",
        "quick": "IMDB whole, at most 30 rounds; 100,000 MovieLens ratings for training; embeddings of 100; "
        "the LSTM on 100 words a row and 25,000 ratings.",
        "full": "all rows, the paper's rounds and sizes.",
    }
    return words[scale]


PAPER = Paper(
    name="rr-ldp",
    title="RR-LDP: randomised response on one-bit updates, with hashed text (Nagy et al., Knowledge-Based Systems 268, 2023)",
    first_words=(
        "The paper's epsilon is per transmitted bit. A model of d parameters sends d bits a round, so one update costs d times "
        "that and a run of R rounds R times more: epsilon 1 per bit is 506,451 per update of the network used here. "
        "Only single bits are deniable; nothing meaningful is promised about a whole update."
    ),
    tables=tables,
    settings_note=_settings,
)
