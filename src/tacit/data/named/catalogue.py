"""The data sets that a name stands for: those of Tacit, and those of installed packages, which are
imported only when one of them is used or listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit import extensions
from tacit.data.named import mnist, newsgroups, tabular, text
from tacit.data.named.entry import NamedDataSet
from tacit.errors import DataError, PlanError, did_you_mean
from tacit.extensions import Reference

BUILT_IN: tuple[NamedDataSet, ...] = (
    *text.ENTRIES,
    newsgroups.ENTRY,
    *tabular.ENTRIES,
    mnist.ENTRY,
)


def list_data_sets() -> list[NamedDataSet]:
    """List all named data sets in alphabetical order; those of installed packages are imported."""
    installed = [
        load_own_data_set(reference, f"entry point {name}")
        for name, reference in extensions.find_entry_points("datasets").items()
    ]
    named = (one for one in installed if isinstance(one, NamedDataSet))
    return sorted([*BUILT_IN, *named], key=lambda entry: entry.name)


def get_entry(name: str) -> NamedDataSet:
    """Look up a named data set; raise DataError if the name is unknown. A data set of an installed
    package is imported.
    """
    built_in = {entry.name: entry for entry in BUILT_IN}
    if name in built_in:
        return built_in[name]
    installed = extensions.find_entry_points("datasets")
    if name not in installed:
        known = sorted(built_in)
        raise DataError(
            "data.source needs a file (.csv, .tsv, .jsonl, .parquet, .arrow), hf:NAME, or one of"
            f" {', '.join(known)}; got {name!r}.{did_you_mean(name, [*known, *installed])}"
            f"{extensions.describe_other_names('datasets')}"
        )
    found = load_own_data_set(installed[name])
    if not isinstance(found, NamedDataSet):
        raise DataError(
            f"{name!r} is a function that returns rows, so it has no files; name it as data.source"
            " of a plan"
        )
    return found


def load_own_data_set(
    source: Reference, key: str = "data.source"
) -> NamedDataSet | Callable[[], Any]:
    """Import a data set that is not Tacit's: a NamedDataSet, or a function that returns rows.

    The caller has permission to run the code. Guarantees: neither its entry point nor its own name
    is that of another data set, since files are cached by name. Raises PlanError otherwise.
    """
    installed = extensions.find_entry_points("datasets")
    called = {name for name, reference in installed.items() if reference.path == source.path}
    built_in = {entry.name for entry in BUILT_IN}
    for name in sorted(called & built_in):
        raise PlanError(
            f"{key}: an installed package has an entry point {name!r} in the group tacit.datasets,"
            " which is the name of a data set of Tacit; rename the entry point, or remove that"
            " package"
        )
    found = extensions.load(key, source)
    if not isinstance(found, NamedDataSet):
        return extensions.load_function(key, source, (), {})
    if found.name in built_in | (installed.keys() - called):
        raise PlanError(
            f"{key} = {source.path!r} is called {found.name!r}, which is the name of another data"
            " set; change its `name`"
        )
    if called and found.name not in called:
        raise PlanError(
            f"{key} = {source.path!r} is called {found.name!r}, but its entry point is"
            f" {min(called)!r}; give both the same name"
        )
    return found
