"""Both promises of `tacit init` by number of people, next to scikit-learn: `python -m bench defaults
--grid`.

A cell is one run of the plan `init` writes, with nothing changed but the source, the number of
people and epsilon, measured on test rows. It is compared with what a person with all rows would
write: TfidfVectorizer, or StandardScaler and OneHotEncoder, and LogisticRegression, on the same
rows. Each cell is a file below bench/out/defaults, so a stop loses one run; the table is made of
the cells that are there. `--limit` bounds the train rows and the test rows of a set, for both
sides.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bench import ROOT
from bench.made_sets import MADE, file_of
from tacit import data, plan, simulation
from tacit.plan.presets.one_bit import choose_one_bit_rule
from tacit.plan.presets.private_rule import TABLES, inputs_of, rule
from tacit.plan.presets.starter import TextReading, starter_text
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD

OUT = ROOT / "bench" / "out" / "defaults"
SOURCES = (
    "breast_cancer",
    "spambase",
    "rare",
    "emoji",
    "russian",
    "chinese",
    "ag_news",
    "newsgroups20",
    "adult",
    "cardio",
    "sst2",
    "imdb",
)
ARMS = ("private 8", "one-bit", "private 2", "private 1")
PEOPLE = (5000, 500, 100)
Figures = dict[str, float]


@dataclass(frozen=True)
class GridRun:
    """One run: a set, a promise, and at most a given number of people; where there are fewer train
    rows, each row is a person.
    """

    source: str
    arm: str
    people: int
    seed: int
    limit: int | None

    def kept(self) -> Path:
        """Where the figures of the cell are kept."""
        key = hashlib.sha256(json.dumps([*vars(self).values(), self.rules()]).encode()).hexdigest()[
            :16
        ]
        return OUT / f"cell-{key}.json"

    def rules(self) -> str:
        """The settings that follow from the promise and the people: a cell of other settings is
        another cell.
        """
        if self.arm == "scikit-learn":
            return ""
        if self.arm == "one-bit":
            return str(choose_one_bit_rule(text=_is_text(self.source), clients=self.people))
        inputs = inputs_of(
            {"data": {"source": self.source, "columns": asdict(self.settings().columns)}}
        )
        return str(rule(float(self.arm.removeprefix("private ")), self.people, inputs))

    def read(self) -> Figures | None:
        """The figures of the cell, if it has run."""
        path = self.kept()
        return json.loads(path.read_text())["figures"] if path.exists() else None

    def run(self) -> Figures:
        """The figures of the cell, found before or now."""
        if (found := self.read()) is not None:
            return found
        figures = (
            scikit_learn(self.table()) if self.arm == "scikit-learn" else run_plan(self.tree())
        )
        OUT.mkdir(parents=True, exist_ok=True)
        self.kept().write_text(
            json.dumps({"cell": vars(self), "rules": self.rules(), "figures": figures})
        )
        return figures

    def settings(self) -> plan.Data:
        """Where the rows come from."""
        if self.source not in MADE:
            return plan.Data(source=self.source, limit=self.limit)
        columns = (
            plan.Columns(label="label", text=("text",))
            if MADE[self.source].text
            else _numbers(file_of(self.source))
        )
        return plan.Data(source=str(file_of(self.source)), columns=columns, limit=self.limit)

    def table(self) -> data.Table:
        """The rows both sides see: sets without test rows of their own hold the same ones out for
        both.
        """
        return data.load(self.settings(), Draws.seeded(self.seed).at("data"))

    def tree(self) -> dict[str, Any]:
        """The plan of `init` for such a table."""
        table = self.table()
        columns, rows = table.columns, table.train.height
        roles = {
            name: role
            for role in ("text", "numeric", "categorical")
            for name in getattr(columns, role)
        }
        people = min(self.people, rows)
        text = starter_text(
            {**roles, columns.label or "": "label"},
            str(self.settings().source),
            rows,
            0,
            "defaults",
            "plan.toml",
            reading=TextReading("binary") if self.source in MADE else None,
            one_bit=people if self.arm == "one-bit" else None,
        )
        tree = tomllib.loads(text)
        if self.source not in MADE:
            del tree["data"]["columns"], tree["data"]["test"]
        if self.arm != "one-bit":
            tree["privacy"]["epsilon"] = float(self.arm.removeprefix("private "))
        tree["data"] |= {"clients": people, **({"limit": self.limit} if self.limit else {})}
        return tree | {"seed": self.seed, "baselines": []}


def run_plan(tree: dict[str, Any]) -> Figures:
    """What the model of a plan reaches after the last round."""
    with tempfile.TemporaryDirectory() as root:
        entries = list(record.read(simulation.start(plan.parse(tree), Path(root)) / RECORD))
    return {
        **record.select_entries(entries, record.Round)[-1].metrics,
        "people": float(tree["data"]["clients"]),
    }


def scikit_learn(table: data.Table) -> Figures:
    """What scikit-learn reaches with all train rows in one place."""
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score, log_loss, roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = table.columns
    if columns.text:
        joined = [
            [" ".join(map(str, row)) for row in frame.select(columns.text).rows()]
            for frame in (table.train, table.test)
        ]
        inputs: list[Any] = joined
        unspaced = sum(" " in text for text in joined[0]) < len(joined[0]) / 2
        spaced = TfidfVectorizer(token_pattern=r"\w+|[^\w\s]")
        reader: Any = TfidfVectorizer(analyzer="char", ngram_range=(1, 2)) if unspaced else spaced
    else:
        numeric, named = list(columns.numeric), list(columns.categorical)
        reader = make_column_transformer(
            (StandardScaler(), numeric), (OneHotEncoder(handle_unknown="ignore"), named)
        )
        cells = [
            *(pl.col(name).cast(pl.Float64) for name in numeric),
            *(pl.col(name).cast(pl.String) for name in named),
        ]
        inputs = [frame.select(cells).to_pandas() for frame in (table.train, table.test)]
    labels = [
        frame[columns.label or ""].cast(pl.String).to_list() for frame in (table.train, table.test)
    ]
    made = make_pipeline(reader, LogisticRegression(max_iter=2000)).fit(inputs[0], labels[0])
    chosen, shares = made.predict(inputs[1]), made.predict_proba(inputs[1])
    two = shares.shape[1] == 2
    auc = roc_auc_score(
        labels[1],
        shares[:, 1] if two else shares,
        multi_class="ovr",
        labels=None if two else made.classes_,
    )
    right = [one == other for one, other in zip(chosen, labels[1], strict=True)]
    f1 = (
        f1_score(labels[1], chosen, pos_label=made.classes_[1])
        if two
        else f1_score(labels[1], chosen, average="macro")
    )
    loss = log_loss(labels[1], shares, labels=made.classes_)
    return {
        "accuracy": sum(right) / len(right),
        "auc": auc,
        "f1": f1,
        "loss": loss,
        "rows": float(len(labels[0])),
    }


def run_cells(only: str, arms: tuple[str, ...], seed: int, limit: int | None) -> None:
    """Run the cells that have not run, those at 8 per run of most people first, and say what each
    reached.
    """
    for arm in ("scikit-learn", *arms):
        for people in PEOPLE if arm != "scikit-learn" else (0,):
            for source in (one for one in SOURCES if only in one):
                figures = GridRun(source, arm, people, seed, limit).run()
                print(f"{source}, {arm}, {people:,} people: {_short(figures)}", flush=True)


def grid(seed: int, limit: int | None) -> str:
    """The table of all cells that have run, as Markdown: accuracy in percent."""
    lines = [
        (
            "| set | train rows | people | private at 8 | at 2 | at 1 | one bit | scikit-learn | at"
            " 8, distance | bound | loss at 8 | loss, scikit-learn |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for source in SOURCES:
        peer = GridRun(source, "scikit-learn", 0, seed, limit).read()
        for people in PEOPLE:
            found = {arm: GridRun(source, arm, people, seed, limit).read() for arm in ARMS}
            best = found["private 8"]
            if peer is None or best is None:
                continue
            far, bound = 100 * (best["accuracy"] - peer["accuracy"]), _bound(source, people)
            verdict = "" if bound is None else f"-{bound:g} {'kept' if far >= -bound else 'missed'}"
            cells = [
                _percent(found[arm]) for arm in ("private 8", "private 2", "private 1", "one-bit")
            ]
            lines.append(
                f"| {source} | {peer['rows']:,.0f} | {best['people']:,.0f} | {' | '.join(cells)} |"
                f" {_percent(peer)} | {far:+.1f} | {verdict} | {best['loss']:.3f} |"
                f" {peer['loss']:.3f} |"
            )
    return "\n".join(lines)


def missed(seed: int, limit: int | None) -> int:
    """How many cells at 8 per run of most people are further below scikit-learn than allowed."""
    return grid(seed, limit).count(" missed |")


def _bound(source: str, people: int) -> float | None:
    if people != max(PEOPLE):
        return None
    return 2.0 if _is_text(source) else 1.5


def _is_text(source: str) -> bool:
    return MADE[source].text if source in MADE else source not in TABLES


def _numbers(path: Path) -> plan.Columns:
    names = pl.read_csv(path, n_rows=1).columns
    return plan.Columns(label="label", numeric=tuple(name for name in names if name != "label"))


def _percent(figures: Figures | None) -> str:
    return "" if figures is None else f"{100 * figures['accuracy']:.1f}"


def _short(figures: Figures) -> str:
    return ", ".join(
        f"{key} {figures[key]:.3f}" for key in ("accuracy", "auc", "f1", "loss") if key in figures
    )
