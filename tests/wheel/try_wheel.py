"""Build both wheels, install them into an empty environment, and use them as a new user would. `make test-wheel` runs this.

Versions are those pip chooses by itself: what a new user gets, not what the suite is pinned to. Extras are not installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def execute(*command: str | Path, folder: Path, expected: int = 0, **options: object) -> str:
    """Return what a command prints; stop with all of it if the exit code is another than expected."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )  # type: ignore[call-overload]
    if done.returncode != expected:
        sys.exit(
            f"{' '.join(words)}: exit code {done.returncode}, expected {expected}\n{done.stdout}"
        )
    return str(done.stdout)


def need(condition: bool, sentence: str) -> None:
    """Print one line for a check, and stop at the first that fails."""
    print(f"{'ok  ' if condition else 'FAIL'} {sentence}", flush=True)
    if not condition:
        sys.exit(1)


def write_table(path: Path, rows: int, *, labelled: bool = True) -> None:
    """Write a small table whose label follows from one of its columns."""
    lines = ["age,pay,town,bought" if labelled else "age,pay,town"]
    for number in range(rows):
        age = 18 + (number * 37) % 60
        fields = [age, 1000 + 13 * number % 700, ("Bern", "Ulm", "Graz")[number % 3]]
        lines.append(
            ",".join(map(str, [*fields, "yes" if age > 45 else "no"] if labelled else fields))
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def build(folder: Path, project: Path) -> Path:
    """Return a new wheel of a project."""
    wheels = folder / f"dist-{project.name}"
    execute(
        sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", wheels, project, folder=folder
    )
    (wheel,) = wheels.glob("*.whl")
    return wheel


def make_environment(folder: Path) -> Path:
    """Return the folder of programs of a new environment with nothing but Tacit's wheel and what it asks for."""
    execute(sys.executable, "-m", "venv", folder / "empty", folder=folder)
    programs = folder / "empty" / "bin"
    execute(programs / "python", *PIP, "install", build(folder, ROOT), folder=folder)
    return programs


def try_commands(tacit: Path, folder: Path) -> None:
    """Go the way of the README: help, a plan for a table, a run, predictions; and a wrong option."""
    write_table(folder / "my.csv", 600)
    write_table(folder / "new.csv", 5, labelled=False)
    narrow = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    need(
        "Train and use a model" in execute(tacit, "--help", folder=folder, env=narrow),
        "tacit --help lists the commands",
    )
    page = execute(tacit, "deploy", "run", "--help", folder=folder, env=narrow)
    need("The plan, a TOML file." in page, "help says what a positional argument is")
    need("[secure_aggregation]" in page, "help keeps names in brackets")
    said = execute(tacit, "predict", "--nosuch", folder=folder, expected=2)
    need("--help` has examples" in said, "an unknown option is a usage error, exit code 2")
    execute(tacit, "init", "--from", "my.csv", folder=folder)
    need((folder / "plan.toml").exists(), "tacit init writes a plan for a table")
    execute(tacit, "run", "plan.toml", "-o", "server.rounds=3", "--quiet", folder=folder)
    need(
        (folder / "runs" / "my-1" / "report.html").exists(), "tacit run trains and writes a report"
    )
    said = execute(tacit, "predict", "my-1", "new.csv", folder=folder)
    need(
        "prediction" in said and len(said.splitlines()) >= 6,
        "tacit predict gives a prediction for each row",
    )


SIGNS = """
name = "signs"
[data]
source = "my.csv"
clients = 20
columns = { numeric = ["age", "pay"], categorical = ["town"], label = "bought" }
[codec]
name = "sign"
[server]
rounds = 1
"""


def try_papers(programs: Path, folder: Path) -> None:
    """Ask for papers, and for their data sets and codecs, without and with their wheel."""
    tacit, job = programs / "tacit", ("run", "signs.toml", "--quiet")
    (folder / "signs.toml").write_text(SIGNS, encoding="utf-8")
    said = execute(tacit, "reproduce", "list", folder=folder, expected=2)
    need("pip install tacit-papers" in said, "without papers, tacit reproduce says what to install")
    said = execute(tacit, "data", "where", "iot23", folder=folder, expected=2)
    need("pip install tacit-papers" in said, "so does the name of a data set of theirs")
    said = execute(tacit, *job, folder=folder, expected=2)
    need("pip install tacit-papers" in said, "so does the name of a codec of theirs")
    execute(programs / "python", *PIP, "install", build(folder, ROOT / "papers"), folder=folder)
    listed = execute(tacit, "reproduce", "list", folder=folder)
    papers = ("fedvocab:", "hashcomb:", "lazyinf:", "partfed:", "rr-ldp:")
    need(all(name in listed for name in papers), "with them, it lists five papers")
    listed = execute(tacit, "data", "list", "--json", folder=folder)
    need('"iot23"' in listed and '"mnist"' in listed, "tacit data list has their data sets too")
    execute(tacit, *job, folder=folder)
    need((folder / "runs" / "signs-1").exists(), "a plan names a codec of theirs")


def try_read_only(tacit: Path, folder: Path) -> None:
    """Run where neither the package nor the home folder can be written to."""
    write_table(folder / "own.csv", 600)
    library = tacit.parents[1]
    script = (
        f"cd {folder} && {tacit} init own.toml --from own.csv && {tacit} run own.toml -o"
        " server.rounds=2 --quiet"
    )
    if os.getuid() == 0:  # modes do not stop root, a read-only mount does
        script = (
            f"mount --bind {library} {library} && mount -o remount,bind,ro {library} && {script}"
        )
        command = ["unshare", "--mount", "sh", "-c", script]
    else:
        change_modes(library, lambda mode: mode & ~0o222)
        command = ["sh", "-c", script]
    temporary = folder / "tmp"
    temporary.mkdir()
    execute(
        *command,
        folder=folder,
        env={**os.environ, "HOME": "/proc/nowhere", "TMPDIR": str(temporary), "XDG_CACHE_HOME": ""},
    )
    change_modes(library, lambda mode: mode | 0o200)  # so that the folder can be removed
    need(
        (folder / "runs" / "own-1" / "report.html").exists(),
        "tacit run works where neither package nor home can be written to",
    )
    need(any(temporary.glob("tacit-kernels-*")), "compiled kernels went to a temporary folder")


def change_modes(folder: Path, change: Callable[[int], int]) -> None:
    """Change the mode of everything below a folder."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(change(path.stat().st_mode))


def main() -> None:
    """Try the wheel; leave with exit code 1 at the first thing that does not work."""
    with tempfile.TemporaryDirectory(prefix="tacit-wheel-") as name:
        folder = Path(name)
        programs = make_environment(folder)
        listed = execute(programs / "python", "-m", "pip", "list", folder=folder)
        need("torch" not in listed.split(), "PyTorch is not installed with the core")
        try_commands(programs / "tacit", folder)
        try_read_only(programs / "tacit", folder)
        try_papers(programs, folder)


if __name__ == "__main__":
    main()
