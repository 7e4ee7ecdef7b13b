"""Install the wheel into empty environments of each Python and use it as strangers do. `make test-wheel` runs this.

Versions are those pip chooses by itself: what a new user gets, not what the suite is pinned to. Only the site-only
installation takes pins. A Python that is not found is a column of `missing`. `--write` keeps the tables in
docs/benchmarks/install.md. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from release.build import (
    ROOT,
    build_sdist,
    build_wheel,
    compute_hash,
    copy_tracked,
    read_commit_time,
)
from tests.deploy.network import Machine
from tests.deploy.three_sites import PLAN, provision
from tests.deploy.walk import Walk, WalkError
from tests.wheel.page import Column, write_page

VERSIONS = ("3.11", "3.12", "3.13")
SITE_PINS = ROOT / "deploy" / "site-requirements.txt"
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


class CheckError(Exception):
    """A check of the wheel failed; the message holds what was printed."""


def execute(*command: str | Path, folder: Path, expected: int = 0, **variables: str) -> str:
    """Run a command and return what it prints; another exit code than expected is an error."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": "", "NO_COLOR": "1", "COLUMNS": "80", **variables},
    )
    if done.returncode != expected:
        raise CheckError(
            f"{' '.join(words)}: exit code {done.returncode}, expected {expected}\n{done.stdout}"
        )
    return done.stdout


def need(condition: bool, sentence: str, said: str = "") -> None:
    """Raise an error unless a sentence is true."""
    if not condition:
        raise CheckError(f"not true: {sentence}\n{said}")


