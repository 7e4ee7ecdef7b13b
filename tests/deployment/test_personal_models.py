"""With [private] a site predicts each row with its client's own model, as the simulator does; private parts never travel."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file

import tacit
from tacit import simulation, training
from tacit.cli import execute
from tacit.deployment.server.job import deploy
from tacit.deployment.site import client_parts
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_side import SiteSide
from tacit.errors import DataError, PlanError, RunError
from tacit.models.predict import to_probabilities
from tacit.plan import Plan
from tacit.runs.run_folder import MODEL
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.local_post import owner, sites_of
from tests.simulation.small import small_plan, write_csv
from tests.simulation.worded import worded_plan

pytest.importorskip("torch")
CLOSE = 1e-6
ROUNDS = 2
EVERYBODY = {"rounds": ROUNDS}


class Trained:
    """A simulated run, and the same run between three sites, whose messages are kept."""

    def __init__(self, job: Plan, folder: Path) -> None:
        self.simulated = simulation.start(job, folder / "simulated")
        ready = prepare_rehearsal(job, folder / "rows", 3)
        self.owners = [
            owner(name, file, folder / name) for name, file in zip("abc", ready.files, strict=True)
        ]
        self.sides, self.letters = dict[str, SiteSide](), list[bytes]()
        sites = sites_of(self.owners)
        send = sites.transport.send

        def keep(site: str, reply: bytes) -> bytes:
            self.letters.append(reply)
            for run in sites.transport.sites[site]._runs.values():
                self.sides[site] = run.built or self.sides.get(site)
            return reply

        def send_and_keep(site: str, message: bytes) -> str:
            self.letters.append(message)
            return send(site, message)

        sites.transport.spoil, sites.transport.send = keep, send_and_keep
        for one in self.owners:
            (one.folder / "secret").write_bytes(one.secret)
            (one.folder / "secret").chmod(0o600)
        self.place = deploy(
            ready.plan, sites, folder / "runs", test=str(ready.test), simulated_noise=True,
            identity=ready.identity,
        )  # fmt: skip

    def model_at(self, one: Owner) -> Path:
        (folder,) = (one.folder / "models").iterdir()
        return folder

    def parts(self) -> list[Path]:
        return [
            path
            for one in self.owners
            for path in one.folder.glob("runs/*/private/*/*.safetensors")
        ]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv", rows=90)


@pytest.fixture(scope="module")
def fedvocab(reviews, tmp_path_factory) -> Trained:
    return Trained(
        worded_plan(reviews, server=EVERYBODY, data__clients=6), tmp_path_factory.mktemp("fedvocab")
    )


def check_against_simulation(trained: Trained) -> None:
    """The rows of each client get the probabilities that the simulator's model of it gives."""
    ours = tacit.load(trained.simulated)
    for one in trained.owners:
        rows = pl.read_parquet(one.source)
        found = tacit.load(trained.model_at(one)).predict_proba(rows)
        for client in rows["client"].unique():
            own = (rows["client"] == client).to_numpy()
            wanted = ours.predict_proba(
                rows.filter(pl.col("client") == client), client=str(int(client))
            )
            assert np.abs(found[own] - wanted).max() <= CLOSE


def predict_during_the_run(side: SiteSide, shared: Path) -> np.ndarray:
    """Probabilities of each client's train rows, from the parts as the run itself loads them."""
    learner, worker = side.learner, side.learner.worker()
    model, found = training.flatten_parameters(learner, load_file(shared)), []
    starts = side.encoded.train_clients.starts
    for name in side.site.names:
        slot = side.site.slot(name)
        inputs = side.encoded.train.inputs.take(
            np.arange(starts[slot.block], starts[slot.block + 1])
        )
        words = learner.vocabulary(slot, inputs)
        worker.assemble(model, learner.load_private(slot, words, ROUNDS + 1))
        found.append(to_probabilities(worker.logits(inputs, words)))
    return np.concatenate(found)


