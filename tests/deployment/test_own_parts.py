"""A user's own codec and rule between sites: refused by default, the simulator's model where owners allow them, never imported by a server's word."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tacit import plan, simulation
from tacit.deployment.server.job import deploy
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import PolicyError
from tacit.privacy.policy.user_code import find_user_code
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, model_of, owner, sites_of
from tests.simulation.small import small_plan, write_csv

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "extend.md").read_text()
MARK = "\nfrom pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
PARTS = {"coin": "A codec", "nearest": "An aggregation rule"}
CODEC = {"name": "coin:coin", "settings": {"epsilon": 1.0, "clip": 0.02}}
RULE = {"rule": "nearest:nearest", "rule_settings": {"keep": 0.6}, "rounds": 2}


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's codec and rule in a folder on the path; each leaves a mark when it is imported."""
    folder = tmp_path / "parts"
    for module, title in PARTS.items():
        text = re.findall(
            r"```python\n(.*?)```", PAGE.partition(f"## {title} of your own")[2], re.S
        )
        (folder / module).mkdir(parents=True)
        (folder / module / f"{module}.py").write_text(text[0] + MARK)
        monkeypatch.syspath_prepend(str(folder / module))
        monkeypatch.delitem(sys.modules, module, raising=False)
    return folder


@pytest.fixture
def job(code: Path, tmp_path: Path) -> plan.Plan:
    return small_plan(write_csv(tmp_path / "reviews.csv"), codec=CODEC, server=RULE)


def ran(code: Path) -> list[str]:
    return sorted(file.parent.name for file in code.glob("*/ran"))


def forget(code: Path) -> None:
    for module in PARTS:
        sys.modules.pop(module, None)
        (code / module / "ran").unlink(missing_ok=True)


def allowing(job: plan.Plan, without: str = "nothing") -> str:
    """A policy that allows the code of a plan, as it is on this machine, without one module."""
    listed = [str(one) for one in find_user_code(job) if one.module != without]
    return GENEROUS.replace("[allow]", f"[allow]\nuser_code = {listed}")


def hostile(job: plan.Plan, folder: Path, policy: str) -> HostileServer:
    """A server that offers a plan to one site."""
    ready = prepare_rehearsal(job, folder / "rows", 1)
    site = OwnerSite(owner("a", ready.files[0], folder / "a", policy))
    return HostileServer(site, ready.plan)


def test_a_site_refuses_by_default_and_imports_nothing(code, job, tmp_path) -> None:
    server = hostile(job, tmp_path, GENEROUS)
    forget(code)
    assert server.open() is None
    assert server.status == "policy"
    assert ran(code) == []
    assert server.rule == "allow.user_code"


def test_a_rule_of_disclosure_is_refused_before_it_is_imported(code, tmp_path) -> None:
    """A server that names a rule for the rows that leave has it run at no site that did not allow it."""
    source = write_csv(tmp_path / "reviews.csv")
    (code / "coin" / "leaver.py").write_text("def everything(classes): ..." + MARK)
    given = plan.dump(small_plan(source, server={"rounds": 2, "weights": "rows"}))
    given["data"]["columns"]["quasi"] = ["opinion"]
    given["data"]["share"] = {"rule": "leaver:everything", "k": 2}
    given["codec"] = {"name": "plain"}
    server = hostile(plan.parse(given), tmp_path, GENEROUS)
    forget(code)
    sys.modules.pop("leaver", None)
    assert server.open() is None
    assert server.status == "policy"
    assert "allow.user_code" in (server.rule or "")
    assert ran(code) == []


def test_a_deployed_run_stops_and_names_what_each_owner_would_have_to_read(
    code, job, tmp_path
) -> None:
    ready = prepare_rehearsal(job, tmp_path / "rows", 3)
    told: list[str] = []
    owners = [
        owner(name, file, tmp_path / name, tell=told.append)
        for name, file in zip("abc", ready.files, strict=True)
    ]
    with pytest.raises(PolicyError, match=r"allow\.user_code"):
        deploy(ready.plan, sites_of(owners), tmp_path / "runs", simulated_noise=True)
    for module, pinned in zip(PARTS, find_user_code(job), strict=True):
        file = code / module / f"{module}.py"
        said = f"if you have read {file} and it may run here, add {str(pinned)!r}"
        assert any(said in line for line in told), module


def test_owners_that_allow_it_train_the_model_of_the_simulator(code, job, tmp_path) -> None:
    simulated = simulation.start(job, tmp_path / "simulated")
    ready = prepare_rehearsal(job, tmp_path / "rows", 3)
    owners = [
        owner(name, file, tmp_path / name, allowing(job))
        for name, file in zip("abc", ready.files, strict=True)
    ]
    deployed = deploy(
        ready.plan,
        sites_of(owners),
        tmp_path / "deployed",
        test=str(ready.test),
        simulated_noise=True,
        identity=ready.identity,
    )
    assert model_of(deployed) == model_of(simulated)


