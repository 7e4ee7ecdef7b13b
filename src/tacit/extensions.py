"""A user's own parts without a fork: codecs, aggregation rules, models, attacks, data sets, and rules
by which rows are disclosed.

A plan names such a part as `package.module:name`, or by the name of an entry point, which stands
for such a reference. Naming, finding and hashing run none of its code. Only `load` imports it, and
callers first check permission: a site its policy, a reader of a run folder `--allow-code`.

Code is searched where Python finds modules: in installed packages and in the folders of PYTHONPATH.
The working folder is not searched, so a file that happens to be there is never run.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from tacit.errors import PlanError

Part = Literal["codecs", "rules", "models", "attacks", "datasets", "sharing_rules"]
"""Kinds of parts, each by the end of its entry point group, such as `tacit.rules`."""

PARTS: tuple[Part, ...] = get_args(Part)
_IN_PAPERS: dict[Part, str] = {"codecs": "codecs", "datasets": "data sets"}
"""Parts that the distribution tacit-papers has, in words."""
FORM = "package.module:name"
LONGEST = 300
"""Largest number of characters of a reference with its hash."""
_PIN = "@sha256:"
_GRAMMAR = re.compile(
    r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<attribute>[A-Za-z]\w*)"
    rf"(?:{_PIN}(?P<sha256>[0-9a-f]{{64}}))?",
    re.ASCII,
)


class Reference(str):
    """`package.module:name`, followed by `@sha256:…` if it is pinned to the code of one file.

    Guarantees: well-formed, and not in Python's standard library. Raises ValueError otherwise.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Reference:
        """Check the text; nothing is searched or imported."""
        found = _GRAMMAR.fullmatch(text) if len(text) <= LONGEST else None
        if found is None:
            raise ValueError(
                f"write it as {FORM}, optionally followed by @sha256: and 64 hex digits"
            )
        if found["module"].partition(".")[0] in sys.stdlib_module_names:
            raise ValueError("name code of your own, not of Python's standard library")
        return super().__new__(cls, text)

    @property
    def path(self) -> str:
        """The reference without its hash."""
        return self.partition("@")[0]

    @property
    def module(self) -> str:
        """The module that holds the part."""
        return self.partition(":")[0]

    @property
    def attribute(self) -> str:
        """The part's name in its module."""
        return self.path.partition(":")[2]

    @property
    def sha256(self) -> str:
        """SHA-256 of the file that the reference is pinned to; empty if it is not pinned."""
        return self.partition(_PIN)[2]


def find_entry_points(part: Part) -> dict[str, Reference]:
    """Find the installed entry points of a group by name; nothing is imported."""
    return dict(_find_entry_points(part, tuple(sys.path)))


@functools.cache
def _find_entry_points(part: Part, path: tuple[str, ...]) -> dict[str, Reference]:
    found: dict[str, Reference] = {}
    for one in entry_points(group=f"tacit.{part}"):
        reference = Reference(one.value)
        if found.setdefault(one.name, reference) != reference:
            raise PlanError(
                f"two installed packages have an entry point {one.name!r} in the group"
                f" tacit.{part}: {found[one.name]} and {reference}; name one of them as {FORM}"
            )
    return found


def describe_other_names(part: Part) -> str:
    """Sentences for an unknown name: the names that installed packages add, and that tacit-papers
    has more, if it is not installed. Nothing is imported.
    """
    installed = ", ".join(sorted(find_entry_points(part)))
    said = f" Installed packages add {installed}." if installed else ""
    if part in _IN_PAPERS and find_spec("tacit_papers") is None:
        said += f" Some {_IN_PAPERS[part]} come with `pip install tacit-papers`."
    return said


def resolve(part: Part, name: str) -> Reference | None:
    """Find the reference of a name in a plan; None if it is neither a reference nor an entry point."""
    return Reference(name) if ":" in name else find_entry_points(part).get(name)


def find_code(reference: Reference) -> Path | None:
    """Find the file of a part's module; None if there is none.

    Guarantees: nothing is imported, not even the packages above the module.
    """
    module = reference.module
    if module in sys.modules:
        file = getattr(sys.modules[module], "__file__", None)
    else:
        top, *below = module.split(".")
        spec = find_spec(top)
        for name in below:
            folders = spec.submodule_search_locations if spec else None
            spec = PathFinder.find_spec(name, folders) if folders is not None else None
        file = spec.origin if spec else None
    return Path(file) if file and Path(file).is_file() else None


def hash_code(reference: Reference) -> str:
    """SHA-256 of the file that holds a part, the one `sha256sum` prints; empty if there is no file.

    It covers that one file, not what the file imports.
    """
    file = find_code(reference)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file else ""


def pin(reference: Reference) -> Reference:
    """Pin a reference to the code on this machine. A pinned reference, and one whose code is not
    here, are returned unchanged.
    """
    found = "" if reference.sha256 else hash_code(reference)
    return Reference(f"{reference}{_PIN}{found}") if found else reference


def pin_here(reference: Reference) -> Reference:
    """Pin a reference to the code on this machine, replacing an earlier pin."""
    return pin(Reference(reference.path))


def load(key: str, reference: Reference) -> Any:
    """Import the part that a plan's `key` names, after a check of the hash of its code.

    The caller has permission to run the code.
    """
    file, found = find_code(reference), hash_code(reference)
    where = f"{key} = {reference.path!r}"
    if not found:
        raise PlanError(
            f"{where} cannot be imported: the module {reference.module!r} is not installed here;"
            " install its package, or give the folder of its file: PYTHONPATH=FOLDER tacit …"
        )
    if reference.sha256 not in ("", found):
        raise PlanError(
            f"{where}: the code in {file} is not the one that was recorded: its SHA-256 is"
            f" {found[:16]}…, the recorded one {reference.sha256[:16]}…; restore the recorded file,"
            " or train again"
        )
    try:
        return getattr(importlib.import_module(reference.module), reference.attribute)
    except ImportError as error:
        raise PlanError(
            f"{where} cannot be imported ({error}); install what it imports, or add that folder:"
            " PYTHONPATH=FOLDER tacit …"
        ) from None
    except AttributeError:
        raise PlanError(
            f"{where}: {file} has no {reference.attribute!r}; write it there, or correct the name"
        ) from None


def load_function(
    key: str, reference: Reference, parameters: tuple[str, ...], settings: Mapping[str, object]
) -> Callable[..., Any]:
    """Import the function that a plan's `key` names, and check that it can be called with these
    positional parameters and with the plan's settings as keywords.

    The caller has permission to run the code.
    """
    found = load(key, reference)
    called = f"({', '.join([*parameters, *(f'{name}=…' for name in settings)])})"
    where = f"{key} = {reference.path!r}"
    if not callable(found) or isinstance(found, type):
        raise PlanError(f"{where} must be a function that takes {called}, got {found!r}")
    try:
        inspect.signature(found).bind(*parameters, **settings)
    except TypeError as error:
        raise PlanError(
            f"{where} must be a function that takes {called}: {error}; change its parameters, or"
            " the settings in the plan"
        ) from None
    function: Callable[..., Any] = found
    return function