def test_each_client_is_predicted_by_its_own_model(fedvocab) -> None:
    check_against_simulation(fedvocab)
    for one in fedvocab.owners:
        side, folder = fedvocab.sides[one.name], fedvocab.model_at(one)
        found = tacit.load(folder).predict_proba(one.source)
        wanted = predict_during_the_run(side, fedvocab.place / MODEL)
        assert np.abs(np.sort(found, axis=0) - np.sort(wanted, axis=0)).max() <= CLOSE
        rows = pl.read_parquet(one.source)
        first, second = sorted(rows["client"].unique())[:2]
        others = [tacit.load(folder).predict_proba(rows, client=name) for name in (first, second)]
        assert np.abs(others[0] - others[1]).max() > 100 * CLOSE
        assert "shared part of the model" in tacit.Run(folder).render_card()


@pytest.mark.slow
@pytest.mark.parametrize(
    "job",
    [
        pytest.param({"private": {"words": "all", "rows": "keyed", "adapt": "pass"}}, id="keyed"),
        pytest.param(
            {"private": {"words": "all", "spelling": "stem"}, "features__min_count": 2}, id="stems"
        ),
    ],
)
def test_other_word_tables(reviews, tmp_path, job) -> None:
    check_against_simulation(
        Trained(worded_plan(reviews, server=EVERYBODY, data__clients=6, **job), tmp_path)
    )


@pytest.mark.slow
def test_a_private_layer_of_a_network(reviews, tmp_path) -> None:
    """Such a model can be exported for one client, who is named; the card says what it holds."""
    job = small_plan(
        reviews, private={"parameters": ["layers.0.*"]}, codec={"name": "plain"}, server=EVERYBODY,
        data__clients=6,
    )  # fmt: skip
    trained = Trained(job, tmp_path)
    check_against_simulation(trained)
    one = trained.owners[0]
    folder, rows = trained.model_at(one), pl.read_parquet(one.source)
    client = rows["client"][0]
    with pytest.raises(RunError, match="name one with --client-id"):
        tacit.Run(folder).export("onnx", tmp_path / "none")
    done = tacit.Run(folder).export("safetensors", tmp_path / "one", client=client)
    ours = tacit.load(folder).predict_proba(rows, client=client)
    assert np.abs(tacit.load(done.folder).predict_proba(rows) - ours).max() <= 1e-5
    assert "private part" in (done.folder / "README.md").read_text()
    assert tacit.Run(folder).export("torch", tmp_path / "torch", client=client).difference <= 1e-5


def test_rows_of_unknown_clients_are_counted_and_refused(fedvocab) -> None:
    one = fedvocab.owners[1]
    model, rows = tacit.load(fedvocab.model_at(one)), pl.read_parquet(one.source)
    strange = rows.with_columns(
        pl.when(pl.int_range(pl.len()) < 3)
        .then(pl.lit("nobody"))
        .otherwise("client")
        .alias("client")
    )
    with pytest.raises(DataError, match=rf"3 of {len(rows)} rows belong to 1 client without"):
        model.predict_proba(strange)
    with pytest.raises(DataError, match="the column 'client' is missing"):
        model.predict_proba(rows.drop("client"))
    with pytest.raises(PlanError, match="word vectors are random"):
        model.predict_proba(strange, unknown_clients="base")
    elsewhere = pl.read_parquet(fedvocab.owners[0].source)
    with pytest.raises(DataError, match="without a personal model here"):
        model.predict_proba(elsewhere)


