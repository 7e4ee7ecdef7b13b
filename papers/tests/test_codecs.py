"""Codecs of the papers: the laws of every codec, the printed noise, and plans that name them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit import codecs, plan, simulation
from tacit.audit.messages.attack import attack_messages
from tacit.codecs import Codec, Extent
from tacit.errors import PlanError, WireError
from tacit.privacy.claim import Open
from tacit.privacy.policy.user_code import find_user_code
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.testing import check_codec
from tacit_papers.codecs import binomial, lrq, paper_gaussian, sign
from tacit_papers.codecs.binomial import Binomial
from tacit_papers.codecs.lrq import LRQ
from tacit_papers.codecs.paper_gaussian import PaperGaussian
from tacit_papers.codecs.sign import Sign
from tests import seeds
from tests.audit.test_messages import ONE_MESSAGE, job, of, table  # noqa: F401 (a fixture)
from tests.deployment.local_post import GENEROUS, rehearsed
from tests.roles import decode, encode
from tests.simulation.small import small_plan, write_csv

EXTENT = Extent(rounds=3, cohort=4)
CASES = {
    "paper_gaussian": paper_gaussian.make(PaperGaussian(logarithm="ten"), EXTENT),
    "sign": sign.make(Sign(), EXTENT),
    "lrq": lrq.make(LRQ(stddev=0.1), EXTENT),
    "binomial": binomial.make(Binomial(epsilon=8.0, delta=1e-3), EXTENT),
}
REQUIRED: dict[str, dict[str, object]] = {
    "lrq": {"stddev": 0.1},
    "binomial": {"epsilon": 8.0, "delta": 1e-3},
}
each = pytest.mark.parametrize("name", CASES)


def name_codec(name: str, **settings: object) -> plan.Codec:
    given = {**REQUIRED.get(name, {}), **settings}
    return plan.parse({"codec": {"name": name, "settings": given}}).codec


@each
def test_it_obeys_the_laws(name: str) -> None:
    check_codec(CASES[name])


@pytest.mark.parametrize("name", [name for name in CASES if name != "binomial"])
def test_it_claims_nothing(name: str) -> None:
    (claim,) = CASES[name].claims(1000, 10)
    assert claim.event == Open()


@each
def test_a_plan_names_it(name: str) -> None:
    made = codecs.build(name_codec(name), EXTENT)
    assert isinstance(made, Codec)
    assert made.name == name


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("logarithm", "factor", "stddev"),
    [
        ("natural", "deviation", math.sqrt(0.184207)),
        ("ten", "deviation", math.sqrt(0.08)),
        ("ten", "variance", 0.08),
    ],
)
def test_the_printed_noise_has_its_printed_size(logarithm, factor, stddev) -> None:
    """100,000 numbers; their mean or spread is off by more with a probability of 5e-7."""
    settings = PaperGaussian(logarithm=logarithm, factor=factor)
    assert paper_gaussian.compute_stddev(settings) == pytest.approx(stddev, rel=1e-5)
    made = codecs.build(name_codec("paper_gaussian", logarithm=logarithm, factor=factor), EXTENT)
    sent = encode(
        made, np.full(100_000, 5.0, np.float32), seeds.draws(0), Draws.seeded(0)
    ).payload.view("<f4")
    off = seeds.deviations(2) / math.sqrt(100_000)
    assert sent.std() == pytest.approx(stddev, rel=off / math.sqrt(2) + 1e-5)
    assert sent.mean() == pytest.approx(5.0, abs=off * stddev)


def test_what_would_follow_from_the_printed_noise_if_its_sensitivity_were_one() -> None:
    """S² / (2 σ²) is 1 a round with the stated variance: 40 rounds cost rho 40, and 73 per run at delta 1e-3."""
    rho = 40 * 0.4**2 / (2 * paper_gaussian.compute_variance(PaperGaussian(logarithm="ten")))
    assert rho == pytest.approx(40)
    assert rho + 2 * math.sqrt(rho * math.log(1e3)) == pytest.approx(73.2, abs=0.1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"row_ratio": 1e-4}, "row_ratio must exceed 0.8 stated_delta"),
        ({"stated_epsilon": 0.0}, "codec.settings.stated_epsilon: .* greater than 0"),
        ({"stated_delta": 1.0}, "codec.settings.stated_delta: .* less than 1"),
        ({"steps": 0}, "codec.settings.steps: .* greater than or equal to 1"),
        ({"logarithm": "two"}, "codec.settings.logarithm: .* 'natural' or 'ten'"),
        ({"factor": 3}, "codec.settings.factor: .* 'deviation' or 'variance'"),
        ({"epsilon": 1.0}, "codec.settings.epsilon is not a setting of this codec"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said) -> None:
    with pytest.raises(PlanError, match=said):
        codecs.build(name_codec("paper_gaussian", **settings), EXTENT)


@pytest.mark.parametrize("key", ["logarithm", "factor"])
def test_a_choice_that_nobody_handles_is_an_error(key: str) -> None:
    settings = replace(PaperGaussian())
    object.__setattr__(settings, key, "no such word")
    with pytest.raises(AssertionError):
        paper_gaussian.compute_stddev(settings)


def test_a_sign_is_sent_with_the_mean_size() -> None:
    made = CASES["sign"]
    total = made.empty(4)
    total.add(
        encode(
            made, np.array([3, -1, 2, -2], np.float32), Draws.seeded(0), Draws.seeded(0)
        ).payload,
        1,
        Draws.seeded(0),
    )
    assert decode(made, total, Draws.seeded(0), Draws.seeded(0)).tolist() == [2, -2, 2, -2]
    assert made.payload_size(506_451) == 4 + 63_307


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_an_update_that_is_not_finite_is_refused(wrong) -> None:
    made = CASES["sign"]
    total = made.empty(5)
    payload = encode(
        made, np.array([0, 1, wrong, 2, 3], np.float32), Draws.seeded(0), Draws.seeded(0)
    ).payload
    with pytest.raises(WireError, match="its norm must be finite and not negative"):
        total.add(payload, 1, Draws.seeded(0))
    assert total.weight == 0


@each
def test_its_messages_can_be_audited(table: Path, name: str) -> None:  # noqa: F811
    codec = {"name": name, "settings": REQUIRED.get(name, {})}
    found = attack_messages(job(table, codec=codec), 4)
    assert 0 <= of(found, "categories", ONE_MESSAGE).auc <= 1


@each
@pytest.mark.parametrize("sum_at", ["server", "site"])
def test_sites_train_the_model_of_the_simulation(tmp_path: Path, name: str, sum_at: str) -> None:
    server = {"rounds": 2, "cohort": "count", "cohort_size": 11, "sum_at": sum_at}
    codec = {"name": name, "settings": REQUIRED.get(name, {})}
    asked = small_plan(write_csv(tmp_path / "reviews.csv"), codec=codec, server=server)
    allowed = [str(one) for one in find_user_code(asked)]
    policy = GENEROUS.replace("[allow]", f"[allow]\nuser_code = {allowed}")
    simulated, deployed = rehearsed(asked, tmp_path, policy)
    assert deployed == simulated


@pytest.mark.slow
def test_a_rehearsal_allows_the_code_that_its_plan_names(tmp_path: Path) -> None:
    pytest.importorskip("flwr", reason="flwr is not installed")
    source = write_csv(tmp_path / "reviews.csv")
    asked = small_plan(source, codec={"name": "sign"}, server__rounds=1)
    (tmp_path / "plan.toml").write_text(plan.to_toml(asked), encoding="utf-8")
    words = ["deploy", "rehearse", "plan.toml", "--sites", "2", "--compare", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tacit", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["same"]


def test_a_robust_rule_reads_single_signs(tmp_path: Path) -> None:
    asked = small_plan(
        write_csv(tmp_path / "reviews.csv"),
        codec={"name": "sign"},
        server={"rounds": 2, "rule": "median"},
    )
    folder = simulation.start(asked, tmp_path / "runs")
    entries = list(record.read(folder / RECORD))
    assert record.select_entries(entries, record.Finished, record.RUN)
    (claimed, *_) = record.select_entries(entries, record.Released, record.RUN)
    assert "signs, one bit each" in str(claimed)
