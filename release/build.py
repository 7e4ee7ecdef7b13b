"""Build the wheel and the source distribution so that every build of a commit has the same bytes.

`python -m release.build DIST` builds from the files that git tracks. Time stamps are those of the
commit (SOURCE_DATE_EPOCH), modes are 644 or 755, and the build back end is the pinned one.
`--project papers` builds tacit-papers. Standard library only, and pip.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BACK_END = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"


def read_commit_time(root: Path) -> str:
    """SOURCE_DATE_EPOCH: of the environment, else the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return given or run("git", "log", "-1", "--format=%ct", folder=root).strip()


def copy_tracked(root: Path, target: Path) -> Path:
    """Copy the files that git tracks, each with mode 644 or 755."""
    for line in run("git", "ls-files", "--stage", "-z", folder=root).split("\0"):
        if not line:
            continue
        mode, name = line.split()[0], line.partition("\t")[2]
        source, copy = root / name, target / name
        if mode == "120000" or not source.exists():
            continue  # links are for readers of a clone; a removed file is in no build
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        copy.chmod(0o755 if mode == "100755" else 0o644)
    for folder in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)
    return target


def build_wheel(source: Path, dist: Path, epoch: str) -> Path:
    """Build the wheel of a source tree or of a source distribution."""
    before = set(dist.glob("*.whl"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--no-cache-dir", "--wheel-dir", dist, source, epoch=epoch)
    made = set(dist.glob("*.whl")) - before
    (wheel,) = made or before
    return wheel


def build_sdist(source: Path, dist: Path, epoch: str) -> Path:
    """Build the source distribution in an environment that has only the back end."""
    with tempfile.TemporaryDirectory(prefix="tacit-sdist-") as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "env")
        python = folder / "env" / "bin" / "python"
        pip: list[str | Path] = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        run(*pip, "install", *_pin_back_end())
        run(python, "-c", BACK_END, folder / "made", folder=source, epoch=epoch)
        (made,) = (folder / "made").glob("*.tar.gz")
        return normalise(made, dist / made.name, int(epoch))


def normalise(made: Path, target: Path, epoch: int) -> Path:
    """Write an archive again: members in order, one time, no owner."""
    out = io.BytesIO()
    with tarfile.open(made) as old, tarfile.open(fileobj=out, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid = epoch, 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(out.getvalue(), mtime=epoch))
    return target


def build(root: Path, dist: Path, project: str = ".") -> list[Path]:
    """Build both distributions of a project into a folder."""
    epoch = read_commit_time(root)
    dist.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tacit-build-") as name:
        source = copy_tracked(root, Path(name) / "source") / project
        sdist = build_sdist(source, dist, epoch)
        return [build_wheel(sdist, dist, epoch), sdist]


def compute_hash(path: Path) -> str:
    """SHA-256 of a file, as `sha256sum` prints it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _pin_back_end() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(("setuptools==", "wheel=="))]


def run(*words: str | Path, folder: Path = ROOT, epoch: str = "") -> str:
    """Run a command and return what it prints; stop with its output if it fails.

    `epoch` is for builds: the time stamp of what is built, by the pinned back end.
    """
    environment = dict(os.environ)
    if epoch:
        pins = str(ROOT / "constraints.txt")
        environment |= {"PIP_CONSTRAINT": pins, "PIP_BUILD_CONSTRAINT": pins}
        environment["SOURCE_DATE_EPOCH"] = epoch
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        umask=0o022,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Build, and print the hash and name of each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("dist", type=Path, help="folder for the distributions")
    parser.add_argument("--root", type=Path, default=ROOT, help="a clone (default: this one)")
    parser.add_argument("--project", default=".", help="folder of the project in the clone")
    asked = parser.parse_args()
    for path in build(asked.root.resolve(), asked.dist.resolve(), asked.project):
        print(f"{compute_hash(path)}  {path}")


if __name__ == "__main__":
    main()