def test_the_command_line(fedvocab, tmp_path, capsys) -> None:
    one = fedvocab.owners[0]
    folder, rows = str(fedvocab.model_at(one)), pl.read_parquet(one.source).head(4)
    rows.drop("stars").write_csv(tmp_path / "new.csv")
    new, client = str(tmp_path / "new.csv"), rows["client"][0]
    assert execute(["predict", folder, new, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == 4
    assert execute(["predict", folder, new, "--client-id", client]) == 0
    assert execute(["predict", folder, new, "--client-id", "zz"]) != 0
    assert "4 of 4 rows belong to 1 client" in capsys.readouterr().err
    assert execute(["predict", folder, new, "--unknown-clients", "none"]) != 0
    assert "must be refuse or base" in capsys.readouterr().err
    assert execute(["export", folder, "--to", "onnx", "--client-id", client]) != 0
    assert "which no format represents" in capsys.readouterr().err


def test_the_shared_part_alone_is_refused(fedvocab, tmp_path) -> None:
    with pytest.raises(RunError, match="stays with each client, and only the shared part is here"):
        tacit.load(fedvocab.place)


def test_no_letter_has_a_private_parameter_or_a_word(fedvocab) -> None:
    """Sixteen bytes of a table row cannot appear in a letter by chance; nor can a long word."""
    vectors, words = set[bytes](), set[bytes]()
    for path in fedvocab.parts():
        arrays = load_file(path)
        words |= {word.encode() for word in json.loads(arrays.pop("facts").tobytes())["units"]}
        for array in arrays.values():
            flat = np.ascontiguousarray(array).ravel()
            vectors |= {
                flat[i : i + 4].tobytes()
                for i in range(0, len(flat) - 3, 4)
                if np.count_nonzero(flat[i : i + 4]) == 4
            }
    words = {word for word in words if len(word) > 4}
    assert vectors
    assert {b"people", b"story", b"bright"} <= words
    assert sum(map(len, fedvocab.letters)) > 10_000
    for letter in fedvocab.letters:
        assert not vectors & {letter[i : i + 16] for i in range(len(letter) - 15)}
        assert not [word for word in words if word in letter]


def test_an_erased_client_has_no_model_left(fedvocab, tmp_path) -> None:
    one = fedvocab.owners[0]
    site = shutil.copytree(one.folder, tmp_path / "site")
    (folder,), (run,) = (site / "models").iterdir(), (site / "runs").iterdir()
    rows = pl.read_parquet(one.source)
    client, other = sorted(rows["client"].unique())
    assert len(tacit.load(folder).predict(rows)) == len(rows)
    assert client_parts.delete_parts(run, {one.pseudonym(client)}) == 1
    with pytest.raises(DataError, match=r"1 client without a personal model here.*erased"):
        tacit.load(folder).predict(rows)
    others = rows.filter(pl.col("client") == other)
    assert len(tacit.load(folder).predict(others)) == len(others)


@pytest.mark.parametrize(
    ("private", "why"),
    [
        ({"words": "digits"}, "words of the shared table"),
        ({"words": "all", "adapt": "reconstruct", "store": "none"}, "store no private parameters"),
    ],
)
def test_plans_without_stored_parts_say_so(reviews, tmp_path, private, why) -> None:
    job = worded_plan(reviews, private, server={"rounds": 1, "cohort": "count", "cohort_size": 1})
    with pytest.raises(RunError, match=why):
        tacit.load(simulation.start(job, tmp_path))


def test_clients_of_a_simulation_are_named_by_their_column(reviews, tmp_path) -> None:
    columns = {"text": ["opinion"], "label": "stars", "client": "who"}
    data = {"source": str(reviews), "partition": "client", "columns": columns}
    job = small_plan(
        reviews, data=data, private={"parameters": ["layers.0.*"]}, codec={"name": "plain"},
        server={"rounds": 1},
    )  # fmt: skip
    model, rows = tacit.load(simulation.start(job, tmp_path)), pl.read_csv(reviews)
    found = model.predict_proba(rows)
    own = (rows["who"] == "person7").to_numpy()
    assert np.abs(found[own] - model.predict_proba(rows, client="person7")[own]).max() == 0
    assert np.abs(found[~own] - model.predict_proba(rows, client="person7")[~own]).max() > CLOSE
