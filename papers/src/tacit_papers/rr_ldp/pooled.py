"""Tables 8 to 10: central training, the value of different features of the text."""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.published import PaperCell, PaperTable, PaperTrial
from tacit_papers.rr_ldp import printed
from tacit_papers.rr_ldp.settings import (
    DROPOUT_MLP,
    POOLED_IMDB,
    POOLED_IMDB_LINEAR,
    POOLED_IMDB_WORDS,
    limit,
    seeds,
)

_LOGISTIC = {"name": "logistic"}
_SIZES: dict[Scale, tuple[int, ...]] = {"smoke": (100,), "quick": (100,), "full": (100, 200, 300)}
_WORD2VEC_ROWS: dict[Scale, int | None] = {"smoke": 50, "quick": 5000, "full": None}
_FLAT_RATINGS = 200_000
_TEXTS = {  # row of table 10: what `averaged_vectors` calls it
    "no text": "none", "vectors, all keywords averaged": "all", "vectors, 100 most common averaged": "common",
    "vectors, 100 most common side by side": "flat", "hash": "hash",
}  # fmt: skip


def hash_sizes(scale: Scale) -> PaperTable:
    """The half of table 8 that compares hashes of several sizes with word counts."""
    cells: list[PaperCell] = []
    for buckets, values in printed.TABLE_8.items():
        trials = (
            POOLED_IMDB_LINEAR.trial(scale, _LOGISTIC, buckets),
            POOLED_IMDB.trial(scale, DROPOUT_MLP, buckets),
        )
        cells += _four(f"hash, {buckets:,} buckets", values, trials)
    values = printed.TABLE_8_TERM_FREQUENCY
    settings = {"source": "imdb", "limit": limit(scale, None).get("limit")}
    logistic, network = (
        PaperTrial(kind="term_frequency", settings={**settings, "model": model}, seeds=seeds(scale))
        for model in ("logistic", "mlp")
    )
    cells += _four("term frequency", values, (logistic, network))
    note = (
        "LR: SGD at .1 on hashes, Adam on counts; NN: Adam, dropout of .2 on hashes, none on"
        " counts. The paper uses SGD for LR and a dropout whose rate it does not state; rates are"
        " chosen on validation rows."
    )
    return PaperTable(
        name="8",
        title="IMDB, central: hash buckets against term frequency",
        cells=tuple(cells),
        note=note,
    )


def word_vectors(scale: Scale) -> PaperTable:
    """The other half of table 8. Training the vectors takes minutes per corpus, so the quick scale
    uses a subset of the reviews.
    """
    cells: list[PaperCell] = []
    for corpus, values in printed.TABLE_8_WORD2VEC.items():
        settings = {"corpus": corpus, "limit": _WORD2VEC_ROWS[scale]}
        trial = PaperTrial(
            kind="word2vec", settings=settings, seeds=(1,) if scale == "smoke" else (1, 2, 3)
        )
        cells += _four(f"word2vec, {corpus}", values, (trial, trial), ("logistic ", "mlp "))
    note = (
        "train: words of the training reviews; full: of all reviews; limited: the 5,000 most"
        " frequent words."
    )
    return PaperTable(
        name="8-word2vec", title="IMDB, central: averaged word2vec", cells=tuple(cells), note=note
    )


def _four(
    row: str,
    values: tuple[float, ...],
    trials: tuple[PaperTrial, PaperTrial],
    prefixes: tuple[str, str] = ("", ""),
) -> list[PaperCell]:
    """A row of table 8: accuracy and AUC of both models, by the names in their trials."""
    columns = [
        (f"{name} {metric}", trial, f"{prefix}{metric}")
        for name, trial, prefix in zip(("LR", "NN"), trials, prefixes, strict=True)
        for metric in ("accuracy", "auc")
    ]
    return [
        PaperCell(row=row, column=column, paper=paper, trial=trial, metric=metric)
        for (column, trial, metric), paper in zip(columns, values, strict=True)
    ]


def embeddings(scale: Scale) -> PaperTable:
    """Table 9 at a scale."""
    cells = []
    for buckets, values in printed.TABLE_9.items():
        for size, pair in zip((100, 200, 300), values, strict=True):
            if size not in _SIZES[scale] or (scale == "smoke" and buckets > 5000):
                continue
            trial = POOLED_IMDB_WORDS.trial(
                scale, {"name": "embedding", "embedding": size, "hidden": [100, 50, 25]}, buckets
            )
            for metric, paper in zip(("accuracy", "auc"), pair, strict=True):
                row = f"{buckets:,} buckets"
                cells.append(
                    PaperCell(
                        row=row, column=f"{size} {metric}", paper=paper, trial=trial, metric=metric
                    )
                )
    return PaperTable(
        name="9", title="IMDB, central: trainable embedding of hashed words", cells=tuple(cells)
    )


def movie_text(scale: Scale) -> PaperTable:
    """Table 10 at a scale."""
    cells = []
    for row, pair in printed.TABLE_10.items():
        rows = (
            _FLAT_RATINGS
            if _TEXTS[row] == "flat" and scale == "full"
            else limit(scale, _FLAT_RATINGS).get("limit")
        )
        settings = {"text": _TEXTS[row], "limit": rows}
        trial = PaperTrial(kind="averaged_vectors", settings=settings, seeds=seeds(scale))
        for metric, paper in zip(("accuracy", "auc"), pair, strict=True):
            cells.append(PaperCell(row=row, column=metric, paper=paper, trial=trial, metric=metric))
    trials = {cell.row: cell.trial for cell in cells}
    gain = PaperCell(
        row="hash minus no text",
        column="auc",
        paper=0.05,
        trial=trials["hash"],
        minus=trials["no text"],
        metric="auc",
    )
    cells.append(gain)
    note = (
        "GloVe 100-d replaces fastText 300-d, and TMDB keywords (7.7 per movie) replace IMDb's (165"
        f" per movie). Concatenated vectors use {_FLAT_RATINGS:,} ratings at every scale: their"
        " rows have 10,000 columns."
    )
    return PaperTable(
        name="10",
        title="MovieLens, central: with and without keywords",
        cells=tuple(cells),
        note=note,
    )
