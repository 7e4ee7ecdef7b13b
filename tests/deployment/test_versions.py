"""Server and site of different versions: a site refuses only what it cannot do, and says which version can."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tacit import plan as plans
from tacit.deployment import bodies, versions
from tacit.deployment.bodies import Offer
from tacit.deployment.confirmation import run_digest
from tacit.deployment.server.absence.missing_replies import clean_rule_names
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import VersionError
from tacit.plan.toml import tree_of
from tests.deployment.agreements import plan_of
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import owner
from tests.deployment.test_bound_runs import job, write_patients

NEWER = "9.0.0"


def change(key: str, value: object) -> str:
    """The settings of the plan as a version with another default reads them."""
    return json.dumps({**json.loads(versions.write_settings(job())), key: value})


class Site:
    """A site and what its owner's log says."""

    def __init__(self, folder: Path) -> None:
        self.told: list[str] = []
        rows = write_patients(folder / "patients.csv")
        self.server = HostileServer(
            OwnerSite(owner("a", rows, folder / "a", tell=self.told.append)), job()
        )

    def offer(self, text: str | None = None, **fields: Any) -> str:
        """Offer a plan as a server of another version; return the status of the reply."""
        sent = text if text is not None else plans.to_short_toml(job())
        tree = {"plan": sent, "settings": versions.write_settings(job()), "tacit": NEWER, **fields}
        body = msgspec.msgpack.encode({key: value for key, value in tree.items() if value})
        self.server.text = sent
        self.server.send("open", "open", body)
        return self.server.status


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_plan_that_both_versions_know_runs(site: Site) -> None:
    """The newer server has one more key, which the plan does not use."""
    assert site.offer(settings=change("novelty.strength", 0)) == "ok"


def test_a_key_that_the_plan_uses_is_refused_with_both_versions(site: Site) -> None:
    text = plans.to_short_toml(job()) + "\n[novelty]\nstrength = 3\n"
    assert site.offer(text) == "plan"
    ours = versions.find_version()
    assert (
        f"the server runs Tacit {NEWER} and this site runs Tacit {ours}, and they cannot work"
        " together on this plan: plan: 1 problem" in site.told[-1]
    )
    assert "novelty: unknown" in site.told[-1]
    assert "update the older one" in site.told[-1]
    assert site.server.rule == f"Tacit {ours} here, Tacit {NEWER} needed"
    assert clean_rule_names(site.server.rule) == site.server.rule, "the server can print it"


def test_an_unknown_key_of_the_same_version_is_just_unknown(site: Site) -> None:
    text = plans.to_short_toml(job()) + "\n[novelty]\nstrength = 3\n"
    assert site.offer(text, tacit=versions.find_version()) == "plan"
    assert "cannot work together" not in site.told[-1]
    assert site.server.rule == ""


@pytest.mark.parametrize(
    ("key", "value"), [("local.epochs", 77), ("local.lr", None), ("server.evaluate_every", 9)]
)
def test_defaults_that_differ_are_named(site: Site, key: str, value: object) -> None:
    """Without the comparison both would train with the same hash of the plan and different settings."""
    assert json.loads(versions.write_settings(job()))[key] != value
    assert site.offer(settings=change(key, value)) == "plan"
    assert f"different defaults for {key}; write these settings into the plan" in site.told[-1]


def test_a_default_that_differs_may_be_written_into_the_plan(site: Site) -> None:
    text = plans.to_short_toml(job()) + "\n[local]\nepochs = 77\n"
    assert site.offer(text, settings=change("local.epochs", 77)) == "ok"


@pytest.mark.parametrize("table", ["filter", "data.share"])
def test_a_table_that_one_version_has_by_default_is_named(site: Site, table: str) -> None:
    settings = json.loads(change(f"{table}.novelty", 1))
    del settings[table]
    assert site.offer(settings=json.dumps(settings)) == "plan"
    assert f"different defaults for {table};" in site.told[-1]


@pytest.mark.parametrize("settings", ["{", "[]", "[" * 5000])
def test_settings_that_are_no_json(site: Site, settings: str) -> None:
    assert site.offer(settings=settings) == "question"
    assert "its settings are not valid JSON" in site.told[-1]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"wire": 2}, "sends messages of format 2, not 1"),
        ({"novelty": "a new field"}, "Object contains unknown field `novelty`"),
    ],
)
def test_another_format_of_messages(site: Site, fields: dict[str, Any], sentence: str) -> None:
    assert site.offer(**fields) == "plan"
    assert f"the server runs Tacit {NEWER}" in site.told[-1]
    assert sentence in site.told[-1]


@pytest.mark.parametrize("fields", [{"tacit": "9" * 41}, {"tacit": "9\n"}, {"wire": -1}])
def test_bounded_fields(site: Site, fields: dict[str, Any]) -> None:
    assert site.offer(**fields) == "question"


def test_an_offer_without_versions_is_read(site: Site) -> None:
    assert site.offer(tacit="", settings="") == "ok"


def test_fields_with_defaults_are_not_sent() -> None:
    assert msgspec.msgpack.decode(bodies.pack(Offer(plan="p"))) == {"plan": "p"}


def test_sites_confirm_the_settings_too() -> None:
    """A server that writes the settings out differently to two sites is found out by their digests."""
    one, other = (Offer(plan="p", settings=text) for text in ("a", "b"))
    assert run_digest("r", one, b"t") != run_digest("r", other, b"t")
    assert run_digest("r", one, b"t") != run_digest("r", Offer(plan="p"), b"t")


def test_a_short_plan_is_the_same_plan() -> None:
    plan, short = job(), plans.to_short_toml(job())
    assert plans.parse(tree_of(short)) == plan
    assert len(short) < len(plans.to_toml(plan)) / 2


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "examples").glob("*.toml")))
def test_every_example_is_the_same_plan_when_short(path: Path) -> None:
    plan = plans.load(path)
    short = plans.to_short_toml(plan)
    assert plans.parse(tree_of(short)) == plan
    assert short != plans.to_toml(plan)


def test_a_default_that_a_preset_would_change_is_written_out() -> None:
    """The owner of a plan may set a key to its default where the preset computes another value."""
    tree = {
        "privacy": {"epsilon": 8.0, "clients": 600},
        "data": {"clients": 600},
        "server": {"optimizer": plans.Plan().server.optimizer},
    }
    plan = plans.parse(tree)
    assert plans.parse(tree_of(plans.to_short_toml(plan))) == plan


@pytest.mark.parametrize("left_out", ["codec.clip", ""])
def test_secure_aggregation_needs_every_setting(left_out: str) -> None:
    """A server that leaves out a setting would have sites confirm one plan and read it differently."""
    plan = plan_of(secure_aggregation={"min_clients": 10})
    tree, stated = tomllib.loads(plans.to_toml(plan)), json.loads(versions.write_settings(plan))
    whole = Offer(plan="", settings=json.dumps(stated), tacit=NEWER)
    assert versions.parse_offered(whole, tree) == plan
    stated.pop(left_out, None)
    part = Offer(plan="", settings=json.dumps(stated) if left_out else "", tacit=NEWER)
    with pytest.raises(VersionError, match="the offer does not state "):
        versions.parse_offered(part, tree)
