"""A run keeps its plan, its terms and its name for ever, and every request asks the policy as it is now."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import plan as plans
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.site.owner_site import OwnerSite
from tacit.privacy.policy.policy import parse_policy
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner

WORDS = [
    "pain",
    "chest",
    "fever",
    "cough",
    "nausea",
    "stroke",
    "asthma",
    "ulcer",
    "gout",
    "lupus",
    "sepsis",
    "fracture",
]
CODEC = {"name": "projunit", "epsilon": 0.5, "clip": 1.0}


def write_patients(path: Path, patients: int = 40) -> Path:
    draw = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["patient", "note", "readmitted"])
        for patient in range(patients):
            for _ in range(2):
                lines.writerow(
                    [
                        f"p{patient:03d}",
                        " ".join(draw.choice(WORDS, 4, replace=False)),
                        draw.choice(["yes", "no"]),
                    ]
                )
    return path


def job(**changes: Any) -> plans.Plan:
    columns = {"client": "patient", "text": ["note"], "label": "readmitted"}
    tree: dict[str, Any] = {
        "name": "readmissions", "data": {"source": "given", "test": 0.0, "columns": columns},
        "features": {"text": "binary", "buckets": 64}, "model": {"name": "logistic"}, "codec": CODEC, "server": {"rounds": 4},
    }  # fmt: skip
    return prepare_for_sites(plans.parse({**tree, **changes}))


class Owned:
    """A site whose owner changes the policy while a server asks."""

    def __init__(self, folder: Path, policy: str = GENEROUS) -> None:
        self.told: list[str] = []
        self.text, self.folder = policy, folder
        self.rows = write_patients(folder / "rows.csv")
        self.site = self.restarted()

    def restarted(self) -> OwnerSite:
        one = owner("a", self.rows, self.folder / "a", policy=self.text, tell=self.told.append)
        return OwnerSite(type(one)(**{**vars(one), "policy": lambda: parse_policy(self.text)}))


@pytest.fixture
def owned(tmp_path) -> Owned:
    return Owned(tmp_path)


OTHER = job(codec={**CODEC, "epsilon": 8.0})


@pytest.mark.parametrize("restarted", [False, True])
def test_a_run_is_not_opened_again_under_another_plan(owned, restarted) -> None:
    """The second plan costs sixteen times as much; before, the site took it and went on under the same name."""
    server = HostileServer(owned.site, job()).start()
    server.site = owned.restarted() if restarted else owned.site
    server.text = plans.to_toml(OTHER)
    assert server.open() is None
    assert server.status == "question"
    assert "; start the other plan as a new run" in owned.told[-1]
    server.text = plans.to_toml(job())
    assert server.open()
    assert server.train()


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("kind", ["begin", "ask", "measure", "end"])
def test_every_request_names_the_plan_of_its_run(owned, kind, restarted) -> None:
    """Before, only `open` compared the hash, and replies were signed under whatever hash a request had."""
    server = HostileServer(owned.site, job()).start()
    server.site = owned.restarted() if restarted else owned.site
    body = b"" if kind in ("begin", "end") else None
    if body is None:
        server.train(plan=bytes(32)) if kind == "ask" else server.measure(plan=bytes(32))
    else:
        server.send(kind, kind, body, plan=bytes(32))
    assert server.status == "question"
    assert "was opened here with plan" in owned.told[-1]
    assert "this request is about plan 0000000000000000" in owned.told[-1]
    assert server.train()  # the run itself has not ended


def test_a_run_keeps_its_terms(owned) -> None:
    server = HostileServer(owned.site, job())
    opened = server.open()
    assert opened
    assert server.begin(opened)
    assert server.begin(opened)
    assert server.begin(opened, largest_weight=2) is None
    assert "began here with other terms; start the plan as a new run" in owned.told[-1]


@pytest.mark.parametrize("restarted", [False, True])
def test_an_ended_runs_name_is_never_used_again(owned, restarted) -> None:
    """Before, `open` after `end` drew new noise for the same name."""
    server = HostileServer(owned.site, job()).start()
    server.train()
    server.send("end", "end", b"")
    server.site = owned.restarted() if restarted else owned.site
    for _ in range(2):
        assert server.open() is None
        assert server.status == "ended"
        assert (
            "has ended here and its name is not used again; start the plan as a new run"
            in owned.told[-1]
        )
    server.send("end", "end", b"")
    assert server.status == "ok"
    server.train(round_no=2)
    assert server.status == "ended"


@pytest.mark.parametrize(
    ("kind", "round_no"), [("open", 0), ("begin", 0), ("rows", 0), ("end", 0), ("open", 1)]
)
def test_requests_outside_of_rounds_have_one_name(owned, kind, round_no) -> None:
    server = HostileServer(owned.site, job()).start()
    server.send(kind, "another" if not round_no else kind, b"", round_no)
    assert server.status == "question"
    assert f"a request of kind {kind!r} must name exchange " in owned.told[-1]


CHANGES = {
    "allow.codecs": ('codecs = ["*"]', 'codecs = ["gaussian"]'),
    "allow.models": ('models = ["*"]', 'models = ["mlp"]'),
    "columns.text": ('text = ["*"]', 'text = ["readmitted"]'),
    "allow.disclosures": ('"classes", ', ""),
    "plans.hashes": ("[allow]", f'[plans]\nhashes = ["{"0" * 64}"]\n[allow]'),
    "limits.max_epsilon_per_run": ("max_epsilon_per_run = 1e12", "max_epsilon_per_run = 0.1"),
}


@pytest.mark.parametrize("rule", CHANGES)
@pytest.mark.parametrize("kind", ["open", "begin", "ask"])
def test_the_policy_is_asked_as_it_is_now(owned, rule, kind) -> None:
    """The owner changes one line during a run, and the next request is refused by it; changed back, the run goes on."""
    server = HostileServer(owned.site, job())
    opened = server.open()
    assert opened
    if kind == "ask":
        server.begin(opened)
        assert server.train()
    before, (was, becomes) = owned.text, CHANGES[rule]
    owned.text = before.replace(was, becomes)
    assert owned.text != before

    def ask() -> object:
        return {
            "open": server.open,
            "begin": lambda: server.begin(opened),
            "ask": lambda: server.train(round_no=2),
        }[kind]()

    assert ask() is None
    assert (server.status, server.rule) == ("policy", rule)
    assert rule in owned.told[-1]
    owned.text = before
    assert ask()


def test_without_a_policy_a_run_can_still_end(owned) -> None:
    server = HostileServer(owned.site, job()).start()
    assert server.train()
    without = type(owned.site.owner)(**{**vars(owned.site.owner), "policy": lambda: None})
    server.site = OwnerSite(without)
    server.send("end", "end", b"")
    assert server.status == "ok"
    assert "has ended" in owned.told[-1]
