"""Mutation testing: run mutmut over each group of `tests/mutants.toml`, then print killed and surviving mutants by package.

`make mutants` runs this. Each group has a folder of its own under `mutants/` and is tested by its own tests alone. A run that was
interrupted continues, and survivors are tried again once a test has changed. `make mutants GROUPS="wire book"` runs some groups,
`GROUPS=report` none.

A survivor that changes nothing anybody could observe is *equivalent*; `tests/mutants.toml` lists those, with the reason. So is one
that writes SQL, or the name of an encoding or a hash function, in another case. A mutant that differs only in the arguments of a
raised error is *message text*, killed or not. None of these is counted. Exit code 1 if fewer than 90 % of the others were killed,
or if a mutant was not run.
"""

from __future__ import annotations

import ast
import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

BAR = 0.9
ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "mutants"
_STATES = {
    0: "alive",
    1: "killed",
    3: "killed",
    36: "timeout",
    -24: "timeout",
    24: "timeout",
    152: "timeout",
    None: "not run",
}
_LINKED = (
    "src",
    "tests",
    "examples",
    "docs",
    "deploy",
    "bench",
    "release",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    "constraints.txt",
)
_UNUSED = ("-p", "no:unraisableexception", "-p", "no:threadexception")
"""What pytest looks for after each run takes longer than the run itself."""
_FREE_CASE = re.compile(
    r"(select|insert|update|delete|pragma|begin|commit|rollback|synchronous|cell_size_check|trusted_schema)\b|utf-8$|sha256$",
    re.I,
)
"""Strings that mean the same in any case: SQL, encodings, hash functions."""
_KINDS = ("killed", "timeout", "alive", "equivalent", "message text", "not run")


def prepare(group: str, mutate: list[str], tests: list[str]) -> Path:
    """Make the folder in which mutmut runs for a group: links to this repository, and a pyproject.toml with its settings."""
    place = FOLDER / group
    place.mkdir(parents=True, exist_ok=True)
    for name in _LINKED:
        if not (place / name).exists():
            (place / name).symlink_to(ROOT / name)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [f"src/tacit/{path}" for path in mutate],
        "also_copy": list(_LINKED[2:]),
        "pytest_add_cli_args": ["-p", "no:cacheprovider", *_UNUSED, "-W", "ignore"],
        "pytest_add_cli_args_test_selection": tests,
        "process_isolation": "forkserver",  # threads of numeric libraries do not survive a fork
        "use_git_change_detection": False,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (place / "pyproject.toml").write_text(
        "\n".join([text, "[tool.mutmut]", *lines, ""]), encoding="utf-8"
    )
    return place


def run(group: str, mutate: list[str], tests: list[str]) -> None:
    """Run the mutants of a group that have not been run; if its tests changed since, also those that survived."""
    place = prepare(group, mutate, tests)
    command = [
        str(Path(sys.executable).parent / "mutmut"),
        "run",
        "--max-children",
        str(os.cpu_count() or 1),
    ]
    chosen = [ROOT / path.partition("::")[0] for path in tests]
    files = sorted(
        file for path in chosen for file in ([path] if path.is_file() else path.rglob("*.py"))
    )
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # thousands of short runs: each plugin is felt
    digest, stamp = (
        hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest(),
        place / "tests.sha256",
    )
    again = [name for name, state in states(place).items() if state == "alive"]
    subprocess.run(command, cwd=place, check=False, env=environment)
    if again and (not stamp.exists() or stamp.read_text(encoding="utf-8") != digest):
        subprocess.run([*command, *again], cwd=place, check=False, env=environment)
    stamp.write_text(digest, encoding="utf-8")


def states(place: Path) -> dict[str, str]:
    """The state of every mutant of a group, as mutmut noted it."""
    found = {}
    for path in sorted((place / "mutants" / "src").rglob("*.meta")):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        found |= {name: _STATES.get(code, "alive") for name, code in codes.items()}
    return found


def changes_of(place: Path) -> dict[str, str]:
    """The mutants of a group that differ from the original only in message text, or in the case of words whose case is free."""
    found = {}
    for path in (place / "mutants" / "src").rglob("*.meta"):
        source = path.with_suffix("")
        module = ".".join(source.relative_to(place / "mutants" / "src").with_suffix("").parts)
        tree = ast.parse(source.read_text(encoding="utf-8"))
        made = {
            node.name: _compared(node)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and "__mutmut_" in node.name
        }
        originals = {
            name.removesuffix("orig"): made.pop(name)
            for name in list(made)
            if name.endswith("__mutmut_orig")
        }
        for name, (silent, any_case) in made.items():
            original = originals[name.rstrip("0123456789")]
            if original[0] == silent:
                found[f"{module}.{name}"] = "message text"
            elif original[1] == any_case:
                found[f"{module}.{name}"] = "equivalent"
    return found


def _compared(function: ast.FunctionDef) -> tuple[str, str]:
    """A function's syntax without its name and without the arguments of the errors it raises; and that with free case ignored."""
    function.name = ""
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args, node.exc.keywords = [], []
    silent = ast.dump(function)
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _FREE_CASE.match(node.value)
        ):
            node.value = node.value.upper()
    return silent, ast.dump(function)


def package_of(name: str) -> str:
    """The module: `tacit.privacy.site_ledger.site_ledger.xǁSiteLedgerǁclose__mutmut_1` is in `ledger.owner.book`."""
    return ".".join(name.split(".")[1:-1])


def reason_for(name: str, reasons: dict[str, str]) -> str:
    """Why a mutant is equivalent; nothing if nobody said so."""
    return next((why for pattern, why in reasons.items() if fnmatch.fnmatchcase(name, pattern)), "")


def report(
    found: dict[str, str], changes: dict[str, str], reasons: dict[str, str]
) -> tuple[str, bool]:
    """The table by module with the list of survivors, and whether the bar is reached with every mutant run."""
    kinds: dict[str, Counter[str]] = {}
    survivors = []
    for name, state in sorted(found.items()):
        kind = state
        if changes.get(name) == "message text":
            kind = "message text"
        elif state == "alive" and (name in changes or reason_for(name, reasons)):
            kind = "equivalent"
        kinds.setdefault(package_of(name), Counter())[kind] += 1
        if kind == "alive":
            survivors.append(f"  {name}")
    total = sum(kinds.values(), Counter[str]())
    lines = [f"{'module':36}" + "".join(f"{kind:>14}" for kind in (*_KINDS, "killed of rest"))]
    for package, count in [*sorted(kinds.items()), ("all", total)]:
        lines.append(
            f"{package:36}"
            + "".join(f"{count[kind]:14}" for kind in _KINDS)
            + f"{_share(count):14.1%}"
        )
    lines += [
        "",
        (
            "Not counted: equivalent ones (tests/mutants.toml says why) and those that differ only"
            " in the text of a raised error."
        ),
    ]
    if survivors:
        lines += ["", "alive, without a reason in tests/mutants.toml:", *survivors]
    return "\n".join(lines), _share(total) >= BAR and not total["not run"]


def _share(count: Counter[str]) -> float:
    killed = count["killed"] + count["timeout"]
    return killed / max(1, killed + count["alive"])


def main(names: list[str]) -> int:
    """Run the named groups, or all, and print the report over all of them."""
    settings = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    changes: dict[str, str] = {}
    for group, given in settings["groups"].items():
        if group in names or not names:
            run(group, given["mutate"], given["tests"])
        found |= states(FOLDER / group)
        changes |= changes_of(FOLDER / group)
    text, reached = report(found, changes, settings["equivalent"])
    print(text)
    return 0 if reached else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
