"""tacit run and tacit resume keep a data owner's policy: what goes beyond it is refused before anything leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import simulation
from tacit.deployment.site.site_folder import POLICY, SETTINGS, SiteSettings, create_site
from tacit.privacy.policy import load_policy
from tacit.privacy.policy.starter import render_policy
from tests.cli.made_up import LENIENT, PEOPLE, tacit, write_people

Capture = pytest.CaptureFixture[str]
ROWS = '[share]\ncolumns = ["age", "pay", "y"]\nmin_l = 1\n'
STRICT = f"{LENIENT}{ROWS}min_k = 4\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    write_people(tmp_path)
    # Two rows are held out to measure on, so classes are smaller than in the plan for tacit disclose.
    Path("plan.toml").write_text(
        PEOPLE.replace("test = 0.0", "test = 0.2").replace("k = 3", "k = 2")
    )
    return tmp_path


def test_a_run_beyond_the_policy_is_refused_and_leaves_nothing(capsys: Capture, here: Path) -> None:
    Path("mine.toml").write_text(STRICT)
    said = tacit(capsys, "run", "plan.toml", "--policy", "mine.toml", "--quiet")
    assert said.code == 3
    assert "refused: mine.toml does not allow the plan" in said.err
    assert "share.min_k = 4: the plan asks for k = 2" in said.err
    assert not (here / "runs").exists()


def test_a_run_within_the_policy_goes_on(capsys: Capture, here: Path) -> None:
    Path("mine.toml").write_text(f"{LENIENT}{ROWS}min_k = 2\nmax_share = 1.0\n")
    said = tacit(
        capsys, "run", "plan.toml", "--policy", "mine.toml", "--quiet", "-o", "server.rounds=1"
    )
    assert said.code == 0, said.err
    assert (here / "runs" / "people-1").exists()


def test_k_other_rows_count_as_one_more_for_the_policy(capsys: Capture) -> None:
    Path("mine.toml").write_text(STRICT)
    for k, code in ((2, 3), (3, 0)):
        words = (
            "site",
            "policy",
            "check",
            "mine.toml",
            "plan.toml",
            "-o",
            f"data.share.k={k}",
            "-o",
            "data.share.k_of=other_rows",
        )
        said = tacit(capsys, *words)
        assert said.code == code, said.err
        assert ("share.min_k = 4: the plan asks for k = 3" in said.out + said.err) == bool(code)
    assert (
        "k = 3 other rows"
        in tacit(
            capsys, "check", "plan.toml", "-o", "data.share.k=3", "-o", "data.share.k_of=other_rows"
        ).out
    )


def test_resume_keeps_the_policy_too(
    capsys: Capture, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tacit(capsys, "run", "plan.toml", "--quiet", "-o", "server.rounds=1").code == 0
    Path("mine.toml").write_text(STRICT)
    monkeypatch.setattr(simulation, "resume", lambda *_, **__: pytest.fail("nothing may leave"))
    assert tacit(capsys, "resume", "people-1", "--policy", "mine.toml").code == 3


def test_rows_that_would_leave_are_looked_at_themselves(capsys: Capture) -> None:
    Path("mine.toml").write_text(f"{LENIENT}{ROWS}min_k = 2\nmax_share = 0.1\n")
    said = tacit(capsys, "run", "plan.toml", "--policy", "mine.toml", "--quiet")
    assert said.code == 3
    assert "share.max_share = 0.1" in said.err


def test_a_plan_that_discloses_nothing_needs_no_share_table(capsys: Capture) -> None:
    with_rows, without = (
        Path("plan.toml").read_text(),
        Path("plan.toml").read_text().replace("[data.share]\nk = 2\n", ""),
    )
    Path("mine.toml").write_text(LENIENT)
    words = ("run", "plan.toml", "--policy", "mine.toml", "--quiet", "-o", "server.rounds=1")
    for text, code in ((with_rows, 3), (without, 0)):
        Path("plan.toml").write_text(text)
        said = tacit(capsys, *words)
        assert said.code == code, said.err


def test_a_run_keeps_the_limits_before_data_is_read(capsys: Capture, here: Path) -> None:
    (here / "people.csv").unlink()
    Path("mine.toml").write_text(f"{LENIENT}max_rounds_per_run = 3\n[share]\n")
    said = tacit(
        capsys, "run", "plan.toml", "--policy", "mine.toml", "--quiet", "-o", "server.rounds=4"
    )
    assert said.code == 3
    assert "limits.max_rounds_per_run = 3: the plan has 4 rounds" in said.err


def test_a_policy_to_start_from_is_careful(capsys: Capture) -> None:
    assert tacit(capsys, "site", "policy", "init").code == 0
    assert tacit(capsys, "site", "policy", "init").code == 2, "it is there already"
    said = tacit(capsys, "site", "policy", "check", "policy.toml", "plan.toml")
    assert said.code == 3
    assert "share: the policy has no [share] table" in said.err
    assert "columns.numeric = []: the plan uses the column 'age' as numeric" in said.err
    assert "limits.no_epsilon = false" in said.err


PRIVATE = """
[privacy]
epsilon = 2.0
[data]
source = "people.csv"
clients = 5000
[data.columns]
numeric = ["age"]
label = "y"
"""


@pytest.mark.parametrize(
    "text", [PEOPLE, PRIVATE, "", '[codec]\nname = "rr"\nepsilon = 1.0\nclip = 0.1\n']
)
def test_a_policy_for_a_plan_allows_it_and_no_other(capsys: Capture, here: Path, text: str) -> None:
    (here / "people.csv").unlink()  # no data is read
    Path("plan.toml").write_text(text)
    assert tacit(capsys, "site", "policy", "init", "mine.toml", "--for", "plan.toml").code == 0
    said = tacit(capsys, "site", "policy", "check", "mine.toml", "plan.toml", "--json")
    assert said.code == 0, said.err
    asks = json.loads(said.out)["asks"]
    assert asks["plan_hash"] in Path("mine.toml").read_text()
    other = tacit(
        capsys, "site", "policy", "check", "mine.toml", "plan.toml", "-o", "server.lr=0.5"
    )
    assert other.code == 3
    assert "is not among those that may run here" in other.err


def test_a_price_that_grows_with_the_model(capsys: Capture) -> None:
    Path("plan.toml").write_text(
        '[codec]\nname = "rr_sampled"\nepsilon = 1.0\nclip = 0.1\n[server]\nrounds = 2\n'
    )
    tacit(capsys, "site", "policy", "init", "mine.toml", "--for", "plan.toml")
    asks = json.loads(
        tacit(
            capsys,
            "site",
            "policy",
            "check",
            "mine.toml",
            "plan.toml",
            "--json",
            "--parameters",
            "1000",
        ).out
    )["asks"]
    assert 1 < asks["epsilon_per_run"] <= 2
    assert asks["message_bytes"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[allow]\nmodels = ["logistics"]', "Did you mean 'logistic'?"),
        ('[allow]\ncodecs = ["dpsum", "nothing"]', "Did you mean 'dp_sum'?"),
        ('[allow]\ndisclosures = ["range"]', "Did you mean 'ranges'?"),
        ("[limits]\nmax_epsilon_per_runs = 2", "Did you mean 'max_epsilon_per_run'?"),
        ("[limit]\nmax_epsilon_per_run = 2", "Did you mean 'limits'?"),
        ("[limits]\nmax_epsilon_per_run = 0", "limits.max_epsilon_per_run"),
        ("[limits]\ndelta = 1", "limits.delta"),
        ("allow = 3", "allow must be a table"),
        ('[plans]\nhashes = ["abc"]', "64 hexadecimal digits"),
    ],
)
def test_what_is_not_understood_in_a_policy_is_named(capsys: Capture, text: str, said: str) -> None:
    Path("mine.toml").write_text(f"{text}\n")
    found = tacit(capsys, "site", "policy", "check", "mine.toml", "plan.toml")
    assert found.code == 2
    assert said in found.err


def test_all_problems_of_a_policy_are_named_at_once(capsys: Capture) -> None:
    Path("mine.toml").write_text(
        "[limits]\nmax_epsilon_per_run = -1\nrounds = 3\n[share]\nmin_k = 0\n"
    )
    found = tacit(capsys, "site", "policy", "check", "mine.toml", "plan.toml").err
    for key in ("limits.max_epsilon_per_run", "limits.rounds", "share.min_k"):
        assert key in found


@pytest.mark.parametrize("words", [("run", "plan.toml"), ("resume", "people-1")])
def test_a_policy_that_is_not_understood_stops_everything(
    capsys: Capture, here: Path, words: tuple[str, ...]
) -> None:
    (here / "runs" / "people-1").mkdir(parents=True)
    (here / "runs" / "people-1" / "plan.toml").write_text(Path("plan.toml").read_text())
    Path("mine.toml").write_text("[share]\nmin_kay = 3\n")
    assert tacit(capsys, *words, "--policy", "mine.toml").code == 2


def test_a_price_that_is_not_known_before_data_is_said_to_be_open(capsys: Capture) -> None:
    Path("plan.toml").write_text('[codec]\nname = "rr"\nepsilon = 1.0\nclip = 0.1\n')
    tacit(capsys, "site", "policy", "init", "mine.toml", "--for", "plan.toml")
    said = tacit(capsys, "site", "policy", "check", "mine.toml", "plan.toml")
    assert (
        "allows plan.toml, as far as is known before data is read; --parameters N adds its privacy loss"
        in said.out
    )


def test_a_plan_with_helpers_at_a_site_without_peers(capsys: Capture, here: Path) -> None:
    """In a site's folder the check looks at the site's peers too: without any, the site would refuse the plan."""
    create_site(
        here / "a",
        SiteSettings(
            name="a", data=str(here / "people.csv"), server="localhost:1", one_client=True
        ),
    )
    lenient = f"{LENIENT}max_epsilon_per_run = 1.0\nmax_epsilon_lifetime = 1.0\n"
    (here / "a" / POLICY).write_text(lenient)
    Path("summed.toml").write_text(SUMMED)
    said = tacit(capsys, "site", "policy", "check", "a/policy.toml", "summed.toml")
    assert said.code == 3
    assert "site.toml: [peers] names no other site" in said.err
    with (here / "a" / SETTINGS).open("a") as file:
        file.write(f'b = "{"0" * 64}"\n')
    assert tacit(capsys, "site", "policy", "check", "a/policy.toml", "summed.toml").code == 0
    (here / "a" / POLICY).write_text(lenient.replace("min_cohort = 1\n", "min_cohort = 20\n"))
    said = tacit(capsys, "site", "policy", "check", "a/policy.toml", "summed.toml")
    assert (
        "limits.min_cohort = 20: the plan's secure aggregation adds up as few as 5 clients"
        in said.err
    )


SUMMED = """\
name = "summed"
[data]
source = "people.csv"
clients = 50
[data.columns]
text = ["note"]
label = "ill"
[codec]
name = "dp_sum"
epsilon = 1.0
delta = 1e-5
clip = 1.0
[secure_aggregation]
min_clients = 5
"""


def test_the_plan_that_init_writes_fits_the_policy_made_for_it_and_what_it_gives_away_is_marked(
    capsys: Capture,
) -> None:
    assert tacit(capsys, "init", "mine.toml", "--from", "people.csv", "--label", "y").code == 0
    assert tacit(capsys, "site", "policy", "init", "policy.toml").code == 0
    assert load_policy(Path("policy.toml")).allow.trust_server is False
    refused = tacit(capsys, "site", "policy", "check", "policy.toml", "mine.toml")
    assert refused.code == 3
    assert "to change: trust_server = true under [allow]" in refused.err
    assert "`tacit site policy init policy.toml --for mine.toml --force`" in refused.err

    said = tacit(capsys, "site", "policy", "init", "policy.toml", "--for", "mine.toml", "--force")
    assert tacit(capsys, "site", "policy", "check", "policy.toml", "mine.toml").code == 0
    lines = Path("policy.toml").read_text().splitlines()
    place = next(
        number for number, line in enumerate(lines, 1) if line.startswith("trust_server = true")
    )
    assert "GIVES AWAY" in lines[place - 1]
    assert (
        f"policy.toml, line {place}: trust_server = true reveals: the server sees individual updates and must be trusted"
        in said.out
    )
    assert not any("GIVES AWAY" in line for line in render_policy("policy.toml").splitlines())


def test_a_plan_that_gives_nothing_away_has_no_marked_line(capsys: Capture) -> None:
    tacit(capsys, "init", "mine.toml", "--from", "people.csv", "--label", "y")
    text = (
        Path("mine.toml")
        .read_text()
        .replace('preset = "private"', 'preset = "no_trust"')
        .replace("baselines", "# baselines")
    )
    Path("mine.toml").write_text(text)
    said = tacit(capsys, "site", "policy", "init", "policy.toml", "--for", "mine.toml")
    assert said.code == 0, said.err
    assert "gives away" not in said.out
    assert tacit(capsys, "site", "policy", "check", "policy.toml", "mine.toml").code == 0


def test_check_takes_the_folder_of_a_site(capsys: Capture, here: Path) -> None:
    (here / "hospital").mkdir()
    (here / "hospital" / POLICY).write_text(STRICT)
    asked = ("plan.toml", "--json")
    named = tacit(capsys, "site", "policy", "check", f"hospital/{POLICY}", *asked)
    assert tacit(capsys, "site", "policy", "check", "hospital", *asked) == named
    assert json.loads(named.out)["policy"] == f"hospital/{POLICY}"
    (here / "hospital" / POLICY).unlink()
    said = tacit(capsys, "site", "policy", "check", "hospital", "plan.toml")
    assert f"hospital/{POLICY} cannot be read" in said.err
