"""Write a bill of materials in CycloneDX form: `python -m release.sbom dist`.

The file lists the pinned packages that `pip install 'tacit[server]'` installs, with versions,
licences and dependencies. The same commit gives the same bytes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from release.build import ROOT, run

TOOL = "cyclonedx-bom==7.5.0"
EXTRA = "server"


def write_sbom(dist: Path) -> Path:
    """Install into an empty environment, and describe it."""
    dist.mkdir(parents=True, exist_ok=True)
    target = dist / "tacit.cdx.json"
    with tempfile.TemporaryDirectory(prefix="tacit-sbom-") as name:
        installed, tool = Path(name) / "installed", Path(name) / "tool"
        for environment, wanted in ((installed, f"{ROOT}[{EXTRA}]"), (tool, TOOL)):
            run(sys.executable, "-m", "venv", environment)
            pip: list[str | Path] = [
                environment / "bin" / "python",
                "-m",
                "pip",
                "--quiet",
                "install",
            ]
            pins: list[str | Path] = (
                ["--constraint", ROOT / "constraints.txt"] if wanted != TOOL else []
            )
            run(*pip, *pins, wanted)
        run(
            installed / "bin" / "python", "-m", "pip", "--quiet", "uninstall", "--yes", "setuptools"
        )
        words: list[str | Path] = [
            "environment",
            installed / "bin" / "python",
            "--output-reproducible",
        ]
        words += ["--pyproject", ROOT / "pyproject.toml", "--output-format", "JSON"]
        run(tool / "bin" / "cyclonedx-py", *words, "--output-file", target)
    return target


if __name__ == "__main__":
    print(write_sbom(Path(sys.argv[1] if sys.argv[1:] else "dist").resolve()))