def find_python(version: str) -> Path | None:
    """An interpreter: TACIT_PYTHON_3_12, else python3.12 on PATH, also one that pyenv selects."""
    named = os.environ.get(f"TACIT_PYTHON_{version.replace('.', '_')}") or f"python{version}"
    program = shutil.which(named)
    for chosen in [None, *_list_pyenv_versions(version)] if program else []:
        done = subprocess.run(
            [str(program), "-c", "import sys; print(sys.executable, *sys.version_info[:2])"],
            env=os.environ if chosen is None else {**os.environ, "PYENV_VERSION": chosen},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 and done.stdout.split()[1:] == version.split("."):
            return Path(done.stdout.split()[0])
    return None


def _list_pyenv_versions(version: str) -> list[str]:
    if shutil.which("pyenv") is None:
        return []
    done = subprocess.run(
        ["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False
    )
    return [line for line in done.stdout.split() if line.startswith(f"{version}.")]


@dataclass
class Trial:
    """The environments of one Python, and what was found in them."""

    version: str
    python: Path
    wheel: Path
    papers: Path
    folder: Path
    column: Column = field(default_factory=Column)

    @property
    def programs(self) -> Path:
        """Programs of the environment with the wheel alone; later also with extras."""
        return self.folder / "core" / "bin"

    @property
    def tacit(self) -> Path:
        return self.programs / "tacit"

    @property
    def site(self) -> Path:
        """Python of the environment with what a site loads and nothing else."""
        return self.folder / "site" / "bin" / "python"

    def install(self, *words: str | Path, environment: str = "core") -> None:
        """Install into an environment, which is made at the first call."""
        python = self.folder / environment / "bin" / "python"
        if not python.exists():
            execute(self.python, "-m", "venv", self.folder / environment, folder=self.folder)
        execute(python, *PIP, "install", *words, folder=self.folder)

    def measure(self, title: str, environment: str = "core") -> None:
        """Note the disk space of an environment's packages."""
        python = self.folder / environment / "bin" / "python"
        said = execute(python, ROOT / "release" / "sizes.py", folder=self.folder)
        self.column.sizes[title] = json.loads(said)


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


def install_core(trial: Trial) -> None:
    trial.install(trial.wheel)
    trial.measure("tacit")
    for absent in ("torch", "pyarrow", "scikit-learn"):
        need(absent not in trial.column.sizes["tacit"], f"{absent} is not installed with the core")


def show_help(trial: Trial) -> None:
    said = execute(trial.tacit, "--help", folder=trial.folder)
    need("init" in said and "predict" in said, "tacit --help lists the commands", said)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    for _ in range(5):
        execute(trial.tacit, "--help", folder=trial.folder)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    trial.column.help_seconds = used / 5


def write_plan(trial: Trial) -> None:
    write_table(trial.folder / "my.csv", 600)
    write_table(trial.folder / "new.csv", 5, labelled=False)
    execute(trial.tacit, "init", "--from", "my.csv", folder=trial.folder)
    need((trial.folder / "plan.toml").exists(), "tacit init writes a plan for a table")


def run_plan(trial: Trial) -> None:
    words = ("run", "plan.toml", "-o", "server.rounds=3", "--quiet")
    execute(trial.tacit, *words, folder=trial.folder)
    report = trial.folder / "runs" / "my-1" / "report.html"
    need(report.exists(), "tacit run trains and writes a report")
    need(report.stat().st_size > 1_000_000, "the report contains its charts")


def predict(trial: Trial) -> None:
    said = execute(trial.tacit, "predict", "my-1", "new.csv", folder=trial.folder)
    need("prediction" in said and len(said.splitlines()) >= 6, "each row has a prediction", said)


def make_usage_errors(trial: Trial) -> None:
    for words in (("predict", "--nosuch"), ("nosuch",), ("run", "nosuch.toml")):
        said = execute(trial.tacit, *words, folder=trial.folder, expected=2)
        need("Traceback" not in said, f"tacit {' '.join(words)} ends in a sentence", said)


def write_examples(trial: Trial) -> None:
    names = sorted(path.stem for path in (ROOT / "src" / "tacit" / "examples").glob("*.toml"))
    said = execute(
        trial.tacit, "init", "x.toml", "--example", "nosuch", folder=trial.folder, expected=2
    )
    need(all(name in said for name in names), "an unknown example gets the list", said)
    for name in names:
        file = f"{name}-example.toml"
        execute(trial.tacit, "init", file, "--example", name, folder=trial.folder)
        need((trial.folder / file).stat().st_size > 200, f"the wheel has the example {name}")
    said = execute(trial.tacit, "check", "newsgroups-example.toml", folder=trial.folder)
    need("ok" in said, "the example newsgroups is a valid plan", said)


def name_extras(trial: Trial) -> None:
    """What needs an extra says which."""
    (trial.folder / "my.arrow").write_bytes(b"ARROW1")
    words = ("init", "arrow.toml", "--from", "my.arrow")
    said = execute(trial.tacit, *words, folder=trial.folder, expected=2)
    need("tacit[arrow]" in said, "an Arrow file asks for tacit[arrow]", said)
    code = "import tacit; tacit.FederatedClassifier"
    said = execute(trial.programs / "python", "-c", code, folder=trial.folder, expected=1)
    need("tacit[sklearn]" in said, "the estimator asks for tacit[sklearn]", said)


def run_read_only(trial: Trial) -> None:
    """Run where neither the package nor the home folder can be written to."""
    folder, library = trial.folder, trial.folder / "core"
    write_table(folder / "own.csv", 600)
    script = (
        f"cd {folder} && {trial.tacit} init own.toml --from own.csv && {trial.tacit} run own.toml"
        " -o server.rounds=2 --quiet"
    )
    temporary = folder / "tmp"
    temporary.mkdir()
    with _make_read_only(library) as mount:
        execute(
            *("unshare", "--mount") if mount else (),
            *("sh", "-c", mount + script),
            folder=folder,
            HOME="/proc/nowhere",
            TMPDIR=str(temporary),
            XDG_CACHE_HOME="",
        )
    need((folder / "runs" / "own-1" / "report.html").exists(), "tacit run writes a report")
    need(any(temporary.glob("tacit-kernels-*")), "compiled kernels went to a temporary folder")


@contextmanager
def _make_read_only(folder: Path) -> Iterator[str]:
    """Words that remount a folder read-only for root, whom modes do not stop; else change modes."""
    if os.getuid() == 0:
        yield f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && "
        return
    paths = [path for path in [folder, *folder.rglob("*")] if not path.is_symlink()]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield ""
    for path in paths:  # so that the folder can be removed
        path.chmod(path.stat().st_mode | 0o200)


def install_site(trial: Trial) -> None:
    """Install the extra `site` beside the core, and the pins of a site into an own environment."""
    trial.install(f"{trial.wheel}[site]")
    trial.measure("tacit[site]")
    trial.install("--no-deps", "--requirement", SITE_PINS, trial.wheel, environment="site")
    trial.measure("site-requirements.txt", "site")
    for absent in ("torch", "plotly", "sqlalchemy", "uv"):
        need(absent not in trial.column.sizes["site-requirements.txt"], f"a site has no {absent}")


def join(trial: Trial) -> None:
    """Train between a server, a site with tacit[site] and one with what a site loads alone."""
    names = ["hospital-a", "hospital-b"]
    machines = {name: Machine(name, trial.folder / name) for name in ("server", *names)}
    for machine in machines.values():
        machine.folder.mkdir()
    walk, words = Walk(quiet=True), ("-P", "-m", "tacit")
    walk.tacit = {"": (str(trial.programs / "python"), *words), names[1]: (str(trial.site), *words)}
    walk.environment = {"": {"PYTHONPATH": ""}}
    server, port = machines["server"], 18_600 + int(trial.version.partition(".")[2])
    try:
        provision(walk, server, [machines[name] for name in names], "127.0.0.1", port)
        (server.folder / "plan.toml").write_text(PLAN.replace("900", "600"))
        asked = ("plan.toml", "--quiet", "--no-report")
        walk.run(server, "coordinator", "deploy", "run", *asked)
    except WalkError as error:
        raise CheckError(str(error)) from None
    finally:
        walk.stop()
    model = server.folder / "runs" / "readmissions-1" / "model.safetensors"
    need(model.exists(), "the server has a model")


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


def install_papers(trial: Trial) -> None:
    """Ask for papers, and for their data sets and codecs, without and with their wheel."""
    tacit, job, folder = trial.tacit, ("run", "signs.toml", "--quiet"), trial.folder
    (folder / "signs.toml").write_text(SIGNS, encoding="utf-8")
    for words in (("reproduce", "list"), ("data", "where", "iot23"), job):
        said = execute(tacit, *words, folder=folder, expected=2)
        need("pip install tacit-papers" in said, f"{words} says what to install", said)
    trial.install(trial.papers)
    listed = execute(tacit, "reproduce", "list", folder=folder)
    papers = ("fedvocab:", "hashcomb:", "lazyinf:", "partfed:", "rr-ldp:")
    need(all(name in listed for name in papers), "with them, it lists five papers", listed)
    listed = execute(tacit, "data", "list", "--json", folder=folder)
    need('"iot23"' in listed and '"mnist"' in listed, "data list has their data sets", listed)
    execute(tacit, *job, folder=folder)
    need((folder / "runs" / "signs-1").exists(), "a plan names a codec of theirs")


CHECKS: dict[str, Callable[[Trial], None]] = {
    "wheel alone in an empty environment": install_core,
    "`tacit --help`": show_help,
    "`tacit init --from my.csv`": write_plan,
    "`tacit run plan.toml`, with report": run_plan,
    "`tacit predict`": predict,
    "usage errors: exit code 2": make_usage_errors,
    "`tacit init --example NAME`, nine plans": write_examples,
    "missing packages: the extra is named": name_extras,
    "read-only package, unwritable home": run_read_only,
    "`tacit[site]`, and a site's packages alone": install_site,
    "server and two sites train over TLS": join,
    "`tacit-papers` added": install_papers,
}


def try_python(version: str, wheels: tuple[Path, Path], folder: Path) -> Column:
    """Run every check under one Python; each prints a line when it ends."""
    python = find_python(version)
    if python is None:
        print(f"missing: Python {version}; set TACIT_PYTHON_{version.replace('.', '_')}")
        return Column()
    folder.mkdir()
    trial = Trial(version, python, *wheels, folder)
    for title, check in CHECKS.items():
        started = time.monotonic()
        try:
            check(trial)
            trial.column.cells[title] = "ok"
        except CheckError as error:
            trial.column.cells[title] = "FAIL"
            print(error, flush=True)
        seconds = time.monotonic() - started
        print(f"{version} {trial.column.cells[title]:4} {seconds:4.0f} s  {title}", flush=True)
    return trial.column


def build_all(folder: Path) -> tuple[Path, Path, list[str]]:
    """Build the wheels; return them, and sentences about the build that are true."""
    epoch, dist = read_commit_time(ROOT), folder / "dist"
    dist.mkdir()
    clones = [copy_tracked(ROOT, folder / name) for name in ("a", "elsewhere/b")]
    sdist = build_sdist(clones[0], dist, epoch)
    wheels = [
        build_wheel(source, dist / str(n), epoch) for n, source in enumerate([sdist, *clones])
    ]
    hashes = {compute_hash(wheel) for wheel in wheels}
    if len(hashes) != 1:
        sys.exit(f"FAIL the wheel has {len(hashes)} hashes: from the sdist and two folders")
    papers = build_wheel(clones[0] / "papers", dist / "papers", epoch)
    (found,) = hashes
    said = [f"Wheel from the source distribution and from two folders: one SHA-256, `{found}`."]
    print(f"ok   {said[0]}", flush=True)
    return wheels[0], papers, said


def main() -> int:
    """Try the wheel under each Python; return 1 if a cell fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="*", default=VERSIONS, help="Pythons (default: all)")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/install.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tacit-wheel-") as name:
        folder = Path(name)
        wheel, papers, said = build_all(folder)
        columns = {
            version: try_python(version, (wheel, papers), folder / version)
            for version in asked.versions
        }
    page = write_page(list(CHECKS), columns, said)
    print(page)
    if asked.write:
        (ROOT / "docs" / "benchmarks" / "install.md").write_text(page, encoding="utf-8")
    return int(any("FAIL" in column.cells.values() for column in columns.values()))


if __name__ == "__main__":
    sys.exit(main())