def test_a_site_that_allows_both_imports_the_codec_only(code, job, tmp_path) -> None:
    server = hostile(job, tmp_path, allowing(job))
    forget(code)
    assert server.open(), server.rule
    assert ran(code) == ["coin"], "the rule runs at the server"


@pytest.mark.parametrize("part", PARTS)
def test_each_part_needs_its_own_permission(code, job, tmp_path, part) -> None:
    server = hostile(job, tmp_path, allowing(job, without=part))
    forget(code)
    assert server.open() is None
    assert (server.status, server.rule, ran(code)) == ("policy", "allow.user_code", [])


def test_a_codec_whose_promise_rests_on_the_server_is_refused_by_its_claim(
    code, job, tmp_path
) -> None:
    """No list of codecs names it: the site builds the codec and reads whom its claim trusts."""
    without_rule = replace(job, server=plan.Server(rounds=2))
    careful = allowing(without_rule).replace("trust_server = true", "trust_server = false")
    assert "trust_server = false" in careful
    assert hostile(without_rule, tmp_path / "nobody", careful).open() is not None
    coin = code / "coin" / "coin.py"
    claim = ('trust=("nobody, since each client randomises its own message",)', 'rests_on="nobody"')
    text = coin.read_text()
    assert all(text.count(one) == 1 for one in claim)
    text = text.replace(claim[0], 'trust=("the server",)').replace(claim[1], 'rests_on="server"')
    coin.write_text(text)
    forget(code)
    careful = allowing(without_rule).replace("trust_server = true", "trust_server = false")
    server = hostile(without_rule, tmp_path / "server", careful)
    assert server.open() is None
    assert (server.status, server.rule) == ("policy", "allow.trust_server")


def test_code_that_changed_after_the_owner_read_it_is_refused(code, job, tmp_path) -> None:
    policy = allowing(job)
    server = hostile(job, tmp_path, policy)
    with (code / "coin" / "coin.py").open("a") as file:
        file.write("\nchanged = True\n")
    forget(code)
    assert server.open() is None
    assert (server.status, server.rule, ran(code)) == ("policy", "allow.user_code", [])


def test_permission_that_is_withdrawn_ends_the_run(code, job, tmp_path) -> None:
    server = hostile(job, tmp_path, allowing(job))
    opened = server.open()
    assert opened
    without = owner("a", tmp_path / "rows" / "site-1.parquet", tmp_path / "a", GENEROUS)
    server.site = OwnerSite(without)
    forget(code)
    assert server.begin(opened) is None
    assert (server.status, server.rule, ran(code)) == ("policy", "allow.user_code", [])


REFUSED_BY_POLICY = {
    "installed library": "numpy:load",
    "module of Tacit": "tacit.files:replace_file",
    "module on the path": "evil:run",
    "module in a package": "evil.inner:run",
    "pinned by the server": "evil:run@sha256:" + "0" * 64,
    "another name in a listed file": "coin:make",
}
REFUSED_AS_A_PLAN = {
    "standard library": "os:system",
    "submodule of the standard library": "os.path:join",
    "private name": "coin:__builtins__",
}
NAMES = {**REFUSED_BY_POLICY, **REFUSED_AS_A_PLAN}
KEYS = {
    "codec": {"codec": {"name": "stands.for:another"}},
    "rule": {"codec": {"name": "plain"}, "server": {"rounds": 2, "rule": "stands.for:another"}},
    "model": {"codec": {"name": "plain"}, "model": {"name": "stands.for:another"}},
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_server_cannot_make_a_site_import_code(
    code, job, tmp_path, monkeypatch, key, name
) -> None:
    """The owner allows the codec and the rule of the page; the server names other code."""
    evil = tmp_path / "evil" / "evil"
    evil.mkdir(parents=True)
    for file in ("__init__", "inner"):
        (evil / f"{file}.py").write_text(f"{MARK}\nrun = print\n")
    monkeypatch.syspath_prepend(str(evil.parent))
    server = hostile(job, tmp_path, allowing(job))
    changed = plan.parse({**plan.dump(plan.parse(tomllib.loads(server.text))), **KEYS[key]})
    server.text = plan.to_toml(changed).replace("stands.for:another", NAMES[name])
    assert NAMES[name] in server.text
    forget(code)
    assert server.open() is None
    expected = ("policy", "allow.user_code") if name in REFUSED_BY_POLICY else ("plan", "")
    assert (server.status, server.rule) == expected
    assert not (evil / "ran").exists()
    assert ran(code) == []
    assert not {"evil", "coin", "nearest"} & set(sys.modules)
