"""A codec of a user's own: the one that docs/guides/extend.md shows is trained with, checked, pinned and refused as any other code."""

import hashlib
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import tacit
from tacit import codecs, plan, simulation
from tacit.deployment.plan_requirements import compute_requirements
from tacit.errors import PlanError, RunError
from tacit.plan import find_own_parts
from tacit.runs.record import Round
from tests.cli import made_up
from tests.simulation.small import write_csv

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "extend.md"
BLOCKS = re.findall(r"```(?:python|toml)\n(.*?)```", PAGE.read_text(), re.DOTALL)
CODE, CODEC = BLOCKS[0], BLOCKS[1]
PLAN = """
name = "coins"
[data]
source = "r.csv"
clients = 4
columns = { text = ["opinion"], label = "stars" }
[features]
buckets = 50
[server]
rounds = 2
"""
EXTENT = codecs.Extent(rounds=2, cohort=4)


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's codec in a folder of its own on the path, and a plan that names it in the working folder."""
    folder, here = tmp_path / "parts", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    (folder / "coin.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(here)
    sys.modules.pop("coin", None)
    write_csv(here / "r.csv", rows=80)
    (here / "plan.toml").write_text(PLAN + CODEC)
    return folder


def mark(code: Path) -> Path:
    """Make the code leave a mark when it runs."""
    file = code / "coin.py"
    file.write_text(f"{CODE}\nfrom pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    return code / "ran"


def forget(code: Path) -> None:
    sys.modules.pop("coin", None)
    (code / "ran").unlink(missing_ok=True)
    shutil.rmtree(code / "__pycache__", ignore_errors=True)


def test_the_codec_of_the_page_trains_a_model_and_is_pinned(code: Path) -> None:
    run = tacit.run("plan.toml", observer=tacit.Silence())
    assert len(run.predict("r.csv")) == 80
    (pinned,) = find_own_parts(plan.load(run.folder / "plan.toml")).values()
    assert pinned.sha256 == hashlib.sha256((code / "coin.py").read_bytes()).hexdigest()
    assert "randomised response (clip 0.01)" in (run.folder / "record.jsonl").read_text()


def test_the_codec_of_the_page_claims_what_the_built_in_one_does(code: Path) -> None:
    settings = plan.load(Path("plan.toml"))
    built_in = replace(settings, codec=plan.RR(epsilon=1.0, clip=0.01))
    claims = [
        codecs.build(one.codec, EXTENT).claims(100, 4)[0].event.event.epsilon
        for one in (settings, built_in)
    ]
    assert claims[0] == pytest.approx(claims[1], rel=1e-9)


def test_the_codec_of_the_page_obeys_the_laws(code: Path) -> None:
    exec(BLOCKS[2], {})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("clipp = 0.1", r"codec.settings.clipp is not a setting of this codec; known are epsilon"),
        ('clip = "large"', r"codec.settings.clip: .*number.*got 'large'"),
        ("clip = -1.0", r"codec.settings: .*clip must be positive"),
    ],
)
def test_a_wrong_setting_is_refused_before_data_is_read(code: Path, line: str, said: str) -> None:
    text = PLAN + CODEC.replace("clip = 0.01", line)
    Path("plan.toml").write_text(text)
    Path("r.csv").unlink()
    with pytest.raises(PlanError, match=said):
        tacit.run("plan.toml", observer=tacit.Silence())
    assert not list(Path().glob("runs/*"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("\ncoin = make\n", r"must be a tacit.codecs.OwnMechanism"),
        ("\ncoin = OwnMechanism(settings=Settings, make=lambda s, e: 3)\n", r"`make` must return"),
    ],
)
def test_what_is_no_codec_is_refused(code: Path, change: str, said: str) -> None:
    (code / "coin.py").write_text(CODE + change)
    with pytest.raises(PlanError, match=said):
        tacit.run("plan.toml", observer=tacit.Silence())


def test_secure_aggregation_needs_a_codec_of_integers(code: Path) -> None:
    settings = plan.load(Path("plan.toml")).codec
    with pytest.raises(PlanError, match=r"this codec has no `integers`"):
        codecs.build(settings, replace(EXTENT, helpers=1))


def test_reading_a_plan_or_a_record_runs_no_code(
    capsys: pytest.CaptureFixture[str], code: Path
) -> None:
    ran = mark(code)
    tacit.run("plan.toml", observer=tacit.Silence())
    assert ran.exists(), "or this test could not fail"
    forget(code)
    for words in (
        ("check", "plan.toml"),
        ("runs", "verify", "coins-1"),
        ("predict", "coins-1", "r.csv"),
    ):
        made_up.tacit(capsys, *words)
        assert not ran.exists(), words


def test_a_folder_s_codec_runs_only_if_it_is_allowed(code: Path) -> None:
    class Stop(simulation.Silence):
        def entry(self, entry: object) -> None:
            if isinstance(entry, Round):
                raise KeyboardInterrupt

    ran = mark(code)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(plan.load(Path("plan.toml")), Path("runs"), Stop())
    forget(code)
    with pytest.raises(RunError, match=r"codec.name names Python code, 'coin:coin'"):
        tacit.resume("coins-1", observer=tacit.Silence())
    assert not ran.exists()
    tacit.resume("coins-1", observer=tacit.Silence(), allow_code=True)
    assert ran.exists()


def test_an_owner_is_asked_for_the_code_and_what_it_claims(code: Path) -> None:
    ran = mark(code)
    settings = plan.load(Path("plan.toml"))
    unread = compute_requirements(settings)
    assert not ran.exists()
    assert unread.epsilon_per_run is None
    assert unread.trusts_server, "what is not known is taken to rest on the server"
    assert [one.path for one in unread.user_code] == ["coin:coin"]
    read = compute_requirements(settings, parameters=100, allow_code=True)
    assert ran.exists()
    assert not read.trusts_server
    forget(code)
    trusting = CODE.replace('rests_on="nobody"', 'rests_on="server"')
    (code / "coin.py").write_text(trusting)
    assert compute_requirements(settings, parameters=100, allow_code=True).trusts_server
