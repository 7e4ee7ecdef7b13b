"""From nothing to a trained model: a server, three hospitals and a coordinator, each in a network namespace, with secure aggregation.

`python -m tests.deploy.three_sites` prints the transcript, counts commands and carried files, and fails above 8 commands per
role or 2 carried files per site. Without the right to make namespaces, all five run on this machine's loopback address.
"""

from __future__ import annotations

import csv
import random  # noqa: TID251 - rows of nobody
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

from tests.deploy.network import Machine, make_machines
from tests.deploy.walk import Walk, find_fingerprint

SITES = ["hospital-a", "hospital-b", "hospital-c"]
COORDINATOR = "ana"
PATIENTS = 300
MOST_COMMANDS, MOST_FILES = 8, 2

PLAN = """
name = "readmissions"

[privacy]
epsilon = 2.0             # per run, for each patient
clients = 900

[data]
source = "patients.csv"   # each hospital has its own
clients = 900

[data.columns]
client = "patient"
numeric = ["age", "pulse"]
categorical = ["ward"]
label = "readmitted"

[features]
ranges = {age = [0, 120], pulse = [30, 200]}

[server]
rounds = 5

[secure_aggregation]
helpers = 2
min_clients = 100
"""

COLUMNS = {"label": ["readmitted"], "numeric": ["age", "pulse"], "categorical": ["ward"]}


def write_rows(path: Path, seed: int) -> None:
    """Write made-up visits of one hospital."""
    draw = random.Random(seed)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["patient", "age", "pulse", "ward", "readmitted"])
        for patient in range(PATIENTS):
            for _ in range(2):
                age, pulse = draw.randint(20, 90), draw.randint(50, 120)
                sick = age + pulse + draw.gauss(0, 10) > 140
                ward = draw.choice(["north", "south", "west"])
                rows.writerow([f"p{seed}-{patient}", age, pulse, ward, "yes" if sick else "no"])


def edit_policy(path: Path) -> None:
    """Name the columns that a plan may use, as an owner would in an editor."""
    text = path.read_text()
    for role, names in COLUMNS.items():
        shown = ", ".join(f'"{name}"' for name in names)
        text = re.sub(rf"(?m)^{role} = \[\]", f"{role} = [{shown}]", text)
    path.write_text(text)


def provision(walk: Walk, server: Machine, sites: list[Machine], host: str, port: int) -> None:
    """Start the server; invite, set up, admit and join the sites; let owners confirm each other."""
    words = ["--host", "0.0.0.0" if server.prefix else host, "--port", str(port), "--name", host]
    walk.start(server, "operator", "server", "start", *words)
    walk.wait_for(server.folder / "server-start.log", "stop it with Ctrl-C")
    walk.wait_for(server.folder / "server" / "link.json", "pid")
    invited = walk.run(server, "operator", "server", "invite", *[site.name for site in sites])
    told = {}
    for number, site in enumerate(sites):
        write_rows(site.folder / "patients.csv", number)
        walk.carry(server.folder / f"{site.name}.invite", site.name, site)
        words = ["--invite", f"{site.name}.invite", "--data", "patients.csv", "--client", "patient"]
        words += ["--fingerprint", find_fingerprint(invited)]
        said = walk.run(site, site.name, "site", "init", *words)
        told[site.name] = find_fingerprint(said, last=True)
        walk.say(f"{'(editor)':12} columns of {site.name}/policy.toml")
        edit_policy(site.folder / site.name / "policy.toml")
        walk.carry(site.folder / site.name / f"{site.name}.request", site.name, server)
        words = [f"{site.name}.request", "--fingerprint", told[site.name]]
        walk.run(server, "operator", "server", "admit", *words)
        walk.start(site, site.name, "site", "join", site.name)
    for site in sites:
        for other in sites:
            if other is not site:
                words = [site.name, other.name, told[other.name]]
                walk.run(site, site.name, "site", "confirm", *words)
        walk.wait_for(site.folder / "site-join.log", "online")


def admit_coordinator(walk: Walk, server: Machine, person: Machine) -> None:
    """Give a person on a machine of their own access to the server as coordinator."""
    words = ["server", "invite", COORDINATOR, "--role", "coordinator"]
    invited = walk.run(server, "operator", *words)
    walk.carry(server.folder / f"{COORDINATOR}.invite", COORDINATOR, person)
    words = ["server", "connect", f"{COORDINATOR}.invite"]
    words += ["--fingerprint", find_fingerprint(invited)]
    said = walk.run(person, "coordinator", *words)
    walk.carry(person.folder / COORDINATOR / f"{COORDINATOR}.request", COORDINATOR, server)
    words = ["server", "admit", f"{COORDINATOR}.request"]
    words += ["--fingerprint", find_fingerprint(said, last=True)]
    walk.run(server, "operator", *words)


def main() -> int:
    """Walk through it; return 1 if it takes more than it may."""
    started, walk = time.monotonic(), Walk()
    with (
        tempfile.TemporaryDirectory(prefix="tacit-walk-") as root,
        make_machines(Path(root), [*SITES, COORDINATOR]) as (server, (*sites, person), host),
    ):
        try:
            provision(walk, server, sites, host, 8443 if server.prefix else 18_443)
            admit_coordinator(walk, server, person)
            (person.folder / "plan.toml").write_text(PLAN)
            words = ["plan.toml", "--folder", COORDINATOR, "--min-sites", "3", "--quiet"]
            walk.run(person, "coordinator", "deploy", "run", *words, "--no-report")
        finally:
            walk.stop()
        is_trained = (person.folder / "runs" / "readmissions-1" / "model.safetensors").exists()
    seconds = time.monotonic() - started
    where = "network namespaces" if server.prefix else "processes on the loopback address"
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"five {where}: {seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU time")
    print("commands:", ", ".join(f"{role} {count}" for role, count in walk.commands.items()))
    print("carried files:", ", ".join(f"{site} {count}" for site, count in walk.carried.items()))
    return int(
        not is_trained
        or max(walk.commands.values()) > MOST_COMMANDS
        or max(walk.carried.values()) > MOST_FILES
    )


if __name__ == "__main__":
    sys.exit(main())
