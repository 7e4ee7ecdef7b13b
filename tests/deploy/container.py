"""Start a server and two sites as the images do, without a container engine. `make test-container` runs this.

Each runs in a root of its own that is read-only, as user 10001 without capabilities, with a home that cannot be written
to; only the volumes of deploy/compose.yaml and /tmp can. They share a network in which nothing else is reachable, and
the sites know the server by its compose name. Packages are those that deploy/Dockerfile installs. Needs root, `unshare`
and a package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.deploy.dockerfile import ROOT, read_stages
from tests.deploy.network import Machine
from tests.deploy.three_sites import PLAN, provision
from tests.deploy.walk import Walk

USER = 10001
STATE = "/home/tacit/state"
COMPOSE = ROOT / "deploy" / "compose.yaml"
SITES = ("hospital-a", "hospital-b")
LIBRARIES = ("usr", "lib", "lib64", "bin", "sbin")
HOSTS = "127.0.0.1 localhost server\n"
PASSWORDS = f"root:x:0:0::/root:/bin/sh\ntacit:x:{USER}:{USER}::/home/tacit:/bin/sh\n"


def run(*words: str | Path) -> None:
    """Run a command; an error ends the test with its output."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"FAIL {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def install(folder: Path, stage: str) -> Path:
    """Install what a stage of the Dockerfile installs into an environment."""
    environment = folder / stage
    run(sys.executable, "-m", "venv", environment)
    pip: list[str | Path] = [
        environment / "bin" / "pip",
        "--quiet",
        "--disable-pip-version-check",
        "install",
    ]
    for words in read_stages()[stage].list_installs():
        run(*pip, *[_locate(word) for word in words])
    return environment


def _locate(word: str) -> str:
    """A word of `pip install` with paths of the image replaced by those of the repository."""
    if word.startswith("."):
        return f"{ROOT}{word[1:]}"
    places = {
        "constraints.txt": ROOT / "constraints.txt",
        "site-requirements.txt": ROOT / "deploy" / "site-requirements.txt",
    }
    return str(places.get(word, word))


@dataclass
class Container:
    """One service: its root, its volumes, and the words that run a program in it."""

    name: str
    stage: str
    environment: Path
    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def state(self) -> Path:
        """The volume with the state, as the host sees it."""
        return self.folder / "state"

    def prepare(self) -> None:
        """Put the root together from read-only mounts, two volumes and /tmp."""
        self.root.mkdir(parents=True)
        run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.root)
        for name in LIBRARIES:
            self._take(Path("/") / name)
        for needed in (Path(sys.base_prefix), self.environment):
            self._bind(needed, self.root / str(needed).lstrip("/"), "ro")
        for name, text in (("hosts", HOSTS), ("passwd", PASSWORDS)):
            (self.root / "etc").mkdir(exist_ok=True)
            (self.root / "etc" / name).write_text(text)
        for name in ("null", "zero", "random", "urandom"):
            place = self.root / "dev" / name
            place.parent.mkdir(exist_ok=True)
            place.touch()
            run("mount", "--bind", Path("/dev") / name, place)
        for name in ("proc", "tmp", "home/tacit", "var/cache"):
            (self.root / name).mkdir(parents=True)
        run("mount", "-t", "proc", "proc", self.root / "proc")
        run("mount", "-t", "tmpfs", "-o", "mode=1777,size=256m", "tmpfs", self.root / "tmp")
        for volume, mount in ((self.state, STATE), (self.folder / "kernels", "/var/cache/tacit")):
            volume.mkdir(mode=0o700)
            os.chown(volume, USER, USER)
            self._bind(volume, self.root / mount.lstrip("/"), "rw")
        run("mount", "-o", "remount,ro", self.root)

    def list_words(self) -> tuple[str, ...]:
        """Words before a program that runs in this root as the image's user."""
        variables = {**read_stages()[self.stage].environment, "HOME": "/home/tacit"}
        variables["PATH"] = f"{self.environment}/bin:/usr/bin:/bin"
        given = [f"{name}={value}" for name, value in variables.items()]
        rights = [f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs"]
        rights += ["--bounding-set=-all", "--inh-caps=-all"]
        root = ("chroot", str(self.root), "/usr/bin/env", "-i", "-C", STATE, *given)
        return (*root, "setpriv", *rights, "--")

    def check(self, sentence: str, *words: str, fails: bool = False) -> None:
        """Print a line for a program that must succeed, or must not."""
        done = subprocess.run(
            [*self.list_words(), *words], capture_output=True, text=True, check=False
        )
        right = (done.returncode != 0) == fails
        print(f"{'ok  ' if right else 'FAIL'} {self.name}: {sentence}", flush=True)
        if not right:
            sys.exit(done.stdout + done.stderr)

    def _take(self, place: Path) -> None:
        """Take a folder of this system, or its link."""
        target = self.root / place.name
        if place.is_symlink():
            target.symlink_to(os.readlink(place))
        elif place.is_dir():
            self._bind(place, target, "ro")

    def _bind(self, source: Path, target: Path, mode: str) -> None:
        target.mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", source, target)
        run("mount", "-o", f"remount,bind,{mode},nosuid", target)


def check_root(container: Container) -> None:
    """Only volumes and /tmp can be written to, and nothing gives more rights."""
    for place in ("/file", "/home/tacit/file", "/etc/hosts", f"{container.environment}/file"):
        container.check(f"{place} cannot be written to", "sh", "-c", f": > {place}", fails=True)
    for place in (f"{STATE}/file", "/var/cache/tacit/file", "/tmp/file"):
        container.check(f"{place} can be written to", "sh", "-c", f": > {place} && rm {place}")
    none = "grep -q '^CapBnd:.0000000000000000' /proc/self/status"
    container.check("no capabilities are left", "sh", "-c", none)


def check_health(container: Container, folder: str, *, healthy: bool = True) -> None:
    """Run the image's health check, on the folder that this service has."""
    words = list(read_stages()[container.stage].health)
    words = [f"{STATE}/{folder}" if word.startswith(STATE) else word for word in words]
    said = "health check passes" if healthy else "health check fails when nothing runs"
    container.check(said, *words, fails=not healthy)


def check_files(container: Container) -> None:
    """State belongs to the image's user alone; compiled kernels went to their volume."""
    wrong = [
        path
        for path in container.state.rglob("*")
        if path.lstat().st_uid == USER and path.lstat().st_mode & 0o077 and path.is_file()
    ]
    secret = [path for path in wrong if path.suffix in (".pem", ".key", ".sqlite", ".safetensors")]
    print(f"{'FAIL' if secret else 'ok  '} {container.name}: state belongs to user {USER} alone")
    kernels = any((container.folder / "kernels").rglob("*.nbi"))
    if container.stage == "site":
        print(f"{'ok  ' if kernels else 'FAIL'} {container.name}: kernels are in their volume")
    if secret or (container.stage == "site" and not kernels):
        sys.exit(1)


def try_all(folder: Path) -> None:
    """Train between a server and two sites. Runs in namespaces of its own."""
    run("mount", "--make-rprivate", "/")
    run("ip", "link", "set", "lo", "up")
    stages = {"server": "server", **dict.fromkeys(SITES, "site")}
    containers = {
        name: Container(name, stage, folder / stage, folder / "containers" / name)
        for name, stage in stages.items()
    }
    for container in containers.values():
        container.prepare()
        check_root(container)
    machines = {
        name: Machine(name, container.state, container.list_words())
        for name, container in containers.items()
    }
    server, walk = machines["server"], Walk(quiet=True, tacit={"": ("tacit",)})
    words = yaml.safe_load(COMPOSE.read_text())["services"]["server"]["command"]
    if list(map(str, words)) != list(read_stages()["server"].command):
        sys.exit("FAIL compose.yaml and the Dockerfile start different servers")
    containers["server"].check("tacit --help", "tacit", "--help")
    try:
        provision(walk, server, [machines[name] for name in SITES], "server", 8443)
        print("ok   sites joined a server that they know by its compose name", flush=True)
        check_health(containers["server"], "server")
        for name in SITES:
            check_health(containers[name], name)
        (server.folder / "plan.toml").write_text(PLAN.replace("900", "600"))
        said = walk.run(
            server, "coordinator", "deploy", "run", "plan.toml", "--quiet", "--no-report"
        )
    finally:
        walk.stop()
    model = server.folder / "runs" / "readmissions-1" / "model.safetensors"
    print(f"{'ok  ' if model.exists() else 'FAIL'} the run wrote a model", flush=True)
    if not model.exists():
        sys.exit(said)
    for container in containers.values():
        check_files(container)
    check_health(containers[SITES[0]], SITES[0], healthy=False)


def main() -> None:
    """Install, then enter namespaces of its own; skip where that is not allowed."""
    if sys.argv[1:2] == ["--inside"]:
        try_all(Path(sys.argv[2]))
        return
    missing = [
        name for name in ("unshare", "setpriv", "ip", "chroot") if shutil.which(name) is None
    ]
    if os.getuid() != 0 or missing:
        print(f"skipped: needs root and {', '.join(missing) or 'nothing else'}")
        return
    with tempfile.TemporaryDirectory(prefix="tacit-container-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for stage in ("server", "site"):
            install(folder, stage)
        words = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        words += [sys.executable, "-m", "tests.deploy.container", "--inside", str(folder)]
        done = subprocess.run(words, check=False, cwd=ROOT)
    print("ok   images" if done.returncode == 0 else "FAIL images")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
