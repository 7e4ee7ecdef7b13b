"""Hierarchies, noisy decisions, keys for rows that are no table, and the published facts about Adult."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from tacit.data import Table, load
from tacit.data.clients.divide import divide
from tacit.data.k_anonymity import add_key_column, decide_release, examine, similarity_key, stable
from tacit.data.k_anonymity.hierarchy import generalise
from tacit.errors import DataError
from tacit.plan import Columns, Data, RowSharing
from tacit.randomness import Draws
from tacit.rows import Clients
from tests import seeds
from tests.data.conftest import need

DRAWS = Draws.seeded(0)


def test_generalisation(tmp_path: Path) -> None:
    ladder = tmp_path / "my countries.csv"
    ladder.write_text("Italy;Europe;*\nJapan;Asia;*\n")
    frame = pl.DataFrame(
        {
            "age": [17, 29, 30],
            "hours": [10, 60, 99],
            "zip": ["12345", "1", None],
            "land": ["Italy", "Japan", "Mars"],
        }
    )
    rules = {"age": "ranges 10", "hours": "top 60", "zip": "prefix 3", "land": f"csv {ladder} 1"}
    found = generalise(frame, rules)
    assert found["age"].to_list() == [14.5, 24.5, 34.5]
    assert found["hours"].to_list() == [10, 60, 60]
    assert found["zip"].to_list() == ["123*", "1*", None]
    assert found["land"].to_list() == ["Europe", "Asia", "*"]
    assert generalise(frame, {"zip": "suppress"}).columns == ["age", "hours", "land"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"nobody": "suppress"}, "the released columns are age"),
        ({"land": "ranges 5"}, "applies to numbers"),
        ({"land": "csv none.csv 1"}, "cannot be read"),
        ({"age": "halve"}, "must be one of 'ranges WIDTH'"),
    ],
)
def test_generalisation_that_cannot_be(rules, said) -> None:
    with pytest.raises(DataError, match=said):
        generalise(pl.DataFrame({"age": [1], "land": ["x"]}), rules)


def test_a_level_the_file_does_not_have(tmp_path: Path) -> None:
    ladder = tmp_path / "ladder.csv"
    ladder.write_text("a,b\n")
    with pytest.raises(DataError, match="levels 0 to 1"):
        generalise(pl.DataFrame({"land": ["a"]}), {"land": f"csv {ladder} 2"})


@pytest.mark.parametrize(
    "name",
    [
        "\0client",
        "\0label",
        "\0place",
        "client",
        "label_",
        "place",
        "value",
        "row",
        "0",
        "train",
        "key",
    ],
)
@pytest.mark.parametrize("rule", ["k_anonymity", "label_k"])
def test_no_name_of_a_column_hides_that_every_row_is_unique(name, rule) -> None:
    rows = pl.DataFrame(
        {name: range(48), "label": pl.Series(["a", "b"] * 24, dtype=pl.Enum(["a", "b"]))}
    )
    table = Table(
        train=rows,
        test=rows.clear(),
        columns=Columns(numeric=(name,), label="label", quasi=(name,)),
        source="",
    )
    clients = Clients(order=np.arange(48), starts=np.array([0, 16, 48]))
    for counts in ("local", "global", "with_test"):
        assert not decide_release(
            table, clients, RowSharing(k=3, rule=rule, counts=counts), DRAWS
        ).disclosed.any()


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"), [(1, 1.0, 1e-6), (10, 0.1, 1e-9), (100, 3.0, 1e-3)]
)
def test_the_noisy_decision_does_not_hang_on_one_row(k, epsilon, delta) -> None:
    share = stable.compute_disclosure_probability(np.arange(1, 2000), k, epsilon, delta)
    for yes in (share, 1 - share):
        assert (yes[1:] <= np.exp(epsilon) * yes[:-1] + delta).all()
        assert (yes[:-1] <= np.exp(epsilon) * yes[1:] + delta).all()
    assert share[0] <= delta, (
        "a class that is there because of one row is shared with probability delta at most"
    )
    assert stable.compute_disclosure_probability(np.zeros(1, np.int64), k, epsilon, delta)[0] == 0
    assert (np.diff(share) >= 0).all()


@pytest.mark.statistical
def test_the_noisy_decision_follows_its_law() -> None:
    """200,000 classes at five counts; outside the interval of the exact distribution with a probability of 5e-7."""
    counts = np.repeat([100, 105, 110, 112, 120], 40_000)
    found = stable.draw_disclosed(counts, 100, 0.5, 1e-3, seeds.draws(0))
    for count in np.unique(counts):
        share = float(stable.compute_disclosure_probability(np.array([count]), 100, 0.5, 1e-3)[0])
        fewest, most = binom.interval(1 - 1e-7, 40_000, share)
        assert fewest <= found[counts == count].sum() <= most


def test_a_delta_too_small_to_draw_is_refused() -> None:
    with pytest.raises(DataError, match=r"raise data.share.delta"):
        stable.compute_threshold(5, 20.0, 1e-8)


def test_similar_rows_share_a_key_and_others_do_not() -> None:
    random = np.random.default_rng(0)
    centres = random.standard_normal((4, 20)) * 10
    rows = np.repeat(centres, 50, axis=0) + 0.01 * random.standard_normal((200, 20))
    keys = similarity_key(rows, 8, DRAWS).to_numpy().reshape(4, 50)
    assert all(len(set(group)) == 1 for group in keys)
    assert len({group[0] for group in keys}) == 4
    assert len(similarity_key(np.zeros((0, 3)), 4, DRAWS)) == 0
    with pytest.raises(DataError, match="between 1 and 32, got 40"):
        similarity_key(rows, 40, DRAWS)


def test_a_key_of_ones_own_decides_what_is_shared() -> None:
    label = pl.Enum(["no", "yes"])
    frame = pl.DataFrame(
        {
            "text": ["good film", "good day", "bad film"],
            "y": pl.Series(["yes", "yes", "no"], dtype=label),
        }
    )
    made = add_key_column(frame, lambda rows: rows["text"].str.slice(0, 4), name="start")
    table = Table(
        train=made,
        test=made.clear(),
        columns=Columns(text=("text",), label="y", quasi=("start",)),
        source="",
    )
    clients = Clients(order=np.arange(3), starts=np.array([0, 3]))
    assert decide_release(table, clients, RowSharing(k=2), DRAWS).disclosed.tolist() == [
        True,
        True,
        False,
    ]
    with pytest.raises(DataError, match="one value per row"):
        add_key_column(frame, lambda rows: [1])


@pytest.mark.parametrize("rule", ["k_anonymity", "label_k", "distinct_l"])
def test_k_other_rows_are_one_more_than_k_rows(rule) -> None:
    label = pl.Enum(["no", "yes"])
    rows = pl.DataFrame({"a": [1] * 4 + [2] * 6, "y": pl.Series((["yes", "no"] * 5), dtype=label)})
    table = Table(
        train=rows,
        test=rows.clear(),
        columns=Columns(numeric=("a",), label="y", quasi=("a",)),
        source="",
    )
    clients = Clients(order=np.arange(10), starts=np.array([0, 10]))
    l = 2 if rule == "distinct_l" else None  # noqa: E741
    for k in range(1, 8):
        others = RowSharing(rule=rule, k=k, l=l, k_of="other_rows")
        standard = RowSharing(rule=rule, k=k + 1, l=l)
        assert others.rows_alike == standard.rows_alike == k + 1
        assert (
            decide_release(table, clients, others, DRAWS).disclosed
            == decide_release(table, clients, standard, DRAWS).disclosed
        ).all()


def test_nothing_to_look_alike_in_is_refused() -> None:
    label = pl.Enum(["no", "yes"])
    frame = pl.DataFrame({"a": [1, 2], "y": pl.Series(["yes", "no"], dtype=label)})
    table = Table(
        train=frame, test=frame.clear(), columns=Columns(numeric=("a",), label="y"), source=""
    )
    clients = Clients(order=np.arange(2), starts=np.array([0, 2]))
    with pytest.raises(DataError, match=r"name them in data\.columns\.quasi"):
        decide_release(table, clients, RowSharing(k=1), DRAWS)
    assert decide_release(
        table, clients, RowSharing(k=1, release="whole_row"), DRAWS
    ).disclosed.all()
    with pytest.raises(DataError, match="lower it to at most 2"):
        decide_release(
            table, clients, RowSharing(rule="distinct_l", k=1, l=3, release="whole_row"), DRAWS
        )


def test_rows_held_out_at_a_client_are_neither_counted_nor_shared() -> None:
    label = pl.Enum(["no", "yes"])
    frame = pl.DataFrame({"a": [1, 1, 1], "y": pl.Series(["yes", "no", "no"], dtype=label)})
    table = Table(
        train=frame,
        test=frame.clear(),
        columns=Columns(numeric=("a",), label="y", quasi=("a",)),
        source="",
    )
    held = Clients(order=np.array([0, 2]), starts=np.array([0, 2]))
    assert not decide_release(table, held, RowSharing(k=3), DRAWS).disclosed.any()
    assert decide_release(table, held, RowSharing(k=2), DRAWS).disclosed.all()


@pytest.fixture(scope="module")
def adult() -> tuple[Table, Clients]:
    need("adult")
    data = Data(source="adult", test=0.0, clients=10, partition="quantile", by="age")
    table = load(data, DRAWS)
    return table, divide(table, data, DRAWS)


SHARES = {
    "k_anonymity": {50: 0.845, 100: 0.809, 200: 0.669, 300: 0.478, 400: 0.390, 500: 0.139},
    "label_k": {50: 0.785, 100: 0.729, 200: 0.454, 300: 0.224, 400: 0.013},
}


@pytest.mark.parametrize(
    ("rule", "k", "share"),
    [(rule, k, share) for rule, by in SHARES.items() for k, share in by.items()],
)
def test_the_share_of_adult_that_is_shared(adult, rule, k, share) -> None:
    found = examine(decide_release(*adult, RowSharing(rule=rule, k=k), DRAWS))
    assert found.rows == 30_162
    assert found.share == pytest.approx(share, abs=0.001)
    assert found.smallest_class >= k


def test_the_largest_classes_of_adult(adult) -> None:
    for rule, largest, values in (
        ("k_anonymity", 554, {"age": 37, "race": "White", "sex": "Male"}),
        ("label_k", 402, {"age": 25, "race": "White", "sex": "Male"}),
    ):
        found = examine(decide_release(*adult, RowSharing(rule=rule, k=largest), DRAWS))
        assert (found.disclosed, found.classes) == (largest, 1)
        assert found.largest[0].values == values
        assert (
            examine(decide_release(*adult, RowSharing(rule=rule, k=largest + 1), DRAWS)).disclosed
            == 0
        )


def test_what_adult_would_show(adult) -> None:
    hundred = examine(decide_release(*adult, RowSharing(k=100), DRAWS))
    assert (hundred.classes, hundred.single_label_classes) == (86, 8)
    assert hundred.unique_share == pytest.approx(0.763, abs=0.001)
    by_label = {
        k: examine(
            decide_release(*adult, RowSharing(rule="label_k", k=k), DRAWS)
        ).single_label_share
        for k in (100, 200, 300)
    }
    assert by_label[100] == pytest.approx(0.48, abs=0.005)
    assert by_label[200] == pytest.approx(0.69, abs=0.005)
    assert by_label[300] == 1.0
    true_diversity = examine(
        decide_release(*adult, RowSharing(rule="distinct_l", k=100, l=2), DRAWS)
    )
    assert true_diversity.single_label_share == 0


def test_local_and_global_counts_agree_where_a_class_has_one_owner(adult) -> None:
    one, other = (
        decide_release(*adult, RowSharing(k=100, counts=counts), DRAWS).disclosed
        for counts in ("local", "global")
    )
    assert (one == other).all()
