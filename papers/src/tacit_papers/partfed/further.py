"""Experiments that the paper names without a figure: balanced classes, and images by similarity."""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.partfed import further_rows
from tacit_papers.partfed.further_rows import KEY, KEY_BITS, PIXELS, name_pixels
from tacit_papers.partfed.settings import (
    CENTRAL,
    ENCODINGS,
    FEDAVG,
    SIZES,
    Tree,
    count_trial,
    plan,
    train_trial,
)
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

_HERE = further_rows.__name__
BALANCED_K = {50: 84, 100: 184, 150: 281}
"""l of label_k → the k with which k-anonymity shares about as many rows of balanced Adult."""
IMAGE_K = (CENTRAL, 50, 200, FEDAVG)
SHARED, ACCURACY = "rows shared", "accuracy at the end"
_IMAGE_CLIENTS, _IMAGE_ROUNDS = 10, 20
_SKEW = 0.1


def balanced(scale: Scale) -> PaperTable:
    """Sharing by l and by k where as many rows have one label as the other."""
    trees = {"k=1 (one place)": _balance(scale, "k_anonymity", CENTRAL)}
    cells = list[PaperCell]()
    for l, k in BALANCED_K.items():  # noqa: E741 (the paper's name for it)
        trees[f"l={l}"] = _balance(scale, "label_k", l)
        trees[f"k={k}"] = _balance(scale, "k_anonymity", k)
    trees["averaging"] = _balance(scale, "k_anonymity", FEDAVG)
    trials = {row: train_trial(tree, SIZES[scale].seeds) for row, tree in trees.items()}
    for row, tree in trees.items():
        cells += _describe(row, tree, trials[row])
    cells += [
        PaperCell(
            row=name_difference(l),
            column=ACCURACY,
            paper=None,
            trial=trials[f"l={l}"],
            minus=trials[f"k={k}"],
            metric="accuracy",
        )
        for l, k in BALANCED_K.items()  # noqa: E741
    ]
    note = (
        "Not in the paper, which only states the result. Adult with all rows above 50K and as many"
        " below, chosen at random; the rest as in Figures 5 to 7. Each k shares about as many"
        " rows as the l above it."
    )
    return PaperTable(
        name="balanced", title="Balanced classes: l against k", cells=tuple(cells), note=note
    )


def name_difference(l: int) -> str:  # noqa: E741
    """The name of the row that compares l with the k that shares as many rows."""
    return f"l={l} minus k={BALANCED_K[l]}"


def images(scale: Scale) -> PaperTable:
    """Images shared by a measure of similarity."""
    cells = list[PaperCell]()
    for k in IMAGE_K:
        tree = _plan_images(scale, k)
        cells += _describe(image_row(k), tree, train_trial(tree, SIZES[scale].seeds))
    note = (
        f"Not in the paper, which names no measure. {further_rows.IMAGE_ROWS:,} MNIST images as"
        f" {PIXELS} means of blocks; the key is the side of {KEY_BITS} public random planes"
        " through the mean (`tacit.data.k_anonymity.similarity_key`). Ten clients, labels drawn"
        f" from Dirichlet({_SKEW:g})."
    )
    return PaperTable(
        name="images", title="Images: accuracy by k with a key of similarity", cells=tuple(cells), note=note
    )  # fmt: skip


def image_row(k: int) -> str:
    """The name of a row of images."""
    return {CENTRAL: "k=1 (one place)", FEDAVG: "averaging"}.get(k, f"k={k}")


def _describe(row: str, tree: Tree, trial: PaperTrial) -> list[PaperCell]:
    whole = {**tree, "data": {key: value for key, value in tree["data"].items() if key != "limit"}}
    shared = PaperCell(
        row=row, column=SHARED, paper=None, trial=count_trial("sharing", plan=whole), metric="share"
    )
    result = PaperCell(row=row, column=ACCURACY, paper=None, trial=trial, metric="accuracy")
    return [shared, result]


def _balance(scale: Scale, rule: str, k: int) -> Tree:
    tree = plan(scale, rule, k)
    columns = {
        **ENCODINGS["E1"]["columns"],
        "label": further_rows.LABEL,
        "quasi": ["age", "race", "sex"],
    }
    tree["data"] |= {"source": f"{_HERE}:build_balanced_adult", "columns": columns}
    return tree


def _plan_images(scale: Scale, k: int) -> Tree:
    size = SIZES[scale]
    limit = {} if size.limit is None else {"limit": size.limit}
    threshold = further_rows.IMAGE_ROWS + 1 if k == FEDAVG else k
    columns = {"numeric": list(name_pixels()), "label": "digit", "quasi": [KEY]}
    return {
        "name": "trial",
        "data": {
            "source": f"{_HERE}:build_keyed_images",
            "clients": min(size.clients, _IMAGE_CLIENTS),
            "partition": "dirichlet",
            "alpha": _SKEW,
            "test": 0.3,
            "columns": columns,
            **limit,
            "share": {"rule": "k_anonymity", "k": threshold, "counts": "with_test"},
        },
        "model": {"name": "mlp", "hidden": [64]},
        "local": {"optimizer": "adam", "lr": 1e-3, "batch": 32, "epochs": 1},
        "codec": {"name": "plain"},
        "server": {"rounds": min(size.rounds, _IMAGE_ROUNDS), "weights": "rows"},
    }  # fmt: skip
