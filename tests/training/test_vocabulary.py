"""Each client numbers its words its own way, and no numbering loses a word it should know."""

import numpy as np
import pytest

from tacit import plan
from tacit.randomness import Draws
from tacit.rows import Lexicon
from tacit.training.private.vocabulary import PADDING, UNKNOWN, Vocabularies
from tests.slots import slot

WORDS = ("the", "runners", "runner", "7", "cat", "1999", "dog")
PUBLIC = np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32)
PUBLIC[5] = 0  # 1999 has no public vector


def wordings(public: bool = True, **private: str) -> Vocabularies:
    lexicon = Lexicon(words=WORDS, vectors=PUBLIC if public else None)
    return Vocabularies(plan.Private(**private), lexicon, 4, 16)


OWN = np.array([[0, 1, 5, 7], [4, 4, 7, 7]], np.int32)


def test_own_words_have_rows_and_strangers_have_none() -> None:
    made = wordings(words="all")
    found = made.vocabulary(slot(0), OWN)
    assert found.units == (
        "1999",
        "cat",
        "runners",
        "the",
    ), "by alphabet, whatever is frequent elsewhere"
    assert found.rows[[5, 4, 1, 0]].tolist() == [2, 3, 4, 5]
    assert found.rows[[2, 3, 6]].tolist() == [UNKNOWN] * 3
    assert found.rows[-1] == PADDING


def test_words_met_in_tests_get_rows_after_the_own_ones_if_their_vectors_are_public() -> None:
    made = wordings(words="all", start="public")
    alone, more = (
        made.vocabulary(slot(0), OWN),
        made.vocabulary(slot(0), OWN, np.array([[6, 0]], np.int32)),
    )
    assert more.units == (*alone.units, "dog")
    first = made.start(slot(0), more.units)
    np.testing.assert_array_equal(first[: 2 + len(alone.units)], made.start(slot(0), alone.units))
    np.testing.assert_array_equal(first[more.rows[6]], PUBLIC[6])
    np.testing.assert_array_equal(made.extend_rows(slot(0), first[:-1], more.units), first)
    np.testing.assert_array_equal(made.extend_rows(slot(0), first, more.units), first)


def test_buckets_have_rows_for_every_word_from_the_start() -> None:
    made = wordings(False, words="all", rows="keyed")
    table = made.start(slot(0), ())
    assert made.extend_rows(slot(0), table, tuple(map(str, range(40)))) is table


def test_a_word_without_public_vector_starts_at_random_and_differs_by_client() -> None:
    made = wordings(words="all", start="public")
    one, other = (made.start(slot(client), ("1999",)) for client in (0, 1))
    assert one[2].any()
    assert not np.array_equal(one, other)


def test_a_rotation_keeps_lengths_and_differs_by_client() -> None:
    made = wordings(words="all", start="rotated")
    one, other = (made.start(slot(client), ("cat", "dog"))[2:] for client in (0, 1))
    np.testing.assert_allclose(
        np.linalg.norm(one, axis=1), np.linalg.norm(PUBLIC[[4, 6]], axis=1), rtol=1e-5
    )
    np.testing.assert_allclose(one @ one.T, other @ other.T, rtol=1e-4)
    assert not np.allclose(one, other)


def test_keyed_buckets_know_every_word_and_differ_by_client() -> None:
    made = wordings(False, words="all", rows="keyed")
    one, other = (made.vocabulary(slot(client), OWN).rows for client in (0, 1))
    assert (one[:-1] >= 2).all()
    assert one.max() < 2 + 16
    assert one.tolist() != other.tolist()
    assert made.start(slot(0), ()).shape == (18, 4)


def test_digits_alone_are_private() -> None:
    made = wordings(words="digits", start="public")
    found = made.vocabulary(slot(0), OWN)
    assert found.units == ("1999",)
    assert made.shared_rows == 2 + 5
    assert found.rows[5] == made.shared_rows
    assert made.start(slot(0), found.units).shape == (1, 4)


@pytest.mark.parametrize(("client", "same"), [(0, False), (1, True)])
def test_clients_may_spell_differently(client: int, same: bool) -> None:
    found = wordings(words="all", spelling="mixed").vocabulary(
        slot(client), np.array([[1, 2]], np.int32)
    )
    assert bool(found.rows[1] == found.rows[2]) == same


def test_a_shared_table_starts_from_public_vectors() -> None:
    made = wordings(start="public")
    table = made.draw_shared_table(Draws.seeded(2))
    assert table.shape == (2 + 6, 4)
    assert not table[PADDING].any()
    np.testing.assert_array_equal(table[made.vocabulary(slot(0), OWN).rows[4]], PUBLIC[4])


def test_three_public_tables_are_known_to_everybody_and_differ() -> None:
    made = wordings(words="all", start="varied")
    tables = [made.start(slot(client), ("cat", "the")) for client in range(6)]
    np.testing.assert_array_equal(tables[0][2:], PUBLIC[[4, 0]])
    for client in range(3):
        np.testing.assert_array_equal(
            tables[client], tables[client + 3], "the same table, whoever has it"
        )
        np.testing.assert_allclose(
            np.linalg.norm(tables[client], axis=1), np.linalg.norm(tables[0], axis=1), rtol=1e-5
        )
    assert not np.allclose(tables[0], tables[1])
    assert not np.allclose(tables[1], tables[2])


def test_words_rare_in_the_own_texts_are_unknown_whoever_else_has_them() -> None:
    lexicon = Lexicon(words=WORDS, min_count=2)
    made = Vocabularies(plan.Private(words="all"), lexicon, 4, 16)
    found = made.vocabulary(slot(0), OWN)
    assert found.units == ("cat",), "the only word that this client has twice"
    assert (np.delete(found.rows[:-1], 4) == UNKNOWN).all()
    keyed = Vocabularies(plan.Private(words="all", rows="keyed"), lexicon, 4, 16).vocabulary(
        slot(0), OWN
    )
    assert (keyed.rows[[0, 1, 5]] == UNKNOWN).all()
    assert keyed.rows[4] != UNKNOWN


def test_first_vectors_do_not_depend_on_which_words_others_have() -> None:
    few = Lexicon(words=WORDS[:6], vectors=PUBLIC[:6])
    private = plan.Private(words="all", start="public")
    for unit in ("1999", "cat"):
        ours, alone = (
            Vocabularies(private, known, 4, 16).start(slot(0), (unit,))
            for known in (few, Lexicon(words=WORDS, vectors=PUBLIC))
        )
        np.testing.assert_array_equal(ours, alone)
    stem = Lexicon(words=("runners",), vectors=PUBLIC[1:2], stems={"runne": PUBLIC[6]})
    made = Vocabularies(plan.Private(words="all", start="public", spelling="stem"), stem, 4, 16)
    np.testing.assert_array_equal(made.start(slot(0), ("runne",))[2], PUBLIC[6])
