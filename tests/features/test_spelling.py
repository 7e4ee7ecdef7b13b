from tacit.features import bucket, words


def test_paper_vectors():
    assert bucket("dog", 31, 5000) == 2196
    assert [bucket(word, 31, 5000) for word in words("Cats and DOGS!")] == [283, 4279, 3225]
