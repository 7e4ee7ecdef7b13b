"""Pages of the Python interface: mkdocstrings fills in what a docstring says."""

from __future__ import annotations

import inspect

import tacit
from tacit.plan.kinds import find_column_table, get_tag, list_fields, tables_in
from tacit.plan.plan import Plan

INTRODUCTION = {
    "runs": (
        "Runs and models",
        "A run needs a plan; `starter_plan` writes one for a table. `run` and `train` return a `Run`, and `load` its model.",
    ),
    "plans": (
        "Plans",
        "A plan is a dataclass with a table in each field. Every table takes the keys that its page lists, as keyword arguments.",
    ),
    "estimators": (
        "scikit-learn estimators",
        "Both fit into pipelines, cross-validation and grid search of scikit-learn.",
    ),
    "observers": (
        "Observers",
        "An observer follows a run: pass an object with these methods as `observer`. It never changes a result. To receive only the"
        " entries of the record, pass a function as `on_entry` ([guide](../../guides/python.md#follow-a-run)).",
    ),
    "errors": (
        "Errors",
        "Every error that Tacit raises on purpose is a `TacitError`. Its `exit_code` is that of the command line.",
    ),
}
MEMBERS = {
    "runs": ["starter_plan", "run", "ask", "train", "resume", "load", "Run"],
    "estimators": ["FederatedClassifier", "HashedText"],
    "observers": ["Observer", "Silence"],
    "errors": ["TacitError", "PlanError", "DataError", "RunError"],
}
INHERITED = {"HashedText", "FederatedClassifier"}
"""Classes whose inherited members belong to scikit-learn, which documents them."""


def write_pages() -> dict[str, str]:
    """A page for each part of the interface, and their index."""
    pages = {
        f"{name}.md": "\n\n".join([_title(name), *(f"::: tacit.{one}" for one in members)]) + "\n"
        for name, members in MEMBERS.items()
    }
    pages["runs.md"] += "\n::: tacit.models.predict.StoredModel\n"
    pages["plans.md"] = _write_plans()
    listed = "\n".join(
        f"- [{title}]({name}.md): {_list_names(pages[f'{name}.md'])}."
        for name, (title, _) in INTRODUCTION.items()
    )
    pages["index.md"] = (
        "# The Python interface\n\nThese pages are written from the docstrings. [The guide](../../guides/python.md) shows the same in"
        f" use.\n\n{listed}\n"
    )
    return pages


def list_tables() -> dict[str, tuple[str, str]]:
    """For each public class of the plan, its key and the name that selects it."""
    found = dict[str, tuple[str, str]]()

    def visit(table: type, path: str) -> None:
        for name, field in list_fields(table).items():
            inner, each = tables_in(field.annotation), find_column_table(field.annotation)
            for choice, one in {**inner, **({"": each} if each else {})}.items():
                tag = f', {get_tag(field.annotation)} = "{choice}"' if choice else ""
                found.setdefault(one.__name__, (f"{path}{name}", tag))
                visit(one, f"{path}{name}.")

    visit(Plan, "")
    return found


def _write_plans() -> str:
    tables = [
        f"- `tacit.{name}`: [`[{key}]`{choice}](../plan/{key.partition('.')[0]}.md)"
        for name, (key, choice) in list_tables().items()
        if name in tacit.__all__
    ]
    methods = sorted(
        name
        for name, member in inspect.getmembers(Plan)
        if callable(member) and not name.startswith("_") and name in vars(Plan)
    )
    options = "\n".join(
        ["    options:", "      members:", *(f"        - {name}" for name in methods)]
    )
    return "\n".join(
        [
            _title("plans"),
            "",
            f"::: tacit.Plan\n{options}",
            "",
            "## Tables",
            "",
            "`tacit.Codec`, `tacit.Model` and `tacit.Corrupt` are the unions of the tables that a `name` or `kind` selects, for annotations.",
            "",
            *tables,
            "",
        ]
    )


def _title(name: str) -> str:
    title, text = INTRODUCTION[name]
    return f"# {title}\n\n{text}"


def _list_names(page: str) -> str:
    names = [
        line.removeprefix("::: ").rpartition(".")[2]
        for line in page.splitlines()
        if line.startswith("::: ")
    ]
    return ", ".join(f"`{name}`" for name in names)
